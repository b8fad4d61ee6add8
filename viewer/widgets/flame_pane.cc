#include "viewer/widgets/flame_pane.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollArea>
#include <QVBoxLayout>
#include <algorithm>

#include "viewer/models/format.h"
#include "viewer/widgets/controls.h"
#include "viewer/widgets/table_header.h"

namespace redline::viewer {
namespace {

constexpr double kLeastLabel = 30;
}  // namespace

FlameView::FlameView(ViewState& state, const QString& title)
    : state_(state), flame_(std::make_shared<const Flame>()), zooms_{0} {
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(title);
  connect(&state, &ViewState::search_changed, this, qOverload<>(&QWidget::update));
}

void FlameView::show_flame(std::shared_ptr<const Flame> flame) {
  flame_ = std::move(flame);
  zooms_ = {0};
  zooms_before_press_ = 1;
  place();
}

void FlameView::place() {
  boxes_ = flame_boxes(*flame_, zoomed(), width());
  uint32_t deepest = 0;
  for (const FlameBox& box : boxes_) deepest = std::max(deepest, box.depth);
  setMinimumHeight(boxes_.empty() ? 0 : (static_cast<int>(deepest) + 1) * kRowHeight + 1);
  forget_current();
}

void FlameView::resizeEvent(QResizeEvent*) { place(); }

const FlameNode& FlameView::node_of(int item) const {
  return flame_->node(boxes_[static_cast<size_t>(item)].node);
}

QString FlameView::item_text(int item) const {
  const FlameNode& node = node_of(item);
  const QString name = text(node.name.substr(0, 400));
  const QString total = text(format_duration(node.total_ns));
  if (!flame_->words.empty()) {
    return name + "\n" + text(flame_->words[boxes_[static_cast<size_t>(item)].node]);
  }
  if (node.depth == 0) {
    return tr("%1\n%2 in %3").arg(name, total, text(format_plural(node.count, "thread")));
  }
  const double share = share_of(node.total_ns, flame_->node(zoomed()).total_ns);
  QString words =
      tr("%1\ntotal %2, %3 of what is shown").arg(name, total, text(format_percent(share)));
  if (node.depth <= flame_->plain_depth) return words;
  words += tr("\nself %1").arg(text(format_duration(node.self_ns)));
  return words + "\n" + text(format_plural(node.count, "call"));
}

QRectF FlameView::item_rect(int item) const {
  const FlameBox& box = boxes_[static_cast<size_t>(item)];
  return {box.left, static_cast<double>(box.depth * kRowHeight), box.width, kRowHeight};
}

int FlameView::item_at(QPointF at) const {
  for (int i = 0; i < item_count(); ++i) {
    if (item_rect(i).contains(at)) return i;
  }
  return kNoItem;
}

void FlameView::choose(int item) {
  const uint32_t node = boxes_[static_cast<size_t>(item)].node;
  if (node == zoomed()) return;
  zooms_.push_back(node);
  place();
}

bool FlameView::go_back() {
  if (zooms_.size() < 2) return false;
  zooms_.pop_back();
  place();
  return true;
}

// To the box around, to the longest box inside, and to the boxes beside it.
int FlameView::item_after(int item, int key) const {
  const FlameBox& from = boxes_[static_cast<size_t>(item)];
  const auto find = [&](const auto& is_wanted) {
    const auto found = std::find_if(boxes_.begin(), boxes_.end(), is_wanted);
    return found == boxes_.end() ? item : static_cast<int>(found - boxes_.begin());
  };
  switch (key) {
    case Qt::Key_Up:
      return find([&](const FlameBox& box) { return box.node == node_of(item).parent; });
    case Qt::Key_Down:
      return find([&](const FlameBox& box) {
        return box.depth == from.depth + 1 && flame_->node(box.node).parent == from.node;
      });
    case Qt::Key_Left:
    case Qt::Key_Right: {
      const int step = key == Qt::Key_Left ? -1 : 1;
      for (int i = item + step; i >= 0 && i < item_count(); i += step) {
        if (boxes_[static_cast<size_t>(i)].depth == from.depth) return i;
      }
      return item;
    }
    default:
      return ItemsView::item_after(item, key);
  }
}

bool FlameView::is_found(const FlameNode& node) const {
  const std::string& wanted = state_.search().text();
  return node.depth > flame_->plain_depth && !wanted.empty() && is_wanted(node.name, wanted);
}

void FlameView::paintEvent(QPaintEvent*) {
  const Theme& theme = state_.theme();
  QPainter painter(this);
  painter.fillRect(rect(), theme.lanes);
  painter.setFont(ui_font(11));
  // A search for a category, for arguments or for a kernel's name finds no box: all keep theirs.
  const bool is_searched = std::ranges::any_of(
      boxes_, [this](const FlameBox& box) { return is_found(flame_->node(box.node)); });
  for (int i = 0; i < item_count(); ++i) {
    const FlameNode& node = node_of(i);
    const bool plain = node.depth <= flame_->plain_depth || (is_searched && !is_found(node));
    const QRectF box = item_rect(i).adjusted(0, 1, item_rect(i).width() > 3 ? -1 : 0, 0);
    painter.fillRect(box, plain ? theme.idle : theme.slice[node.slice_class]);
    if (box.width() < kLeastLabel) continue;
    painter.setPen(plain ? theme.text : theme.label[node.slice_class]);
    const QRectF room = box.adjusted(4, 0, -2, 0);
    const QString words = text(std::string(label_of(node.name)));
    painter.drawText(
        room, Qt::AlignVCenter | Qt::TextSingleLine,
        painter.fontMetrics().elidedText(words, Qt::ElideRight, static_cast<int>(room.width())));
  }
  paint_focus(painter, theme.text);
}

void FlameView::mousePressEvent(QMouseEvent* event) {
  zooms_before_press_ = zooms_.size();
  ItemsView::mousePressEvent(event);
}

// The first click of the two may have zoomed: that does not count.
void FlameView::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  if (zooms_.size() > zooms_before_press_) zooms_.resize(zooms_before_press_);
  if (!go_back()) place();
}

void FlameView::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape && go_back()) return;
  ItemsView::keyPressEvent(event);
}

QWidget* in_scroll_area(FlameView& view) {
  auto* area = new QScrollArea;
  area->setWidgetResizable(true);
  area->setFocusPolicy(Qt::NoFocus);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  area->setWidget(&view);
  return area;
}

FlamePane::FlamePane(ViewState& state)
    : Pane(tr("Flame")),
      state_(state),
      figures_(new QLabel),
      view_(new FlameView(state, tr("Flame graph"))) {
  figures_->setProperty("muted", true);
  figures_->setFont(ui_font(11));
  figures_->setContentsMargins(TableHeader::kLeft, 6, TableHeader::kRight, 4);
  auto* column = make_column(this);
  column->addWidget(figures_);
  column->addWidget(in_scroll_area(*view_), 1);
  setFocusProxy(view_);
  connect(&state, &ViewState::session_changed, this, &FlamePane::clear);
  connect(&state, &ViewState::area_changed, this, &FlamePane::forget);
  connect(&state, &ViewState::step_changed, this, &FlamePane::forget);
  connect(&state, &ViewState::ranks_changed, this, &FlamePane::forget);
  connect(&state, &ViewState::flame_wanted, this, &Pane::wanted);
}

void FlamePane::showEvent(QShowEvent*) {
  if (is_stale_) sum_up();
}

void FlamePane::hideEvent(QHideEvent*) {
  if (is_summing_) clear();
}

void FlamePane::clear() {
  view_->show_flame(std::make_shared<const Flame>());
  figures_->clear();
  forget();
}

void FlamePane::forget() {
  is_stale_ = true;
  is_summing_ = false;
  task_.cancel();
  if (isVisible()) sum_up();
}

void FlamePane::sum_up() {
  is_stale_ = false;
  const Session& session = state_.session();
  const bool is_selected = !state_.area().empty();
  const Area area = state_.in_chosen_step(is_selected ? state_.area()
                                                      : Area{session.range(), all_lanes(session)});
  const bool is_part = is_selected || state_.chosen_step();
  if (is_part && area.empty()) {
    view_->show_flame(std::make_shared<const Flame>());
    return figures_->setText(tr("Nothing of the area is in the step."));
  }
  const QString of_what = is_part ? tr("%1 from %2")
                                        .arg(text(format_duration(area.range.span_ns())),
                                             text(format_time(area.range.begin_ns)))
                                  : tr("the whole recording");
  is_summing_ = true;
  figures_->setText(tr("Summing up …"));
  task_.start(
      [session = state_.shared_session(), area](const std::atomic<bool>& cancelled) {
        return std::make_shared<const Flame>(flame_of(*session, area, &cancelled));
      },
      [this, of_what](const std::shared_ptr<const Flame>& flame) { show_flame(flame, of_what); });
}

void FlamePane::show_flame(const std::shared_ptr<const Flame>& flame, const QString& of_what) {
  is_summing_ = false;
  figures_->setText(flame->nodes.empty()
                        ? tr("No host thread works in %1.").arg(of_what)
                        : tr("Host time of %1 by stack. Click: zoom. Esc: back.").arg(of_what));
  view_->show_flame(flame);
  emit shown();
}

}  // namespace redline::viewer

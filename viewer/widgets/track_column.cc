#include "viewer/widgets/track_column.h"

#include <QAccessible>
#include <QHelpEvent>
#include <QMenu>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>

#include "viewer/models/tooltip.h"
#include "viewer/widgets/controls.h"
#include "viewer/widgets/popups.h"

namespace redline::viewer {
namespace {

constexpr int kHeaderIndent = 24;
constexpr int kTrackIndent = 34;
constexpr int kRightMargin = 10;
constexpr int kPinSize = 18;
constexpr int kTwoLines = 38;  // pixels that a title with a note under it takes

void draw_elided(QPainter& painter, const QRect& rect, const std::string& words, int alignment) {
  const QString shown = painter.fontMetrics().elidedText(text(words), Qt::ElideRight, rect.width());
  painter.drawText(rect, alignment | Qt::TextSingleLine, shown);
}

void draw_triangle(QPainter& painter, QPointF centre, bool folded, const QColor& colour) {
  QPainterPath path;
  if (folded) {
    path.moveTo(centre + QPointF(-2.5, -4));
    path.lineTo(centre + QPointF(3, 0));
    path.lineTo(centre + QPointF(-2.5, 4));
  } else {
    path.moveTo(centre + QPointF(-4, -2.5));
    path.lineTo(centre + QPointF(4, -2.5));
    path.lineTo(centre + QPointF(0, 3));
  }
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillPath(path, colour);
  painter.setRenderHint(QPainter::Antialiasing, false);
}

// A drawing pin from the side: head, neck, needle.
void draw_pin(QPainter& painter, const QRect& rect, const QColor& colour) {
  const QPoint at = rect.center();
  painter.fillRect(at.x() - 3, at.y() - 5, 7, 2, colour);
  painter.fillRect(at.x() - 2, at.y() - 3, 5, 4, colour);
  painter.fillRect(at.x() - 4, at.y() + 1, 9, 1, colour);
  painter.fillRect(at.x(), at.y() + 2, 1, 4, colour);
}

}  // namespace

TrackColumn::TrackColumn(ViewState& state) : state_(state) {
  setFixedWidth(kWidth);
  setMouseTracking(true);
  setAccessibleName(tr("Tracks"));
  connect(&state, &ViewState::layout_changed, this, qOverload<>(&QWidget::update));
  connect(&state, &ViewState::scroll_changed, this, qOverload<>(&QWidget::update));
}

void TrackColumn::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Layout& layout = state_.layout();
  painter.fillRect(rect(), state_.theme().panel);
  painter.setClipRect(0, layout.pinned_height(), width(), height());
  for (const Row& row : layout.rows()) {
    const int top = row.view_top(state_.scroll());
    if (row.pinned || top + row.height <= layout.pinned_height()) continue;
    if (top >= height()) break;
    paint_row(painter, row);
  }
  if (const auto header = sticky_header()) paint_row(painter, *header);
  painter.setClipping(false);
  for (const Row& row : layout.rows()) {
    if (!row.pinned) break;
    paint_row(painter, row);
  }
  if (layout.pinned_height() > 0) {
    painter.fillRect(0, layout.pinned_height() - 2, width(), 2, state_.theme().accent);
  }
  painter.fillRect(width() - 1, 0, 1, height(), state_.theme().separator);
  const Row* current = hasFocus() ? current_row() : nullptr;
  if (!current) return;
  painter.setPen(state_.theme().accent);
  painter.drawRect(0, current->view_top(state_.scroll()), width() - 2, current->height - 2);
}

std::optional<Row> TrackColumn::sticky_header() const {
  const auto& rows = state_.layout().rows();
  const int top = state_.scroll() + state_.layout().pinned_height();
  const Row* header = nullptr;
  int bottom = 0;  // of the group's last row
  for (const Row& row : rows) {
    if (row.pinned) continue;
    if (row.is_header() && row.top >= top) break;
    if (row.is_header()) header = &row;
    bottom = row.top + row.height;
  }
  if (!header || bottom <= top) return std::nullopt;
  Row result = *header;
  // The next group pushes the header out.
  result.top = std::min(top, bottom - header->height);
  return result;
}

std::optional<Row> TrackColumn::row_under(int y) const {
  if (y >= state_.layout().pinned_height()) {
    const auto header = sticky_header();
    if (header && y < header->view_top(state_.scroll()) + header->height) return header;
  }
  const Row* row = state_.row_at(y);
  return row ? std::optional(*row) : std::nullopt;
}

// The part of a track, within what is in sight, in which its name is painted.
QRect TrackColumn::label_rect(const Row& row) const {
  const QRect all(0, row.view_top(state_.scroll()), width(), row.height);
  if (row.is_header() || row.pinned) return all;
  const auto header = sticky_header();
  const int free_from =
      header ? header->view_top(state_.scroll()) + header->height : state_.layout().pinned_height();
  const int label = std::min(row.height, kTwoLines);
  const int top = std::clamp(free_from, all.top(), all.bottom() + 1 - label);
  return {0, top, width(), all.bottom() + 1 - top};
}

QRect TrackColumn::pin_rect(const Row& row, const QRect& label) const {
  const int height = std::min(row.height, static_cast<int>(Layout::kMinTrackHeight));
  return {width() - kRightMargin - kPinSize + 4, label.top() + (height - kPinSize) / 2, kPinSize,
          kPinSize};
}

void TrackColumn::paint_row(QPainter& painter, const Row& row) {
  const QRect rect(0, row.view_top(state_.scroll()), width(), row.height);
  painter.fillRect(rect, state_.theme().panel);
  painter.fillRect(rect.adjusted(0, rect.height() - 1, 0, 0), state_.theme().separator);
  row.is_header() ? paint_header(painter, row, rect) : paint_track(painter, row, label_rect(row));
}

void TrackColumn::paint_header(QPainter& painter, const Row& row, const QRect& rect) {
  const Theme& theme = state_.theme();
  const TrackGroup& group = state_.layout().group_of(row);
  draw_triangle(painter, QPointF(14.5, rect.center().y() + 0.5), row.folded, theme.text);
  painter.setFont(ui_font(11));
  const QString note = text(header_note(group));
  const int note_width = note.isEmpty() ? 0 : painter.fontMetrics().horizontalAdvance(note) + 8;
  painter.setPen(theme.muted);
  painter.drawText(rect.adjusted(0, 0, -kRightMargin, 0), Qt::AlignRight | Qt::AlignVCenter, note);
  painter.setFont(ui_font(12, QFont::DemiBold));
  painter.setPen(theme.text);
  draw_elided(painter, rect.adjusted(kHeaderIndent, 0, -kRightMargin - note_width, 0), group.title,
              Qt::AlignVCenter);
}

void TrackColumn::paint_track(QPainter& painter, const Row& row, const QRect& rect) {
  const Theme& theme = state_.theme();
  const TrackItem& item = state_.layout().item_of(row);
  const bool two_lines = rect.height() >= kTwoLines;
  const bool has_pin = row.pinned || hover_ == row.id;
  const int right = kRightMargin + (has_pin ? kPinSize : 0);
  const QRect title = rect.adjusted(kTrackIndent, two_lines ? 4 : 0, -right, 0);
  const QRect line(title.topLeft(), QSize(title.width(), two_lines ? 15 : rect.height() - 2));
  if (row.can_fold) {
    draw_triangle(painter, QPointF(24.5, line.center().y() + 0.5), row.folded, theme.muted);
  }
  // Threads, streams and graphs stand out; the rest are rows about those above them.
  const bool is_lane =
      item.kind != TrackItem::Kind::kSlices && item.kind != TrackItem::Kind::kGraph;
  painter.setFont(ui_font(is_lane ? 11 : 12));
  painter.setPen(is_lane ? theme.muted : theme.text);
  draw_elided(painter, line, item.title, Qt::AlignVCenter);
  const int used = painter.fontMetrics().horizontalAdvance(text(item.title));
  paint_note(painter, row, two_lines ? line.translated(0, 16) : line, two_lines ? 0 : used + 10);
  if (has_pin) draw_pin(painter, pin_rect(row, rect), row.pinned ? theme.accent : theme.muted);
}

// A pinned track has no header of its group above it, so its note names the group.
void TrackColumn::paint_note(QPainter& painter, const Row& row, const QRect& line,
                             int title_width) {
  std::string note = state_.layout().item_of(row).note;
  if (row.pinned) {
    note = state_.layout().group_of(row).title + (note.empty() ? "" : " · ") + note;
  }
  if (title_width >= line.width()) return;
  painter.setFont(ui_font(11));
  painter.setPen(state_.theme().muted);
  draw_elided(painter, line.adjusted(title_width, 0, 0, 0), note, Qt::AlignVCenter);
}

void TrackColumn::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  const auto row = row_under(event->pos().y());
  if (!row) return;
  if (!row->is_header() && pin_rect(*row, label_rect(*row)).contains(event->pos())) {
    state_.rearrange([&](Layout& layout) { layout.set_pinned(row->id, !row->pinned); });
  } else if (row->can_fold) {
    state_.toggle(row->id);
  }
}

void TrackColumn::mouseMoveEvent(QMouseEvent* event) {
  const auto row = row_under(event->pos().y());
  hover_ = row ? std::optional(row->id) : std::nullopt;
  update();
}

void TrackColumn::leaveEvent(QEvent*) {
  hover_.reset();
  update();
}

const Row* TrackColumn::current_row() const {
  for (const Row& row : state_.layout().rows()) {
    if (row.id == current_) return &row;
  }
  return nullptr;
}

void TrackColumn::set_current(const Row& row) {
  current_ = row.id;
  const int top = row.view_top(state_.scroll());
  if (!row.pinned && top < state_.layout().pinned_height()) {
    state_.set_scroll(row.top - state_.layout().pinned_height());
  } else if (!row.pinned && top + row.height > height()) {
    state_.set_scroll(row.top + row.height - height());
  }
  setAccessibleDescription(item_text(current()));
  QAccessibleEvent event(this, QAccessible::Focus);
  event.setChild(current());
  QAccessible::updateAccessibility(&event);
  update();
}

int TrackColumn::item_count() const { return static_cast<int>(state_.layout().rows().size()); }

QString TrackColumn::item_text(int item) const {
  const Row& row = state_.layout().rows()[static_cast<size_t>(item)];
  const TrackGroup& group = state_.layout().group_of(row);
  QString words = text(group.title);
  if (row.is_header()) {
    for (const std::string& part : {group.device >= 0 ? group.note : "", group.busy}) {
      if (!part.empty()) words += ", " + text(part);
    }
  } else {
    const TrackItem& track = state_.layout().item_of(row);
    words += ", " + text(track.title);
    if (!track.note.empty()) words += ", " + text(track.note);
  }
  if (row.pinned) words += tr(", pinned");
  if (row.folded) words += tr(", folded");
  const bool is_shut = row.folded && row.is_header();
  return is_shut ? words + ", " + text(contents_of(group)) : words;
}

QRectF TrackColumn::item_rect(int item) const {
  const Row& row = state_.layout().rows()[static_cast<size_t>(item)];
  return QRectF(0, row.view_top(state_.scroll()), width(), row.height);
}

int TrackColumn::item_at(QPointF at) const {
  const Row* row = state_.row_at(static_cast<int>(at.y()));
  return row ? static_cast<int>(row - state_.layout().rows().data()) : kNoItem;
}

void TrackColumn::choose(int item) {
  const Row row = state_.layout().rows()[static_cast<size_t>(item)];
  set_current(row);
  if (row.can_fold) state_.toggle(row.id);
}

int TrackColumn::current() const {
  const Row* row = current_row();
  return row ? static_cast<int>(row - state_.layout().rows().data()) : kNoItem;
}

void TrackColumn::move_current(int by) {
  const auto& rows = state_.layout().rows();
  const Row* row = current_row();
  if (rows.empty()) return;
  const auto at = row ? row - rows.data() + by : 0;
  set_current(rows[static_cast<size_t>(
      std::clamp<std::ptrdiff_t>(at, 0, static_cast<std::ptrdiff_t>(rows.size()) - 1))]);
}

void TrackColumn::focusInEvent(QFocusEvent*) {
  if (!current_row()) move_current(0);
  update();
}

void TrackColumn::focusOutEvent(QFocusEvent*) { update(); }

void TrackColumn::keyPressEvent(QKeyEvent* event) {
  const Row* row = current_row();
  const int key = event->key();
  if (key == Qt::Key_Up || key == Qt::Key_Down) return move_current(key == Qt::Key_Up ? -1 : 1);
  if (!row) return QWidget::keyPressEvent(event);
  const bool folds = key == Qt::Key_Left && !row->folded;
  const bool unfolds = key == Qt::Key_Right && row->folded;
  const bool toggles = key == Qt::Key_Return || key == Qt::Key_Enter || key == Qt::Key_Space;
  if (toggles) return choose(current());
  if (folds || unfolds) {
    if (row->can_fold) state_.toggle(row->id);
  } else if (key == Qt::Key_P && !row->is_header()) {
    state_.rearrange(
        [id = row->id, pin = !row->pinned](Layout& layout) { layout.set_pinned(id, pin); });
  } else {
    QWidget::keyPressEvent(event);
  }
}

void TrackColumn::contextMenuEvent(QContextMenuEvent* event) {
  const bool by_key = event->reason() == QContextMenuEvent::Keyboard;
  const Row* current = by_key ? current_row() : nullptr;
  const auto row = current ? std::optional(*current) : row_under(event->pos().y());
  const QPoint at = current ? mapToGlobal(QPoint(kTrackIndent, current->view_top(state_.scroll())))
                            : event->globalPos();
  make_track_menu(state_, row, this)->popup(at);
}

void TrackColumn::wheelEvent(QWheelEvent* event) {
  state_.set_scroll(state_.scroll() - event->angleDelta().y() / 2);
  event->accept();
}

bool TrackColumn::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const auto row = row_under(help->pos().y());
  if (!row) return true;
  const TrackGroup& group = state_.layout().group_of(*row);
  std::string words = group.title;
  for (const std::string& part : {group.note, group.busy}) {
    words += part.empty() ? "" : " · " + part;
  }
  if (row->is_header()) {
    words += "\n" + contents_of(group);
  } else {
    const TrackItem& item = state_.layout().item_of(*row);
    words += "\n" + item.title + (item.note.empty() ? "" : " · " + item.note);
  }
  QToolTip::showText(help->globalPos(), tooltip_of(text(words)), this);
  return true;
}

}  // namespace redline::viewer

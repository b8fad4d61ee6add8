#include "viewer/widgets/step_bars.h"

#include <QPainter>
#include <algorithm>

#include "viewer/models/format.h"
#include "viewer/models/summary.h"
#include "viewer/widgets/table_header.h"

namespace redline::viewer {
namespace {

constexpr int kBarsHeight = 76;
constexpr int kBarsAxis = 72;
constexpr int kAbove = 10;  // for the mark of a slow step
constexpr int kBelow = 5;   // for the line under the chosen one
constexpr double kLeastPitch = 3;
constexpr double kMostPitch = 36;
constexpr double kSlowMark = 4;  // half the width of the mark of a slow step

}  // namespace

StepBars::StepBars(ViewState& state) : state_(state) {
  setFixedHeight(kBarsHeight);
  setAccessibleName(tr("Durations of the steps"));
  connect(&state, &ViewState::step_changed, this, qOverload<>(&QWidget::update));
  connect(&state, &ViewState::theme_changed, this, qOverload<>(&QWidget::update));
}

void StepBars::show_bars(std::vector<StepBar> bars) {
  bars_ = std::move(bars);
  longest_ns_ = 1;
  for (const StepBar& bar : bars_) longest_ns_ = std::max(longest_ns_, bar.length_ns());
  setVisible(bars_.size() > 1);
  fit();
}

void StepBars::fit() {
  drawn_ = bars_to_draw(bars_, static_cast<size_t>(std::max(plot().width(), 1.0) / kLeastPitch));
  forget_current();
}

void StepBars::resizeEvent(QResizeEvent*) { fit(); }

QRectF StepBars::plot() const {
  return QRectF(rect()).adjusted(TableHeader::kLeft + kBarsAxis, kAbove, -TableHeader::kRight,
                                 -kBelow);
}

double StepBars::pitch() const {
  return std::min(plot().width() / std::max(item_count(), 1), kMostPitch);
}

QRectF StepBars::item_rect(int item) const {
  const QRectF room = plot();
  const double share =
      static_cast<double>(bar(item).length_ns()) / static_cast<double>(longest_ns_);
  const double height = std::max(share * room.height(), 1.0);
  const double gap = pitch() >= 6 ? 2 : 1;
  return {room.left() + item * pitch(), room.bottom() - height, pitch() - gap, height};
}

int StepBars::item_at(QPointF at) const {
  const double place = (at.x() - plot().left()) / pitch();
  if (place < 0 || place >= item_count()) return kNoItem;
  return static_cast<int>(place);
}

QString StepBars::item_text(int item) const { return QString::fromStdString(text_of(bar(item))); }

void StepBars::paint_bar(QPainter& painter, int item) const {
  const Theme& theme = state_.theme();
  const StepBar& one = bar(item);
  const QRectF rect = item_rect(item);
  const double scale = rect.height() / static_cast<double>(std::max<int64_t>(one.length_ns(), 1));
  double bottom = rect.bottom();
  for (size_t p = 0; p < one.parts_ns.size(); ++p) {
    const double height = static_cast<double>(one.parts_ns[p]) * scale;
    const SliceClass colour = class_of(static_cast<trace::BreakdownPart>(p));
    painter.fillRect(QRectF(rect.left(), bottom - height, rect.width(), height), theme.of(colour));
    bottom -= height;
  }
  if (!one.note.empty()) {
    const QPointF tip(rect.center().x(), rect.top() - 2);
    const QPointF corners[] = {tip, tip + QPointF(-kSlowMark, -6), tip + QPointF(kSlowMark, -6)};
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.text);
    painter.drawPolygon(corners, 3);
    painter.setRenderHint(QPainter::Antialiasing, false);
  }
  if (state_.chosen_step() && state_.chosen_step()->time == one.time) {
    painter.fillRect(QRectF(rect.left(), rect.bottom() + 2, rect.width(), 3), theme.accent);
  }
}

void StepBars::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme& theme = state_.theme();
  painter.fillRect(rect(), theme.panel);
  if (bars_.empty()) return;
  const QRectF room = plot();
  painter.setFont(ui_font(11));
  painter.setPen(theme.muted);
  const QRectF words(TableHeader::kLeft, room.top() - 6, kBarsAxis - 8, room.height() + 10);
  painter.drawText(words, Qt::AlignRight | Qt::AlignTop,
                   QString::fromStdString(format_duration(longest_ns_)));
  painter.drawText(words, Qt::AlignRight | Qt::AlignBottom, QStringLiteral("0"));
  for (const double y : {room.top(), room.bottom()}) {
    painter.fillRect(QRectF(room.left(), y, room.width(), 1), theme.separator);
  }
  for (int i = 0; i < item_count(); ++i) paint_bar(painter, i);
  paint_focus(painter, theme.text);
}

}  // namespace redline::viewer

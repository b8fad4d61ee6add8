#include "viewer/widgets/chart_view.h"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <array>

#include "viewer/widgets/controls.h"

namespace redline::viewer {
namespace {

constexpr int kTitleHeight = 24;
constexpr int kLegendHeight = 20;
constexpr int kAxisHeight = 36;  // for the numbers and the title of the axis
constexpr int kLeastAxisWidth = 52;
constexpr int kBesideNumbers = 6;
constexpr int kMoreWidth = 64;  // for "+ 2 more"
constexpr double kDot = 3.5;
constexpr std::array kColours = {SliceClass::kCompute,    SliceClass::kCommunication,
                                 SliceClass::kCopy,       SliceClass::kOverlapped,
                                 SliceClass::kDataLoader, SliceClass::kRuntime};

}  // namespace

void paint_heights(QPainter& painter, const QRectF& area, const ChartGeometry& geometry,
                   const Theme& theme) {
  for (const ChartTick& tick : geometry.y_ticks()) {
    const int y = static_cast<int>(geometry.y_of(tick.value));
    painter.fillRect(QRectF(area.left(), y, area.width(), 1), theme.separator);
    painter.setPen(theme.muted);
    painter.drawText(QRectF(0, y - 8, area.left() - kBesideNumbers, 16),
                     Qt::AlignRight | Qt::AlignVCenter, text(tick.text));
  }
}

int heights_width(const Chart& chart) {
  const QFontMetrics metrics(ui_font(11));
  int widest = 0;
  for (const ChartTick& tick : ChartGeometry(chart, {0, 0, 0, 0}).y_ticks()) {
    widest = std::max(widest, metrics.horizontalAdvance(text(tick.text)));
  }
  return std::max(kLeastAxisWidth, widest + 2 * kBesideNumbers);
}

ChartView::ChartView(const Theme& theme) : theme_(theme) {
  setMinimumSize(220, 200);
  setAccessibleName(tr("Chart"));
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
}

void ChartView::show_chart(Chart chart) {
  chart_ = std::move(chart);
  axis_width_ = heights_width(chart_);
  setAccessibleName(text(chart_.title));
  setAccessibleDescription(
      tr("%1 points: the arrow keys move between them, Enter chooses").arg(item_count()));
  forget_current();
}

void ChartView::mark(int64_t id) {
  marked_ = id;
  update();
}

QRectF ChartView::plot() const {
  const int top = kTitleHeight + (has_legend() ? kLegendHeight : 0) + 4;
  return {QPointF(axis_width_, top), QPointF(width() - 12, height() - kAxisHeight)};
}

ChartGeometry ChartView::geometry() const {
  const QRectF rect = plot();
  return {chart_, {rect.left(), rect.top(), rect.right(), rect.bottom()}};
}

QPointF ChartView::place_of(const ChartPoint& point) const {
  const ChartGeometry geometry = this->geometry();
  return {geometry.x_of(point.x), geometry.y_of(point.y)};
}

QColor ChartView::colour(size_t series) const {
  return series < kColours.size() ? theme_.of(kColours[series]) : theme_.muted;
}

void ChartView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme_.panel);
  painter.setFont(ui_font(13, QFont::DemiBold));
  painter.setPen(theme_.text);
  painter.drawText(QRect(14, 0, width() - 14, kTitleHeight), Qt::AlignVCenter, text(chart_.title));
  painter.setFont(ui_font(11));
  if (chart_.empty()) {
    painter.setPen(theme_.muted);
    painter.drawText(rect(), Qt::AlignCenter, tr("Nothing to draw yet"));
    return;
  }
  if (has_legend()) paint_legend(painter);
  const ChartGeometry geometry = this->geometry();
  paint_axes(painter, geometry);
  painter.setRenderHint(QPainter::Antialiasing);
  // The first series matters most, so it is painted last, over the others.
  for (size_t i = chart_.series.size(); i-- > 0;) {
    paint_series(painter, geometry, chart_.series[i], colour(i));
  }
  paint_focus(painter, theme_.accent);
}

void ChartView::paint_legend(QPainter& painter) const {
  int left = axis_width_;
  for (size_t i = 0; i < chart_.series.size(); ++i) {
    const QString name = text(chart_.series[i].name);
    const int needed = 16 + painter.fontMetrics().horizontalAdvance(name) + 14;
    const bool is_last = i + 1 == chart_.series.size();
    painter.setPen(theme_.muted);
    const QRect place(left + 14, kTitleHeight, width() - left - 20, kLegendHeight);
    if (left + needed + (is_last ? 0 : kMoreWidth) > width()) {
      painter.drawText(QRect(left, kTitleHeight, kMoreWidth, kLegendHeight), Qt::AlignVCenter,
                       tr("+ %1 more").arg(chart_.series.size() - i));
      return;
    }
    painter.fillRect(left, kTitleHeight + 6, 9, 9, colour(i));
    painter.drawText(place, Qt::AlignVCenter, name);
    left += needed;
  }
}

void ChartView::paint_axes(QPainter& painter, const ChartGeometry& geometry) const {
  const QRectF area = plot();
  paint_heights(painter, area, geometry, theme_);
  for (const ChartTick& tick : geometry.x_ticks()) {
    const double x = geometry.x_of(tick.value);
    painter.drawText(QRectF(x - 40, area.bottom() + 3, 80, 14), Qt::AlignCenter, text(tick.text));
  }
  painter.drawText(QRectF(area.left(), area.bottom() + 18, area.width(), 14), Qt::AlignCenter,
                   text(chart_.x_title));
}

void ChartView::paint_series(QPainter& painter, const ChartGeometry& geometry,
                             const ChartSeries& series, const QColor& colour) const {
  if (series.limit) {
    QPen dashes(colour, 1, Qt::CustomDashLine);
    dashes.setDashPattern({3, 4});
    painter.setPen(dashes);
    const double x = geometry.x_of(*series.limit);
    painter.drawLine(QPointF(x, plot().top()), QPointF(x, plot().bottom()));
  }
  QPainterPath line;
  for (const ChartPoint& point : series.points) {
    if (!point.on_line || !point.y) continue;
    const QPointF at(geometry.x_of(point.x), geometry.y_of(point.y));
    if (line.elementCount() == 0) line.moveTo(at);
    if (series.is_stairs) line.lineTo(at.x(), line.currentPosition().y());
    line.lineTo(at);
  }
  if (series.is_stairs && line.elementCount() > 0) {
    line.lineTo(geometry.x_of(series.points.back().x), line.currentPosition().y());
  }
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(series.is_stairs ? theme_.graph : colour, 1.8));
  painter.drawPath(line);
  for (const ChartPoint& point : series.points) {
    if (point.y && point.high > point.low) paint_interval(painter, geometry, point, colour);
    paint_point(painter, {geometry.x_of(point.x), geometry.y_of(point.y)}, point, colour);
  }
}

void ChartView::paint_point(QPainter& painter, QPointF at, const ChartPoint& point,
                            const QColor& colour) const {
  painter.setBrush(Qt::NoBrush);
  if (point.id == marked_) {
    painter.setPen(QPen(theme_.text, 1.5));
    painter.drawEllipse(at, 2 * kDot, 2 * kDot);
  }
  if (!point.y) {
    painter.setPen(QPen(theme_.of(SliceClass::kDataLoader), 2));
    painter.drawLine(at - QPointF(kDot, kDot), at + QPointF(kDot, kDot));
    painter.drawLine(at - QPointF(kDot, -kDot), at + QPointF(kDot, -kDot));
    return;
  }
  painter.setPen(point.is_hollow ? QPen(colour, 1.5) : QPen(Qt::NoPen));
  painter.setBrush(point.is_hollow ? theme_.panel : colour);
  painter.drawEllipse(at, kDot, kDot);
}

void ChartView::paint_interval(QPainter& painter, const ChartGeometry& geometry,
                               const ChartPoint& point, const QColor& colour) const {
  const double x = geometry.x_of(point.x);
  const double low = geometry.y_of(point.low), high = geometry.y_of(point.high);
  painter.setPen(QPen(colour, 1));
  painter.drawLine(QPointF(x, low), QPointF(x, high));
  for (const double y : {low, high}) painter.drawLine(QPointF(x - kDot, y), QPointF(x + kDot, y));
}

int ChartView::item_at(QPointF at) const {
  const auto index = geometry().point_at(at.x(), at.y());
  return index ? static_cast<int>(*index) : kNoItem;
}

QString ChartView::item_text(int item) const { return text(point(item).hint); }

QRectF ChartView::item_rect(int item) const {
  const QPointF reach(2 * kDot, 2 * kDot);
  const QPointF at = place_of(point(item));
  return {at - reach, at + reach};
}

int ChartView::item_after(int item, int key) const {
  constexpr std::pair<int, ChartStep> kSteps[] = {
      {Qt::Key_Left, ChartStep::kLeft},       {Qt::Key_Right, ChartStep::kRight},
      {Qt::Key_Up, ChartStep::kSeriesBefore}, {Qt::Key_Down, ChartStep::kSeriesAfter},
      {Qt::Key_Home, ChartStep::kFirst},      {Qt::Key_End, ChartStep::kLast}};
  for (const auto& [step_key, step] : kSteps) {
    if (step_key == key) {
      return static_cast<int>(point_after(chart_, static_cast<size_t>(item), step));
    }
  }
  return kNoItem;
}

// The chosen trial, if it is in this chart.
int ChartView::first_item() const {
  for (int item = 0; item < item_count(); ++item) {
    if (point(item).id == marked_) return item;
  }
  return 0;
}

}  // namespace redline::viewer

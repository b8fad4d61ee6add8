#include "viewer/widgets/run_chart_view.h"

#include <QDateTime>
#include <QGuiApplication>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "trace/report/run_words.h"
#include "viewer/models/format.h"
#include "viewer/widgets/chart_view.h"
#include "viewer/widgets/controls.h"

namespace redline::viewer {
namespace {

using trace::LogMarkKind;
using trace::RunChartMark;

constexpr int kHeadHeight = 24;
constexpr int kColoursHeight = 20;
constexpr int kEventHeight = 10;  // of the marks above the plot
constexpr int kTimesHeight = 36;  // for the times and the title of the axis
constexpr int kTimePixels = 90;
constexpr double kSlowDot = 3.5;
constexpr double kReach = 5;  // pixels

QString time_words(int64_t time_ns) {
  return QDateTime::fromMSecsSinceEpoch(time_ns / 1'000'000)
      .toString(QStringLiteral("d MMM HH:mm:ss"));
}

/// The shortest round time that has room for its words.
int64_t round_time(int64_t length_ns, double pixels) {
  constexpr int64_t kSecond = 1'000'000'000, kMinute = 60 * kSecond, kHour = 60 * kMinute;
  constexpr std::array kTimes = {kSecond, 2 * kSecond, 5 * kSecond, 10 * kSecond, 30 * kSecond,
                                 kMinute, 2 * kMinute, 5 * kMinute, 10 * kMinute, 30 * kMinute,
                                 kHour,   2 * kHour,   4 * kHour,   12 * kHour,   24 * kHour};
  const auto least = static_cast<int64_t>(static_cast<double>(length_ns) * kTimePixels / pixels);
  for (const int64_t time : kTimes) {
    if (time >= least) return time;
  }
  return (least / kTimes.back() + 1) * kTimes.back();
}

}  // namespace

RunChartView::RunChartView(const Theme& theme) : theme_(theme) {
  setMinimumSize(320, 180);
  setAccessibleName(tr("Rate over the whole job"));
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
}

void RunChartView::show_run(const WholeRun& run) {
  const bool is_same = run.paths == run_.paths;
  run_ = run;
  ChartSeries series;
  for (const auto& point : chart().points) {
    series.points.emplace_back().y = point.rate;
  }
  heights_.series = {std::move(series)};
  rates_width_ = heights_width(heights_);
  setAccessibleDescription(tr("%1 windows and %2 marks: the arrow keys move between them, Enter "
                              "opens the nearest window")
                               .arg(run_.windows.size())
                               .arg(chart().marks.size()));
  setCursor(run_.windows.empty() ? Qt::ArrowCursor : Qt::PointingHandCursor);
  is_same ? update() : forget_current();
}

int RunChartView::item_count() const {
  return static_cast<int>(run_.windows.size() + chart().marks.size());
}

const RunChartMark& RunChartView::mark_of(int item) const {
  return chart().marks[static_cast<size_t>(item) - run_.windows.size()];
}

int64_t RunChartView::time_of(int item) const {
  const auto index = static_cast<size_t>(item);
  return index < run_.windows.size() ? run_.windows[index].time_ns : mark_of(item).time_ns;
}

QString RunChartView::item_text(int item) const {
  const auto index = static_cast<size_t>(item);
  return index < run_.windows.size() ? tr("window of %1\n%2")
                                           .arg(time_words(run_.windows[index].time_ns),
                                                printable_text(run_.windows[index].path))
                                     : printable_text(mark_of(item).words);
}

QRectF RunChartView::item_rect(int item) const {
  const double x = x_of(time_of(item));
  const QRectF area = plot();
  if (static_cast<size_t>(item) < run_.windows.size()) {
    return {x - kReach, area.bottom() - 2, 2 * kReach, 2 * kReach};
  }
  switch (mark_of(item).kind) {
    case RunChartMark::Kind::kFinding:
      return {x - kReach, area.top(), 2 * kReach, area.height()};
    case RunChartMark::Kind::kSlowStep:
      return {x - kReach, area.bottom() - 5 - kReach, 2 * kReach, 2 * kReach};
    case RunChartMark::Kind::kEvent:
      break;
  }
  return {x - kReach, area.top() - kEventHeight, 2 * kReach, kEventHeight};
}

// The mark under the mouse, else the nearest window, which is what a click there opens.
int RunChartView::item_at(QPointF at) const {
  int nearest = kNoItem;
  double least = kReach;
  for (int item = 0; item < item_count(); ++item) {
    if (!item_rect(item).contains(at)) continue;
    const double distance = std::abs(x_of(time_of(item)) - at.x());
    if (distance > least) continue;
    least = distance;
    nearest = item;
  }
  if (nearest != kNoItem || !plot().contains(at)) return nearest;
  const auto window = run_.nearest_window(time_at(at.x()));
  return window ? static_cast<int>(*window) : kNoItem;
}

void RunChartView::choose(int item) {
  const auto window = run_.nearest_window(time_of(item));
  if (!window) return;
  emit window_chosen(*window, QGuiApplication::keyboardModifiers().testFlag(Qt::ShiftModifier));
}

QRectF RunChartView::plot() const {
  return {QPointF(rates_width_, kHeadHeight + kColoursHeight + kEventHeight + 4),
          QPointF(width() - 14, height() - kTimesHeight)};
}

double RunChartView::x_of(int64_t time_ns) const {
  return plot().left() + plot().width() * chart().share_of(time_ns);
}

int64_t RunChartView::time_at(double x) const {
  const double share = std::clamp((x - plot().left()) / plot().width(), 0.0, 1.0);
  return chart().begin_ns +
         std::llround(share * static_cast<double>(chart().end_ns - chart().begin_ns));
}

QColor RunChartView::colour_of(const RunChartMark& mark) const {
  switch (mark.kind) {
    case RunChartMark::Kind::kFinding:
      return theme_.of(SliceClass::kDataLoader);
    case RunChartMark::Kind::kSlowStep:
      return theme_.of(SliceClass::kCommunication);
    case RunChartMark::Kind::kEvent:
      break;
  }
  switch (mark.event) {
    case LogMarkKind::kOutOfMemory:
    case LogMarkKind::kException:
      return theme_.of(SliceClass::kDataLoader);
    case LogMarkKind::kCompile:
      return theme_.of(SliceClass::kOverhead);
    case LogMarkKind::kEvaluation:
      return theme_.of(SliceClass::kOperator);
    case LogMarkKind::kCheckpoint:
      return theme_.of(SliceClass::kCopy);
    case LogMarkKind::kEpoch:
    case LogMarkKind::kWindow:
    case LogMarkKind::kNote:
    case LogMarkKind::kBatches:
    case LogMarkKind::kTraining:
      break;
  }
  return theme_.muted;
}

void RunChartView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme_.panel);
  painter.setFont(ui_font(13, QFont::DemiBold));
  painter.setPen(theme_.text);
  painter.drawText(QRect(14, 0, width() - 14, kHeadHeight), Qt::AlignVCenter,
                   tr("%1 over the whole job").arg(QLatin1String(chart().unit)));
  painter.setFont(ui_font(11));
  if (chart().points.empty()) return;
  paint_legend(painter);
  const QRectF area = plot();
  const ChartGeometry geometry(heights_, {area.left(), area.top(), area.right(), area.bottom()});
  paint_axes(painter, geometry);
  painter.setRenderHint(QPainter::Antialiasing);
  paint_rate(painter, geometry);
  for (const RunChartMark& mark : chart().marks) paint_mark(painter, mark);
  paint_windows(painter);
  if (cursor_) paint_cursor(painter);
  paint_focus(painter, theme_.accent);
}

void RunChartView::paint_legend(QPainter& painter) const {
  int left = 14;
  const auto add = [&](const QColor& colour, const QString& name) {
    painter.fillRect(left, kHeadHeight + 6, 9, 9, colour);
    painter.setPen(theme_.muted);
    const int words = painter.fontMetrics().horizontalAdvance(name);
    painter.drawText(QRect(left + 14, kHeadHeight, words + 2, kColoursHeight), Qt::AlignVCenter,
                     name);
    left += 14 + words + 16;
  };
  if (!run_.windows.empty()) add(theme_.accent, tr("window: a click opens it"));
  std::set<std::pair<RunChartMark::Kind, LogMarkKind>> told;
  for (const RunChartMark& mark : chart().marks) {
    if (!told.emplace(mark.kind, mark.event).second) continue;
    if (mark.kind == RunChartMark::Kind::kEvent && mark.event == LogMarkKind::kWindow) continue;
    add(colour_of(mark), mark.kind == RunChartMark::Kind::kFinding ? tr("finding, by number")
                         : mark.kind == RunChartMark::Kind::kSlowStep
                             ? tr("slow step")
                             : text(std::string(trace::log_mark_name(mark.event))));
  }
}

void RunChartView::paint_axes(QPainter& painter, const ChartGeometry& geometry) const {
  const QRectF area = plot();
  paint_heights(painter, area, geometry, theme_);
  const int64_t length = chart().end_ns - chart().begin_ns;
  const int64_t step = round_time(length, area.width());
  for (int64_t time = 0; time <= length; time += step) {
    const double x = x_of(chart().begin_ns + time);
    const QString words =
        time == 0 ? QStringLiteral("0") : text(format_wait(std::chrono::nanoseconds(time)));
    painter.drawText(QRectF(x - 60, area.bottom() + 8, 120, 14), Qt::AlignCenter, words);
  }
  painter.drawText(QRectF(area.left(), area.bottom() + 22, area.width(), 14), Qt::AlignCenter,
                   tr("time since the first step, %1").arg(time_words(chart().begin_ns)));
}

void RunChartView::paint_rate(QPainter& painter, const ChartGeometry& geometry) const {
  const QRectF area = plot();
  QPainterPath line;
  for (const auto& point : chart().points) {
    const QPointF at(x_of(point.time_ns), geometry.y_of(point.rate));
    if (line.elementCount() == 0) line.moveTo(at);
    line.lineTo(at.x(), line.currentPosition().y());  // a rate holds until the next
    line.lineTo(at);
  }
  line.lineTo(area.right(), line.currentPosition().y());
  QPainterPath below = line;
  below.lineTo(area.bottomRight());
  below.lineTo(x_of(chart().points.front().time_ns), area.bottom());
  QColor fill = theme_.of(SliceClass::kCompute);
  fill.setAlphaF(0.18F);
  painter.fillPath(below, fill);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme_.of(SliceClass::kCompute), 1.6));
  painter.drawPath(line);
}

void RunChartView::paint_mark(QPainter& painter, const RunChartMark& mark) const {
  const QRectF area = plot();
  const double x = x_of(mark.time_ns);
  const QColor colour = colour_of(mark);
  painter.setPen(QPen(colour, mark.kind == RunChartMark::Kind::kEvent ? 2 : 1));
  switch (mark.kind) {
    case RunChartMark::Kind::kFinding: {
      painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
      const bool is_last = x > area.right() - 20;
      painter.setPen(theme_.text);  // figures in the colours of marks are hard to read
      painter.drawText(QRectF(is_last ? x - 24 : x + 4, area.top(), 20, 16),
                       is_last ? Qt::AlignRight : Qt::AlignLeft, QString::number(mark.number));
      return;
    }
    case RunChartMark::Kind::kSlowStep:
      painter.setPen(Qt::NoPen);
      painter.setBrush(colour);
      painter.drawEllipse(QPointF(x, area.bottom() - 5), kSlowDot, kSlowDot);
      return;
    case RunChartMark::Kind::kEvent:
      break;
  }
  if (mark.event == LogMarkKind::kWindow) return;  // windows that still exist are painted below
  painter.drawLine(QPointF(x, area.top() - kEventHeight + 2), QPointF(x, area.top() - 1));
}

void RunChartView::paint_windows(QPainter& painter) const {
  const double bottom = plot().bottom();
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme_.accent);
  for (const RunWindow& window : run_.windows) {
    const double x = x_of(window.time_ns);
    painter.drawPolygon(QPolygonF{
        {QPointF(x, bottom + 1), QPointF(x - 4, bottom + 8), QPointF(x + 4, bottom + 8)}});
  }
}

QString RunChartView::words_at(int64_t time_ns) const {
  const auto after =
      std::ranges::upper_bound(chart().points, time_ns, {}, &trace::RunChartPoint::time_ns);
  const auto& point = after == chart().points.begin() ? *after : *std::prev(after);
  return tr("%1 · step %2 · %3 %4")
      .arg(time_words(time_ns), text(format_count(point.step)), text(format_number(point.rate)),
           QLatin1String(chart().unit));
}

void RunChartView::paint_cursor(QPainter& painter) const {
  const QRectF area = plot();
  painter.setPen(QPen(theme_.muted, 1, Qt::DotLine));
  painter.drawLine(QPointF(*cursor_, area.top()), QPointF(*cursor_, area.bottom()));
  painter.setPen(theme_.text);
  painter.drawText(QRectF(area.left(), 0, area.width(), kHeadHeight),
                   Qt::AlignRight | Qt::AlignVCenter, words_at(time_at(*cursor_)));
}

void RunChartView::mouseMoveEvent(QMouseEvent* event) {
  const QRectF area = plot();
  const double x = event->position().x();
  cursor_ = x >= area.left() && x <= area.right() ? std::optional(x) : std::nullopt;
  update();
}

void RunChartView::leaveEvent(QEvent*) {
  cursor_.reset();
  update();
}

}  // namespace redline::viewer

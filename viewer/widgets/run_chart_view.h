// The rate over a whole job, with its findings, slow steps, marks and recorded windows. A click
// chooses the window that is nearest in time. With the keyboard the arrow keys walk the windows and
// then the marks.
#pragma once

#include <optional>

#include "viewer/models/chart.h"
#include "viewer/models/run.h"
#include "viewer/widgets/items_view.h"
#include "viewer/widgets/theme.h"

namespace redline::viewer {

class RunChartView : public ItemsView {
  Q_OBJECT

 public:
  explicit RunChartView(const Theme& theme);

  void show_run(const WholeRun& run);
  /// In pixels of the widget.
  [[nodiscard]] double x_of(int64_t time_ns) const;

  [[nodiscard]] int item_count() const override;
  [[nodiscard]] QString item_text(int item) const override;
  [[nodiscard]] QRectF item_rect(int item) const override;
  void choose(int item) override;

 signals:
  /// `compares`: with Shift, the window is to be compared with the one that was opened last.
  void window_chosen(size_t window, bool compares);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  [[nodiscard]] int item_at(QPointF at) const override;

 private:
  [[nodiscard]] const trace::RunChart& chart() const { return run_.chart; }
  [[nodiscard]] QRectF plot() const;
  [[nodiscard]] int64_t time_at(double x) const;
  [[nodiscard]] int64_t time_of(int item) const;
  [[nodiscard]] const trace::RunChartMark& mark_of(int item) const;
  [[nodiscard]] QColor colour_of(const trace::RunChartMark& mark) const;
  void paint_axes(QPainter& painter, const ChartGeometry& geometry) const;
  void paint_rate(QPainter& painter, const ChartGeometry& geometry) const;
  void paint_mark(QPainter& painter, const trace::RunChartMark& mark) const;
  void paint_windows(QPainter& painter) const;
  void paint_legend(QPainter& painter) const;
  void paint_cursor(QPainter& painter) const;
  [[nodiscard]] QString words_at(int64_t time_ns) const;

  const Theme& theme_;
  WholeRun run_;
  Chart heights_;  ///< the same rates, for ChartGeometry
  int rates_width_ = 0;
  std::optional<double> cursor_;
};

}  // namespace redline::viewer

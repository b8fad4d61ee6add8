// Paints a chart; a click or Enter on a point chooses it. Left and right walk a series, up and down
// lead to the others.
#pragma once

#include "viewer/models/chart.h"
#include "viewer/widgets/items_view.h"
#include "viewer/widgets/theme.h"

namespace redline::viewer {

/// The numbers at the left of a chart, and a line through it at each.
void paint_heights(QPainter& painter, const QRectF& area, const ChartGeometry& geometry,
                   const Theme& theme);
/// The room that these numbers need.
[[nodiscard]] int heights_width(const Chart& chart);

class ChartView : public ItemsView {
  Q_OBJECT

 public:
  explicit ChartView(const Theme& theme);

  void show_chart(Chart chart);
  /// Circles the points of this id; 0: none.
  void mark(int64_t id);
  /// In pixels of the widget.
  [[nodiscard]] QPointF place_of(const ChartPoint& point) const;
  [[nodiscard]] const Chart& chart() const { return chart_; }

  [[nodiscard]] int item_count() const override { return static_cast<int>(chart_.point_count()); }
  [[nodiscard]] QString item_text(int item) const override;
  [[nodiscard]] QRectF item_rect(int item) const override;
  void choose(int item) override { emit point_chosen(point(item).id); }

 signals:
  void point_chosen(qint64 id);

 protected:
  void paintEvent(QPaintEvent* event) override;
  [[nodiscard]] int item_at(QPointF at) const override;
  [[nodiscard]] int item_after(int item, int key) const override;
  [[nodiscard]] int first_item() const override;

 private:
  [[nodiscard]] const ChartPoint& point(int item) const {
    return chart_.point(static_cast<size_t>(item));
  }
  [[nodiscard]] ChartGeometry geometry() const;
  [[nodiscard]] QRectF plot() const;
  [[nodiscard]] QColor colour(size_t series) const;
  void paint_axes(QPainter& painter, const ChartGeometry& geometry) const;
  void paint_series(QPainter& painter, const ChartGeometry& geometry, const ChartSeries& series,
                    const QColor& colour) const;
  void paint_point(QPainter& painter, QPointF at, const ChartPoint& point,
                   const QColor& colour) const;
  void paint_interval(QPainter& painter, const ChartGeometry& geometry, const ChartPoint& point,
                      const QColor& colour) const;
  void paint_legend(QPainter& painter) const;
  [[nodiscard]] bool has_legend() const { return chart_.series.size() > 1; }

  const Theme& theme_;
  Chart chart_;
  int axis_width_ = 0;
  int64_t marked_ = 0;
};

}  // namespace redline::viewer

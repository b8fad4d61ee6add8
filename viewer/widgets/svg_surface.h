// Lanes as SVG elements, one unit a pixel.
#pragma once

#include <QFontMetrics>
#include <string>
#include <vector>

#include "viewer/widgets/lanes_surface.h"

namespace redline::viewer {

[[nodiscard]] std::string svg_rect(const QRect& rect, const QColor& colour);
/// `words` begin at `at`, on their base line, cut to `width`.
[[nodiscard]] std::string svg_text(QPoint at, const QString& words, int width,
                                   const QFontMetrics& metrics, const QColor& colour);

class SvgSurface final : public LanesSurface {
 public:
  /// `background` is what lanes without slices have: it is not drawn.
  SvgSurface(QSize size, const QColor& background, const QFontMetrics& metrics)
      : LanesSurface(size), background_(background.rgb()), metrics_(metrics) {}

  void clip_above(int top) override;
  void fill(const QRect& rect, const QColor& colour) override;
  void lines(int top, int bottom, std::span<const uint32_t> line) override;
  void label(QPoint at, const QImage& picture, std::string_view text,
             const QColor& colour) override;

  /// The elements; nothing can be painted after it.
  [[nodiscard]] std::string take();

 private:
  struct Fill {
    QRect rect;
    QColor colour;
  };

  void write_fills();

  uint32_t background_;
  QFontMetrics metrics_;
  std::vector<Fill> fills_;  ///< the last ones, as long as neighbours may continue them
  std::string out_;
  bool is_clipped_ = false;
};

}  // namespace redline::viewer

// What the lanes are painted onto, in device pixels: a picture, or in a test a list of what was
// painted where. All that LanesPainter decides goes through here.
#pragma once

#include <QColor>
#include <QImage>
#include <QPainter>
#include <cstdint>
#include <span>
#include <string_view>

namespace redline::viewer {

class LanesSurface {
 public:
  explicit LanesSurface(QSize size) : size_(size) {}
  virtual ~LanesSurface() = default;
  LanesSurface(const LanesSurface&) = delete;
  LanesSurface& operator=(const LanesSurface&) = delete;

  [[nodiscard]] int width() const { return size_.width(); }
  [[nodiscard]] int height() const { return size_.height(); }

  /// Cuts off, above `top`, everything that is painted after this call.
  virtual void clip_above(int top) = 0;
  virtual void fill(const QRect& rect, const QColor& colour) = 0;
  /// Copies one line of pixels, as wide as the surface, into each row from `top` to above `bottom`.
  virtual void lines(int top, int bottom, std::span<const uint32_t> line) = 0;
  /// `picture` shows `text` in this colour, cut to the picture's width.
  virtual void label(QPoint at, const QImage& picture, std::string_view text,
                     const QColor& colour) = 0;

 private:
  QSize size_;
};

class ImageSurface final : public LanesSurface {
 public:
  /// The image must be RGB32 and outlive this.
  explicit ImageSurface(QImage& image);

  void clip_above(int top) override;
  void fill(const QRect& rect, const QColor& colour) override;
  void lines(int top, int bottom, std::span<const uint32_t> line) override;
  void label(QPoint at, const QImage& picture, std::string_view text,
             const QColor& colour) override;

 private:
  QImage& image_;
  QPainter painter_;
  int top_ = 0;
};

}  // namespace redline::viewer

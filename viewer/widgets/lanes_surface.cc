#include "viewer/widgets/lanes_surface.h"

#include <algorithm>
#include <cstring>

namespace redline::viewer {

ImageSurface::ImageSurface(QImage& image)
    : LanesSurface(image.size()), image_(image), painter_(&image) {}

void ImageSurface::clip_above(int top) {
  top_ = top;
  painter_.setClipRect(0, top, width(), height() - top);
}

void ImageSurface::fill(const QRect& rect, const QColor& colour) {
  painter_.fillRect(rect, colour);
}

void ImageSurface::lines(int top, int bottom, std::span<const uint32_t> line) {
  const int end = std::min(bottom, height());
  for (int y = std::max(top, top_); y < end; ++y) {
    std::memcpy(image_.scanLine(y), line.data(), line.size_bytes());
  }
}

void ImageSurface::label(QPoint at, const QImage& picture, std::string_view /*text*/,
                         const QColor& /*colour*/) {
  painter_.drawImage(at, picture);
}

}  // namespace redline::viewer

#include "viewer/widgets/svg_surface.h"

#include <fmt/format.h>

#include <QString>
#include <algorithm>
#include <utility>

#include "viewer/models/format.h"

namespace redline::viewer {
namespace {

constexpr size_t kLongestName = 300;
constexpr size_t kOpenFills = 2;  // a graph's line and its tint, column by column

std::string hex(const QColor& colour) { return colour.name().toStdString(); }

}  // namespace

std::string svg_rect(const QRect& rect, const QColor& colour) {
  const std::string opacity =
      colour.alpha() < 255 ? fmt::format(" fill-opacity=\"{:.2f}\"", colour.alphaF()) : "";
  return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"{}/>\n",
                     rect.x(), rect.y(), rect.width(), rect.height(), hex(colour), opacity);
}

std::string svg_text(QPoint at, const QString& words, int width, const QFontMetrics& metrics,
                     const QColor& colour) {
  const QString shown = metrics.elidedText(words, Qt::ElideRight, width);
  return fmt::format("<text x=\"{}\" y=\"{}\" fill=\"{}\">{}</text>\n", at.x(), at.y(), hex(colour),
                     shown.toHtmlEscaped().toStdString());
}

void SvgSurface::clip_above(int top) {
  write_fills();
  out_ += fmt::format(
      "<clipPath id=\"below\"><rect y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n"
      "<g clip-path=\"url(#below)\">\n",
      top, width(), std::max(height() - top, 0));
  is_clipped_ = true;
}

void SvgSurface::fill(const QRect& rect, const QColor& colour) {
  if (rect.isEmpty()) return;
  for (Fill& open : fills_) {
    const QRect& before = open.rect;
    if (before.right() + 1 == rect.left() && before.top() == rect.top() &&
        before.height() == rect.height() && open.colour == colour) {
      open.rect.setRight(rect.right());
      return;
    }
  }
  if (fills_.size() == kOpenFills) {
    out_ += svg_rect(fills_.front().rect, fills_.front().colour);
    fills_.erase(fills_.begin());
  }
  fills_.push_back({rect, colour});
}

// Neighbouring pixels of one colour are one rectangle.
void SvgSurface::lines(int top, int bottom, std::span<const uint32_t> line) {
  write_fills();
  const int end = static_cast<int>(line.size());
  for (int x = 0; x < end && top < bottom;) {
    const uint32_t colour = line[static_cast<size_t>(x)];
    const int begin = x;
    while (x < end && line[static_cast<size_t>(x)] == colour) ++x;
    if (colour != background_) {
      out_ += svg_rect({begin, top, x - begin, bottom - top}, QColor::fromRgb(colour));
    }
  }
}

void SvgSurface::label(QPoint at, const QImage& picture, std::string_view text,
                       const QColor& colour) {
  write_fills();
  out_ += svg_text(at + QPoint(0, metrics_.ascent()),
                   QString::fromStdString(printable(text.substr(0, kLongestName))), picture.width(),
                   metrics_, colour);
}

std::string SvgSurface::take() {
  write_fills();
  if (is_clipped_) out_ += "</g>\n";
  return std::move(out_);
}

void SvgSurface::write_fills() {
  for (const Fill& fill : fills_) out_ += svg_rect(fill.rect, fill.colour);
  fills_.clear();
}

}  // namespace redline::viewer

#include "viewer/widgets/label_cache.h"

#include <QPainter>
#include <cmath>

#include "viewer/widgets/controls.h"

namespace redline::viewer {
namespace {

constexpr int kFontPixels = 11;
constexpr size_t kMaxLetters = 300;  // no slice is wider than that many letters

QFont scaled_font(double scale) {
  return ui_font(static_cast<int>(std::lround(kFontPixels * scale)));
}

}  // namespace

LabelCache::LabelCache(const Theme& theme, double scale)
    : theme_(theme), scale_(scale), font_(scaled_font(scale)), metrics_(font_) {}

const LabelCache::Words& LabelCache::words_of(std::string_view text) {
  const auto found = words_.find(text);
  if (found != words_.end()) return found->second;
  const Words words{static_cast<uint32_t>(words_.size()),
                    metrics_.horizontalAdvance(printable_text(text)) + 2};
  return words_.emplace(text, words).first->second;
}

const QImage* LabelCache::label(std::string_view text, int width, uint8_t colour) {
  text = text.substr(0, kMaxLetters);
  if (images_.size() >= kMaxImages) {
    images_.clear();
    words_.clear();
  }
  const Words words = words_of(text);
  const int steps = words.full_width <= width ? INT_MAX : width / kStep;
  const Key key{words.number, steps, colour};
  auto image = images_.constFind(key);
  if (image == images_.constEnd()) {
    QString shown = printable_text(text);
    if (steps != INT_MAX) shown = metrics_.elidedText(shown, Qt::ElideRight, steps * kStep);
    // A lone ellipsis or a letter with one says nothing.
    if (shown.size() < 3 && steps != INT_MAX) shown.clear();
    const QColor& ink = colour == kOnLanes ? theme_.text : theme_.label[colour];
    image = images_.insert(key, shown.isEmpty() ? QImage() : render(shown, ink));
  }
  return image->isNull() ? nullptr : &*image;
}

QImage LabelCache::render(const QString& text, const QColor& colour) const {
  QImage image(metrics_.horizontalAdvance(text) + 2, metrics_.height(),
               QImage::Format_ARGB32_Premultiplied);
  image.fill(Qt::transparent);
  QPainter painter(&image);
  painter.setFont(font_);
  painter.setPen(colour);
  painter.drawText(0, metrics_.ascent(), text);
  return image;
}

}  // namespace redline::viewer

#include "viewer/widgets/label_cache.h"

#include <QPainter>
#include <cmath>

#include "viewer/models/format.h"

namespace redline::viewer {
namespace {

constexpr int kFontPixels = 11;
constexpr size_t kMaxLetters = 300;  // no slice is wider than that many letters

QFont scaled_font(double scale) {
  return ui_font(static_cast<int>(std::lround(kFontPixels * scale)));
}

QString short_text(std::string_view text) {
  return QString::fromStdString(printable(text.substr(0, kMaxLetters)));
}

}  // namespace

LabelCache::LabelCache(const Theme& theme, double scale)
    : theme_(theme), scale_(scale), font_(scaled_font(scale)), metrics_(font_) {}

const QImage* LabelCache::label(uint64_t key, std::string_view text, int width, uint8_t colour) {
  auto full = full_width_.constFind(key);
  if (full == full_width_.constEnd()) {
    full = full_width_.insert(key, metrics_.horizontalAdvance(short_text(text)) + 2);
  }
  const int steps = *full <= width ? INT_MAX : width / kStep;
  const Key image_key{key, steps, colour};
  auto image = images_.constFind(image_key);
  if (image == images_.constEnd()) {
    if (images_.size() >= kMaxImages) images_.clear();
    QString shown = short_text(text);
    if (steps != INT_MAX) shown = metrics_.elidedText(shown, Qt::ElideRight, steps * kStep);
    // A lone ellipsis or a letter with one says nothing.
    if (shown.size() < 3 && steps != INT_MAX) shown.clear();
    image =
        images_.insert(image_key, shown.isEmpty() ? QImage() : render(shown, theme_.label[colour]));
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

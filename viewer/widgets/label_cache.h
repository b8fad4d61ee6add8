// Names of slices as pictures that are drawn once. In Qt it costs 10 µs to draw a label as text and
// 0.3 µs to draw a picture of it: with two thousand labels that is 20 ms or 1 ms a frame.
#pragma once

#include <QFontMetrics>
#include <QHash>
#include <QImage>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "viewer/models/slice_class.h"
#include "viewer/widgets/theme.h"

namespace redline::viewer {

class LabelCache {
 public:
  LabelCache(const Theme& theme, double scale);

  static constexpr uint8_t kOnLanes = kColourCount;  ///< a `colour`: no slice is under the label

  /// A picture of `text`, elided to at most `width` device pixels, in the label colour that belongs
  /// to the slice's `colour`. Null if not even a few letters fit. Labels are known by their words:
  /// the ids of names are those of one trace, and the cache outlives traces.
  const QImage* label(std::string_view text, int width, uint8_t colour);

  [[nodiscard]] double scale() const { return scale_; }

 private:
  /// Widths are rounded down to a multiple, so that zooming finds cached labels.
  static constexpr int kStep = 8;
  static constexpr qsizetype kMaxImages = 20'000;

  struct Words {
    uint32_t number = 0;
    int full_width = 0;
  };
  /// Finds words without making a string of them.
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  struct Key {
    uint32_t words = 0;
    int steps = 0;
    uint8_t colour = 0;
    bool operator==(const Key&) const = default;
    friend size_t qHash(const Key& key, size_t seed) {
      return qHashMulti(seed, key.words, key.steps, key.colour);
    }
  };

  [[nodiscard]] const Words& words_of(std::string_view text);
  [[nodiscard]] QImage render(const QString& text, const QColor& colour) const;

  const Theme& theme_;
  double scale_;
  QFont font_;
  QFontMetrics metrics_;
  std::unordered_map<std::string, Words, Hash, std::equal_to<>> words_;
  QHash<Key, QImage> images_;
};

}  // namespace redline::viewer

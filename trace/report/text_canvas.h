// Lines of a text report: padding by columns on the screen, colours, bars, ASCII where need be.
#pragma once

#include <string>
#include <string_view>

#include "trace/report/report.h"

namespace redline::trace {

/// Colours carry meaning, the same as in the viewer: compute blue, communication orange, copies
/// green, DataLoader red, the host violet.
enum class Hue { kNone, kBold, kDim, kBlue, kOrange, kGreen, kRed, kViolet, kYellow };

/// Columns that `utf8` takes on a screen (every code point one, broken bytes one each).
[[nodiscard]] size_t columns(std::string_view utf8);

/// `utf8` cut to `width` columns, with an ellipsis where something is cut; control characters,
/// which names may hold, become '?'.
[[nodiscard]] std::string elide(std::string_view utf8, size_t width);

class TextCanvas {
 public:
  explicit TextCanvas(const TextStyle& style) : style_(style) {}

  /// Appends `text` padded with spaces to `width` columns; cut if longer and width is not 0.
  TextCanvas& left(std::string_view text, size_t width = 0, Hue hue = Hue::kNone);
  TextCanvas& right(std::string_view text, size_t width, Hue hue = Hue::kNone);
  /// A bar of share * width columns, in eighths where UTF-8 is there.
  TextCanvas& bar(double share, size_t width, Hue hue);
  TextCanvas& end_line();  ///< without trailing spaces

  [[nodiscard]] std::string take();

 private:
  void put(std::string_view text, Hue hue);

  TextStyle style_;
  std::string line_;
  std::string out_;
};

}  // namespace redline::trace

// Text for a terminal: which symbols and colours it may use, how many columns it takes, and lines
// that are put together from padded cells.
//
// All our programs decide alike. Colour needs a terminal and no NO_COLOR (https://no-color.org: an
// empty one does not count). UTF-8 needs a locale that names it: the first of LC_ALL, LC_CTYPE and
// LANG that is not empty, as in setlocale(3), but without a call of it, which would change the
// process. Width is 80 columns, always, so that a report looks the same in a file and in a pipe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace redline {

constexpr size_t kTerminalColumns = 80;

/// Colours carry meaning, the same as in the viewer: compute blue, communication orange, copies
/// green, DataLoader red, the host violet.
enum class Hue { kNone, kBold, kDim, kBlue, kOrange, kGreen, kRed, kViolet, kYellow };

struct TextStyle {
  bool colour = false;
  bool utf8 = true;

  /// Without UTF-8 the symbols of our own texts (· ± … → ✓ ✗ °) in ASCII, and '?' for any other
  /// character beyond ASCII.
  [[nodiscard]] std::string shown(std::string_view text) const;
  /// shown(), in a colour where there are colours.
  [[nodiscard]] std::string painted(std::string_view text, Hue hue) const;
  /// shown(), cut to `width` columns and padded behind (left) or before (right) to as many.
  [[nodiscard]] std::string left(std::string_view text, size_t width) const;
  [[nodiscard]] std::string right(std::string_view text, size_t width) const;
};

/// For what is written to `descriptor`.
[[nodiscard]] TextStyle style_of(int descriptor);

/// Columns that `utf8` takes on a screen (every code point one, broken bytes one each).
[[nodiscard]] size_t columns(std::string_view utf8);

/// `utf8` cut to `width` columns, with `mark` at its end where something is cut; control
/// characters, which names may hold, become '?'.
[[nodiscard]] std::string elide(std::string_view utf8, size_t width, std::string_view mark = "…");

/// Lines of at most `width` columns (a longer piece has a line of its own): as many pieces each as
/// fit, with `separator` between them. Of a text, its words.
[[nodiscard]] std::vector<std::string> wrapped(const std::vector<std::string>& pieces,
                                               std::string_view separator, size_t width);
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, size_t width);

[[nodiscard]] std::string joined(const std::vector<std::string>& pieces,
                                 std::string_view separator);

class TextCanvas {
 public:
  explicit TextCanvas(const TextStyle& style) : style_(style) {}

  /// Appends `text` padded with spaces to `width` columns; cut if longer and width is not 0.
  TextCanvas& left(std::string_view text, size_t width = 0, Hue hue = Hue::kNone);
  TextCanvas& right(std::string_view text, size_t width, Hue hue = Hue::kNone);
  /// A bar of share * width columns, in eighths where UTF-8 is there.
  TextCanvas& bar(double share, size_t width, Hue hue);
  TextCanvas& end_line();  ///< without trailing spaces

  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  TextStyle style_;
  std::string line_;
  std::string out_;
};

}  // namespace redline

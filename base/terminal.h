// Text for a terminal: which symbols and colours it may use, how many columns it takes, and lines
// that are put together from padded cells.
//
// All our programs follow the same rules. Colour needs a terminal, and NO_COLOR must not be set
// (https://no-color.org: an empty NO_COLOR does not count). UTF-8 needs a locale that names it: the
// first of LC_ALL, LC_CTYPE and LANG that is not empty. This is the rule of setlocale(3), but we do
// not call that, because it would change the process. The width is always 80 columns, so that a
// report looks the same in a file and in a pipe. Only what is drawn over itself fits into the
// terminal.
#pragma once

#include <array>
#include <cstdint>
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

  /// `text` if UTF-8 is allowed. Otherwise the symbols of our texts (· ± … → ✓ ✗ °) are written in
  /// ASCII, and any other character beyond ASCII as '?'.
  [[nodiscard]] std::string shown(std::string_view text) const;
  /// shown(), in this colour if colours are allowed.
  [[nodiscard]] std::string painted(std::string_view text, Hue hue) const;
  /// shown(), cut or padded to `width` columns. left() pads behind the text, right() before it.
  [[nodiscard]] std::string left(std::string_view text, size_t width) const;
  [[nodiscard]] std::string right(std::string_view text, size_t width) const;
};

/// Whether `descriptor` is a terminal that knows colours and moves its cursor: not TERM=dumb, as in
/// editors.
[[nodiscard]] bool is_screen(int descriptor);
/// The style for text that is written to `descriptor`.
[[nodiscard]] TextStyle style_of(int descriptor);

struct ScreenSize {
  size_t rows = 24;
  size_t columns = kTerminalColumns;
};
/// That of the terminal; the usual one if `descriptor` does not tell.
[[nodiscard]] ScreenSize screen_size(int descriptor);

/// Whether the byte of UTF-8 is not the first one of its letter.
[[nodiscard]] constexpr bool continues_letter(char c) {
  return (static_cast<uint8_t>(c) & 0xC0) == 0x80;
}

/// How many columns `utf8` takes on a screen: one for each code point and for each broken byte.
[[nodiscard]] size_t columns(std::string_view utf8);
/// What stands in the last `width` columns of `utf8`.
[[nodiscard]] std::string_view last_columns(std::string_view utf8, size_t width);

/// `utf8` cut to `width` columns, with `mark` at its end if something was cut. Control characters,
/// which names may hold, become '?'.
[[nodiscard]] std::string elide(std::string_view utf8, size_t width, std::string_view mark = "…");
/// The same, cut in the middle.
[[nodiscard]] std::string elide_middle(std::string_view utf8, size_t width);

/// `line` cut to `width` columns. The escapes that paint it take none, and all of them stay.
[[nodiscard]] std::string cut_painted(std::string_view line, size_t width);

/// Puts pieces into lines of at most `width` columns, as many as fit into each, with `separator`
/// between them. A piece that is longer gets a line to itself. The pieces of a text are its words.
[[nodiscard]] std::vector<std::string> wrapped(const std::vector<std::string>& pieces,
                                               std::string_view separator, size_t width);
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, size_t width);

[[nodiscard]] std::string joined(const std::vector<std::string>& pieces,
                                 std::string_view separator);

/// Columns of a chart, from the lowest to the full one.
inline constexpr std::array kColumnHeights = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

class TextCanvas {
 public:
  explicit TextCanvas(const TextStyle& style) : style_(style) {}

  /// Appends `text` padded with spaces to `width` columns; cut if longer and width is not 0.
  TextCanvas& left(std::string_view text, size_t width = 0, Hue hue = Hue::kNone);
  TextCanvas& right(std::string_view text, size_t width, Hue hue = Hue::kNone);
  /// A bar of share * width columns. With UTF-8 its end is drawn in eighths of a column.
  TextCanvas& bar(double share, size_t width, Hue hue);
  /// Whole lines below what is written: each note wrapped, dim and indented by two columns.
  TextCanvas& notes(const std::vector<std::string>& notes);
  TextCanvas& dim_line(std::string_view text) { return left(text, 0, Hue::kDim).end_line(); }
  TextCanvas& end_line();  ///< removes trailing spaces

  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  TextStyle style_;
  std::string line_;
  std::string out_;
};

}  // namespace redline

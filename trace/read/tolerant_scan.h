// Stepping over JSON that may be wrong anywhere, without being led astray.
//
// A scanner that only counts brackets takes the rest of the file for one value as soon as a bracket
// is missing. This one knows enough of the grammar to see that at once: brackets must match, and an
// object has keys. It counts the bytes that it looks at, so that its callers can stay linear, and a
// test can see that they do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace redline::trace {

enum class ScanEnd {
  kWhole,
  kBroken,  ///< at() is what cannot stand there
  kCut,     ///< the text ended first
};

/// What is wrong with a value that can be used all the same.
struct Flaws {
  bool control_character = false;
  bool invalid_utf8 = false;
  bool unescaped_quote = false;
  bool unmatched_bracket = false;  ///< or one where none can stand
};

class TolerantScan {
 public:
  TolerantScan(std::string_view text, size_t at) : text_(text), at_(at) {}

  [[nodiscard]] size_t at() const { return at_; }
  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] char next() const { return text_[at_]; }
  [[nodiscard]] uint64_t visited() const { return visited_; }

  /// From now on a string ends at its first quote.
  void take_quotes_as_they_are() { seek_quotes_ = false; }

  /// From now on an event may begin within a value, as for the fast parser.
  void take_brackets_as_they_are() { suspect_events_ = false; }

  void skip(size_t bytes) { move_to(at_ + bytes); }
  void skip_space();

  /// From a quote to behind the next one.
  [[nodiscard]] ScanEnd skip_string(Flaws& flaws);

  /// Over a member's value of any kind. PyTorch 2.11 writes quotes in names unescaped: a quote that
  /// neither a bracket nor a comma and a key follow belongs to the string.
  [[nodiscard]] ScanEnd skip_value(Flaws& flaws);

 private:
  void move_to(size_t at);
  [[nodiscard]] ScanEnd skip_string_value(Flaws& flaws);
  [[nodiscard]] ScanEnd skip_container(Flaws& flaws);
  [[nodiscard]] ScanEnd skip_scalar();
  [[nodiscard]] bool value_ends();
  [[nodiscard]] bool key_stands_at(size_t at);
  [[nodiscard]] bool open_bracket(char bracket, Flaws& flaws);
  [[nodiscard]] bool close_bracket(char opening, Flaws& flaws);

  std::string_view text_;
  size_t at_;
  uint64_t visited_ = 0;
  bool seek_quotes_ = true;
  bool suspect_events_ = true;
  std::string open_;  // brackets
  char last_ = ':';   // the last bracket, comma or colon; '"' after a string
};

}  // namespace redline::trace

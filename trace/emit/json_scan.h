// The smallest pieces of JSON reading, for text that may be torn or wrong anywhere.
//
// FastEventParser reads the sound part of a trace; these functions read what it rejects, and the
// few values that are wanted out of an event's args. None recurses, throws or reads past the end.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace redline::trace {

constexpr size_t kTextEnds = std::string_view::npos;
/// U+FFFD, for what is no UTF-8.
constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

/// The first position from `at` that is no white space, or text.size().
[[nodiscard]] size_t skip_space(std::string_view text, size_t at);

/// The position behind the string that opens with the quote at text[at]; kTextEnds if it never
/// closes.
[[nodiscard]] size_t skip_string(std::string_view text, size_t at);

/// The position behind the value that starts at `at`; kTextEnds if the text ends first. Inside
/// objects and arrays only brackets and strings are looked at.
[[nodiscard]] size_t skip_value(std::string_view text, size_t at);

/// nlohmann/json reads values of any depth, but copies and writes them by recursion. No profiler
/// nests even a tenth of this.
constexpr size_t kDeepestJson = 500;

/// Whether the brackets of the sound value `json` are nested deeper than kDeepestJson.
[[nodiscard]] bool is_too_deep(std::string_view json);

/// `token` without its quotes, if it has them.
[[nodiscard]] std::string_view unquote(std::string_view token);

/// What a string token without its quotes means: escapes resolved, lone surrogates and broken UTF-8
/// replaced by U+FFFD, control characters kept.
/// Sets `*repaired` where bytes had to be replaced.
[[nodiscard]] std::string decode_string(std::string_view content, bool* repaired = nullptr);

/// Length of the well-formed UTF-8 sequence at the start of `text`, which is not empty; 0 if there
/// is none (Unicode 15, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF).
[[nodiscard]] inline size_t utf8_length(std::string_view text) {
  // The first byte tells how many follow, and what the second may be.
  struct Lead {
    uint8_t first, last, low, high;
    size_t length;
  };
  constexpr Lead kLeads[] = {{0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
                             {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3},
                             {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
                             {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4}};
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(text[at]); };
  if (byte(0) < 0x80) return 1;
  for (const Lead& lead : kLeads) {
    if (byte(0) < lead.first || byte(0) > lead.last) continue;
    if (text.size() < lead.length || byte(1) < lead.low || byte(1) > lead.high) return 0;
    for (size_t at = 2; at < lead.length; ++at) {
      if ((byte(at) & 0xC0) != 0x80) return 0;
    }
    return lead.length;
  }
  return 0;
}

/// A decimal number times 10^power, exactly, in integers: parse_scaled("12.3456", 3) == 12346 (half
/// away from zero). nullopt if it is no finite number or overflows.
[[nodiscard]] std::optional<int64_t> parse_scaled(std::string_view number, int power);

/// Calls visit(key, value token) for each member of the object `object`, keys without quotes; stops
/// where the object is not sound, or when `visit` returns false.
void for_each_member(std::string_view object,
                     const std::function<bool(std::string_view, std::string_view)>& visit);

/// The token of the value of `key` in the object `object` (not in nested ones), empty where absent.
[[nodiscard]] std::string_view find_value(std::string_view object, std::string_view key);

}  // namespace redline::trace

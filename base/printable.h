// Names in traces, files and commands may hold anything. A terminal obeys some characters, a
// browser and a window let others turn the text around them, and none of that can be seen.
#pragma once

#include <string>
#include <string_view>

namespace redline {

/// `text` with `mark` in place of each character that cannot be seen but does something (control
/// characters, line and paragraph separators, marks of writing direction, joiners, byte order
/// marks) and of each broken UTF-8 sequence.
[[nodiscard]] std::string printable(std::string_view text, std::string_view mark = "\ufffd");

}  // namespace redline

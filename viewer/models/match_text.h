// Whether a text has another in it, as people who type expect: letters match whatever their case.
#pragma once

#include <algorithm>
#include <string_view>

namespace redline::viewer {

/// Of ASCII letters only: names in traces are code.
[[nodiscard]] inline char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

[[nodiscard]] inline bool contains_text(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char a, char b) { return lower(a) == lower(b); }) != text.end();
}

}  // namespace redline::viewer

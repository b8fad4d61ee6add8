#include "trace/emit/json_scan.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace redline::trace {
namespace {

/// `code` encoded as `length` bytes of UTF-8, well-formed or not.
std::string encoded(uint32_t code, size_t length) {
  if (length == 1) return {static_cast<char>(code)};
  constexpr uint32_t kLead[] = {0, 0, 0xC0, 0xE0, 0xF0};
  std::string text(length, '\0');
  for (size_t at = length - 1; at > 0; --at, code >>= 6) {
    text[at] = static_cast<char>(0x80 | (code & 0x3F));
  }
  text[0] = static_cast<char>(kLead[length] | code);
  return text;
}

size_t shortest_length(uint32_t code) {
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

TEST(Utf8Length, TakesEachCodePointInItsShortestFormOnly) {
  for (uint32_t code = 0; code <= 0x1FFFFF; ++code) {
    const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
    const size_t shortest = shortest_length(code);
    for (size_t length = shortest; length <= 4; ++length) {
      const bool is_valid = length == shortest && !is_surrogate && code <= 0x10FFFF;
      ASSERT_EQ(utf8_length(encoded(code, length)), is_valid ? length : 0) << code << " " << length;
    }
  }
}

TEST(Utf8Length, NeedsAllItsBytes) {
  for (const uint32_t code : {0x80U, 0x7FFU, 0x800U, 0xFFFFU, 0x10000U, 0x10FFFFU}) {
    const std::string whole = encoded(code, shortest_length(code));
    EXPECT_EQ(utf8_length(whole + "x"), whole.size());
    for (size_t size = 1; size < whole.size(); ++size) {
      EXPECT_EQ(utf8_length(whole.substr(0, size)), 0U);
      EXPECT_EQ(utf8_length(whole.substr(0, size) + "x" + whole.substr(size)), 0U);
    }
  }
}

}  // namespace
}  // namespace redline::trace

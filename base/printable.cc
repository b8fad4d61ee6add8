#include "base/printable.h"

#include <cstdint>

namespace redline {
namespace {

struct Character {
  uint32_t code = 0;
  size_t length = 0;  ///< in bytes; 0 if the UTF-8 is broken
};

Character first_character(std::string_view text) {
  const auto first = static_cast<uint8_t>(text.front());
  if (first < 0x80) return {first, 1};
  const size_t length = first >= 0xC2 && first < 0xE0   ? 2
                        : first >= 0xE0 && first < 0xF0 ? 3
                        : first >= 0xF0 && first < 0xF5 ? 4
                                                        : 0;
  if (length == 0 || length > text.size()) return {};
  uint32_t code = first & (0x7FU >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if ((byte & 0xC0) != 0x80) return {};
    code = code << 6 | (byte & 0x3F);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xD800 && code < 0xE000;
  if (code < kSmallest[length] || code > 0x10FFFF || is_surrogate) return {};
  return {code, length};
}

// Unicode's categories Cc, Cf, Zl and Zp, as far as they are of use to deceive.
bool acts_unseen(uint32_t code) {
  const auto within = [code](uint32_t first, uint32_t last) {
    return code >= first && code <= last;
  };
  return code < ' ' || within(0x7F, 0x9F) || code == 0xAD || code == 0x61C ||
         within(0x200B, 0x200F) || within(0x2028, 0x202E) || within(0x2060, 0x206F) ||
         code == 0xFEFF || within(0xFFF9, 0xFFFB) || within(0xE0000, 0xE007F);
}

}  // namespace

std::string printable(std::string_view text, std::string_view mark) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character next = first_character(text);
    const size_t length = next.length == 0 ? 1 : next.length;
    out += next.length == 0 || acts_unseen(next.code) ? mark : text.substr(0, length);
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace redline

#include "trace/emit/text_buffer.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "trace/emit/json_scan.h"

namespace redline::trace {
namespace {

bool is_continuation(std::string_view text, size_t at, unsigned low = 0x80, unsigned high = 0xBF) {
  if (at >= text.size()) return false;
  const auto byte = static_cast<unsigned char>(text[at]);
  return byte >= low && byte <= high;
}

/// Bytes of the well-formed UTF-8 sequence at `at` (Unicode 15, table 3-7), or 0.
size_t utf8_length(std::string_view text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return is_continuation(text, at + 1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const unsigned low = lead == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = lead == 0xED ? 0x9F : 0xBF;
    return is_continuation(text, at + 1, low, high) && is_continuation(text, at + 2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const unsigned low = lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xF4 ? 0x8F : 0xBF;
    const bool valid = is_continuation(text, at + 1, low, high) && is_continuation(text, at + 2) &&
                       is_continuation(text, at + 3);
    return valid ? 4 : 0;
  }
  return 0;
}

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x7F && c != '"' && c != '\\';
}

}  // namespace

void TextBuffer::grow(size_t count) {
  const size_t capacity = std::max<size_t>({4096, capacity_ * 2, size_ + count});
  auto bytes = std::make_unique_for_overwrite<char[]>(capacity);
  if (size_ > 0) std::memcpy(bytes.get(), bytes_.get(), size_);
  bytes_ = std::move(bytes);
  capacity_ = capacity;
}

void TextBuffer::number(double value) {
  char digits[32];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
  const std::string_view written(digits, static_cast<size_t>(end - digits));
  std::isfinite(value) ? text(written) : quoted(written);
}

void TextBuffer::quoted(std::string_view value) {
  literal("\"");
  size_t at = 0;
  while (at < value.size()) {
    const auto plain_end = static_cast<size_t>(
        std::find_if_not(value.begin() + static_cast<ptrdiff_t>(at), value.end(), is_plain) -
        value.begin());
    text(value.substr(at, plain_end - at));
    at = plain_end;
    if (at == value.size()) break;
    const char c = value[at];
    if (c == '"') {
      literal("\\\"");
    } else if (c == '\\') {
      literal("\\\\");
    } else if (const auto byte = static_cast<unsigned char>(c); byte < 0x20 || byte == 0x7F) {
      static constexpr char kHex[] = "0123456789abcdef";
      const char escape[] = {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
      text({escape, sizeof(escape)});
    } else if (const size_t length = utf8_length(value, at); length > 0) {
      text(value.substr(at, length));
      at += length - 1;
    } else {
      text(kReplacementCharacter);
    }
    ++at;
  }
  literal("\"");
}

std::string json_string(std::string_view text) {
  TextBuffer buffer;
  buffer.quoted(text);
  return std::string(buffer.view());
}

}  // namespace redline::trace

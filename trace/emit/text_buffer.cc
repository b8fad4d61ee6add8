#include "trace/emit/text_buffer.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "trace/emit/json_scan.h"

namespace redline::trace {
namespace {

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
    } else if (const size_t length = utf8_length(value.substr(at)); length > 0) {
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

#include "trace/emit/json_scan.h"

#include <algorithm>

namespace redline::trace {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// The position behind a number, a literal or whatever else stands without quotes.
size_t skip_scalar(std::string_view text, size_t at) {
  const size_t end = text.find_first_of(",]}:{[\" \n\r\t", at);
  return end == kTextEnds ? text.size() : end;
}

size_t skip_brackets(std::string_view text, size_t at) {
  size_t depth = 0;
  while (at < text.size()) {
    at = text.find_first_of("{}[]\"", at);
    if (at == kTextEnds) return kTextEnds;
    const char c = text[at];
    if (c == '"') {
      at = skip_string(text, at);
      if (at == kTextEnds) return kTextEnds;
      continue;
    }
    ++at;
    if (c == '{' || c == '[') {
      ++depth;
    } else if (--depth == 0) {
      return at;
    }
  }
  return kTextEnds;
}

void append_utf8(std::string& out, uint32_t code) {
  const auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

std::optional<uint32_t> parse_hex4(std::string_view text, size_t at) {
  if (at + 4 > text.size()) return std::nullopt;
  uint32_t code = 0;
  for (const char c : text.substr(at, 4)) {
    const uint32_t digit = c >= '0' && c <= '9'   ? static_cast<uint32_t>(c - '0')
                           : c >= 'a' && c <= 'f' ? static_cast<uint32_t>(c - 'a' + 10)
                           : c >= 'A' && c <= 'F' ? static_cast<uint32_t>(c - 'A' + 10)
                                                  : 16;
    if (digit == 16) return std::nullopt;
    code = code * 16 + digit;
  }
  return code;
}

// text[at] stands behind "\u". Appends the character, returns the position behind it.
size_t decode_unicode_escape(std::string_view text, size_t at, std::string& out, bool& repaired) {
  const auto high = parse_hex4(text, at);
  if (!high) {
    repaired = true;
    out += kReplacementCharacter;
    return at;
  }
  at += 4;
  if (*high < 0xD800 || *high > 0xDFFF) {
    append_utf8(out, *high);
    return at;
  }
  if (*high < 0xDC00 && text.substr(at, 2) == "\\u") {
    const auto low = parse_hex4(text, at + 2);
    if (low && *low >= 0xDC00 && *low <= 0xDFFF) {
      append_utf8(out, 0x10000 + ((*high - 0xD800) << 10) + (*low - 0xDC00));
      return at + 6;
    }
  }
  repaired = true;
  out += kReplacementCharacter;
  return at;
}

size_t decode_escape(std::string_view text, size_t at, std::string& out, bool& repaired) {
  if (at >= text.size()) return at;
  constexpr std::string_view kFrom = "bfnrt", kTo = "\b\f\n\r\t";
  // A byte of UTF-8 cannot be escaped, so it is read as ordinary text.
  if (static_cast<uint8_t>(text[at]) >= 0x80) return at;
  const char c = text[at++];
  if (c == 'u') return decode_unicode_escape(text, at, out, repaired);
  const size_t index = kFrom.find(c);
  out.push_back(index == kTextEnds ? c : kTo[index]);
  return at;
}

struct Decimal {
  bool negative = false;
  __int128 mantissa = 0;
  int64_t exponent = 0;  // power of ten
};

constexpr __int128 kMantissaLimit = static_cast<__int128>(1) << 90;

std::optional<int64_t> parse_exponent(std::string_view digits) {
  bool negative = false;
  if (!digits.empty() && (digits[0] == '+' || digits[0] == '-')) {
    negative = digits[0] == '-';
    digits.remove_prefix(1);
  }
  if (digits.empty()) return std::nullopt;
  int64_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    value = std::min<int64_t>(value * 10 + (c - '0'), 100000);
  }
  return negative ? -value : value;
}

std::optional<Decimal> parse_decimal(std::string_view number) {
  Decimal result;
  size_t at = 0;
  if (at < number.size() && (number[at] == '-' || number[at] == '+')) {
    result.negative = number[at++] == '-';
  }
  bool any_digit = false, in_fraction = false;
  for (; at < number.size(); ++at) {
    const char c = number[at];
    if (c == '.' && !in_fraction) {
      in_fraction = true;
    } else if (c >= '0' && c <= '9') {
      any_digit = true;
      if (result.mantissa >= kMantissaLimit) {  // digits that no int64_t can hold any more
        if (!in_fraction) ++result.exponent;
        continue;
      }
      result.mantissa = result.mantissa * 10 + (c - '0');
      if (in_fraction) --result.exponent;
    } else {
      break;
    }
  }
  if (!any_digit) return std::nullopt;
  if (at < number.size()) {
    if (number[at] != 'e' && number[at] != 'E') return std::nullopt;
    const auto exponent = parse_exponent(number.substr(at + 1));
    if (!exponent) return std::nullopt;
    result.exponent += *exponent;
  }
  return result;
}

}  // namespace

size_t skip_space(std::string_view text, size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

size_t skip_string(std::string_view text, size_t at) {
  ++at;
  while ((at = text.find_first_of("\"\\", at)) != kTextEnds) {
    if (text[at] == '"') return at + 1;
    at += 2;  // a backslash and what it escapes
  }
  return kTextEnds;
}

size_t skip_value(std::string_view text, size_t at) {
  if (at >= text.size()) return kTextEnds;
  switch (text[at]) {
    case '"':
      return skip_string(text, at);
    case '{':
    case '[':
      return skip_brackets(text, at);
    default:
      return skip_scalar(text, at);
  }
}

std::string_view unquote(std::string_view token) {
  if (token.size() >= 2 && token.front() == '"' && token.back() == '"') {
    return token.substr(1, token.size() - 2);
  }
  return token;
}

bool is_too_deep(std::string_view json) {
  size_t depth = 0;
  for (size_t at = 0; at < json.size(); ++at) {
    if (json[at] == '"') {
      at = skip_string(json, at);
      if (at == kTextEnds) return false;
      --at;
    }
    if ((json[at] == '[' || json[at] == '{') && ++depth > kDeepestJson) return true;
    if (json[at] == ']' || json[at] == '}') --depth;
  }
  return false;
}

std::string decode_string(std::string_view content, bool* repaired) {
  std::string out;
  bool replaced = false;
  out.reserve(content.size());
  for (size_t at = 0; at < content.size();) {
    if (content[at] == '\\') {
      at = decode_escape(content, at + 1, out, replaced);
    } else if (const size_t length = utf8_length(content.substr(at)); length > 0) {
      out += content.substr(at, length);
      at += length;
    } else {
      replaced = true;
      out += kReplacementCharacter;
      ++at;
    }
  }
  if (repaired != nullptr && replaced) *repaired = true;
  return out;
}

std::optional<int64_t> parse_scaled(std::string_view number, int power) {
  auto decimal = parse_decimal(number);
  if (!decimal) return std::nullopt;
  __int128 value = decimal->mantissa;
  if (value == 0) return 0;
  int64_t exponent = decimal->exponent + power;
  for (; exponent > 0; --exponent) {
    value *= 10;
    if (value > INT64_MAX) return std::nullopt;
  }
  for (; exponent < -1 && value > 0; ++exponent) value /= 10;
  if (exponent == -1) value = (value + 5) / 10;
  if (value > INT64_MAX) return std::nullopt;
  return static_cast<int64_t>(decimal->negative ? -value : value);
}

void for_each_member(std::string_view object,
                     const std::function<bool(std::string_view, std::string_view)>& visit) {
  size_t at = skip_space(object, 0);
  if (at >= object.size() || object[at] != '{') return;
  for (++at; at < object.size();) {
    while (at < object.size() && (is_space(object[at]) || object[at] == ',')) ++at;
    if (at >= object.size() || object[at] != '"') return;
    const size_t key_end = skip_string(object, at);
    if (key_end == kTextEnds) return;
    const std::string_view key = object.substr(at + 1, key_end - at - 2);
    at = skip_space(object, key_end);
    if (at >= object.size() || object[at] != ':') return;
    at = skip_space(object, at + 1);
    const size_t end = skip_value(object, at);
    if (end == kTextEnds || end == at) return;
    if (!visit(key, object.substr(at, end - at))) return;
    at = end;
  }
}

std::string_view find_value(std::string_view object, std::string_view key) {
  std::string_view found;
  for_each_member(object, [&](std::string_view name, std::string_view value) {
    if (name == key) found = value;
    return found.empty();
  });
  return found;
}

}  // namespace redline::trace

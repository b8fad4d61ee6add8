#include "trace/read/args.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/integer.h"
#include "base/text_search.h"
#include "trace/emit/json_scan.h"
#include "trace/read/event_parser.h"
#include "trace/read/simd_block.h"

namespace redline::trace {
namespace {

constexpr auto kIsSpace = byte_set(" \n\r\t");
constexpr auto kEndsValue = byte_set(" \n\r\t,}]");
constexpr auto kOpensValue = byte_set("\"{[");

constexpr size_t kLongestStart = 4096;

// Bytes of `word` that equal `byte` have their top bit set; the lowest such bit is exact.
uint64_t bytes_equal(uint64_t word, char byte) {
  constexpr uint64_t kOnes = 0x0101010101010101, kTops = 0x8080808080808080;
  const uint64_t zero_where_equal = word ^ (kOnes * static_cast<uint8_t>(byte));
  return (zero_where_equal - kOnes) & ~zero_where_equal & kTops;
}

// The next quote from `at` on. The first 16 bytes, enough for most keys, are searched without a
// call.
size_t find_quote(std::string_view text, size_t at) {
  if constexpr (std::endian::native == std::endian::little) {
    for (const size_t end = at + 16; at < end && at + 8 <= text.size(); at += 8) {
      uint64_t word = 0;
      std::memcpy(&word, text.data() + at, sizeof word);
      const uint64_t hits = bytes_equal(word, '"');
      if (hits != 0) return at + static_cast<size_t>(std::countr_zero(hits)) / 8;
    }
  }
  return text.find('"', at);
}

// Like skip_string(), but faster: a string ends at the first quote behind an even number of
// backslashes.
size_t skip_plain_string(std::string_view text, size_t at) {
  const size_t begin = at + 1;
  for (size_t quote = find_quote(text, begin); quote != kTextEnds;
       quote = find_quote(text, quote + 1)) {
    size_t escapes = quote;
    while (escapes > begin && text[escapes - 1] == '\\') --escapes;
    if ((quote - escapes) % 2 == 0) return quote + 1;
  }
  return kTextEnds;
}

// Walks over the members of an object without a callback.
class Members {
 public:
  Members(std::string_view text, size_t open) : text_(text), at_(open + 1) {}

  // Moves to the next member; false behind the last one, or if the text is not sound.
  bool next() {
    while (at_ < text_.size() && (is_in(kIsSpace, text_[at_]) || text_[at_] == ',')) ++at_;
    if (at_ >= text_.size() || text_[at_] != '"') return false;
    const size_t end = skip_plain_string(text_, at_);
    if (end == kTextEnds) return false;
    key_ = text_.substr(at_ + 1, end - at_ - 2);
    at_ = end;
    while (at_ < text_.size() && is_in(kIsSpace, text_[at_])) ++at_;
    if (at_ >= text_.size() || text_[at_] != ':') return false;
    ++at_;
    while (at_ < text_.size() && is_in(kIsSpace, text_[at_])) ++at_;
    return at_ < text_.size();
  }

  [[nodiscard]] std::string_view key() const { return key_; }
  [[nodiscard]] size_t key_at() const { return static_cast<size_t>(key_.data() - text_.data()); }
  [[nodiscard]] size_t value_at() const { return at_; }

  // Moves behind the value and returns it; empty if the text ends in the value or right behind it.
  std::string_view take_value() {
    const size_t begin = at_;
    const char first = text_[begin];
    at_ = first == '"'                   ? skip_plain_string(text_, begin)
          : first == '{' || first == '[' ? skip_brackets(begin)
                                         : skip_scalar(begin);
    if (at_ >= text_.size()) {  // at_ may be kTextEnds
      at_ = text_.size();
      return {};
    }
    return text_.substr(begin, at_ - begin);
  }

 private:
  [[nodiscard]] size_t skip_scalar(size_t at) const {
    while (at < text_.size() && !is_in(kEndsValue, text_[at])) ++at;
    return at;
  }

  [[nodiscard]] size_t skip_brackets(size_t at) const {
    size_t depth = 0;
    while (at < text_.size()) {
      const char c = text_[at];
      if (c == '"') {
        at = skip_plain_string(text_, at);
        if (at == kTextEnds) return kTextEnds;
        continue;
      }
      ++at;
      if (c == '{' || c == '[') ++depth;
      if ((c == '}' || c == ']') && --depth == 0) return at;
    }
    return kTextEnds;
  }

  std::string_view text_;
  size_t at_;
  std::string_view key_;
};

// Finds values in args as profilers write them: without inner objects and without escapes. So
// quotes stand in pairs, and the text between two of them in front of a colon is a key.
class FlatArgs {
 public:
  FlatArgs(std::string_view text, std::span<const std::string_view> keys,
           std::span<std::string_view> values)
      : text_(text), keys_(keys), values_(values), missing_(keys.size()) {}

  // `open` is the position of the object's brace. False if the args are not of this form; some
  // values may then be set already.
  bool find(size_t open) {
    bool in_string = false;
    for (size_t at = open + 1; at + kBlockBytes <= text_.size(); at += kBlockBytes) {
      const baseline::Block block(text_.data() + at);
      const uint64_t ends = block.equal('}');
      const uint64_t inside = ends == 0 ? ~uint64_t{0} : (ends & -ends) - 1;
      if (((block.equal('{') | block.equal('\\')) & inside) != 0) return false;
      for (uint64_t quotes = block.equal('"') & inside; quotes != 0; quotes &= quotes - 1) {
        const size_t quote = at + static_cast<size_t>(std::countr_zero(quotes));
        if (!in_string && !read_if_key(quote + 1)) return false;
        if (missing_ == 0) return true;
        in_string = !in_string;
      }
      if (ends != 0) return !in_string;  // false: the brace is inside a string
    }
    return false;
  }

 private:
  static constexpr size_t kBlockBytes = 64;

  bool read_if_key(size_t begin) {
    for (size_t i = 0; i < keys_.size(); ++i) {
      const std::string_view key = keys_[i];
      if (!values_[i].empty() || !begins_with(begin, key)) continue;
      const size_t end = begin + key.size();
      if (end < text_.size() && text_[end] == '"') return take_value(i, end + 1);
    }
    return true;
  }

  // Most keys differ in their first character.
  [[nodiscard]] bool begins_with(size_t begin, std::string_view key) const {
    return begin < text_.size() && text_[begin] == key.front() &&
           text_.substr(begin, key.size()) == key;
  }

  // Takes only scalars.
  bool take_value(size_t index, size_t at) {
    while (at < text_.size() && is_in(kIsSpace, text_[at])) ++at;
    if (at >= text_.size() || text_[at] != ':') return false;
    ++at;
    while (at < text_.size() && is_in(kIsSpace, text_[at])) ++at;
    const size_t begin = at;
    while (at < text_.size() && !is_in(kEndsValue, text_[at])) ++at;
    if (at >= text_.size() || begin == at || is_in(kOpensValue, text_[begin])) return false;
    values_[index] = text_.substr(begin, at - begin);
    --missing_;
    return true;
  }

  std::string_view text_;
  std::span<const std::string_view> keys_;
  std::span<std::string_view> values_;
  size_t missing_;
};

void find_one_by_one(std::string_view text, size_t open, std::span<const std::string_view> keys,
                     std::span<std::string_view> values) {
  size_t missing = keys.size();
  for (Members args(text, open); missing > 0 && args.next();) {
    const auto key = std::ranges::find(keys, args.key());
    const std::string_view value = args.take_value();
    if (value.empty()) return;
    if (key == keys.end()) continue;
    std::string_view& found = values[static_cast<size_t>(key - keys.begin())];
    if (!found.empty()) continue;
    found = value;
    --missing;
  }
}

// Where the value of "args" begins; kTextEnds if there is none. `start` is the text of an earlier
// event before its "ts", which has no "args"; if this event begins the same, the search goes on
// behind. Otherwise `start` becomes the start of this event.
size_t find_object(std::string& start, std::string_view text) {
  const bool is_known = !start.empty() && text.substr(0, start.size()) == start;
  for (Members event(text, is_known ? start.size() - 1 : 0); event.next(); event.take_value()) {
    if (event.key() == "args") return event.value_at();
    if (!is_known && event.key() == "ts" && event.key_at() <= kLongestStart) {
      start.assign(text.substr(0, event.key_at() - 1));
    }
  }
  return kTextEnds;
}

void find_behind(std::string& start, std::string_view text, std::span<const std::string_view> keys,
                 std::span<std::string_view> values) {
  std::ranges::fill(values, std::string_view());
  if (text.empty() || text[0] != '{') return;
  const size_t open = find_object(start, text);
  if (open == kTextEnds || text[open] != '{') return;
  if (FlatArgs(text, keys, values).find(open)) return;
  std::ranges::fill(values, std::string_view());
  find_one_by_one(text, open, keys, values);
}

}  // namespace

void find_args(std::string_view text, std::span<const std::string_view> keys,
               std::span<std::string_view> values) {
  std::string no_start;
  find_behind(no_start, text, keys, values);
}

void ArgsScanner::find(std::string_view text, size_t kind, std::span<const std::string_view> keys,
                       std::span<std::string_view> values) {
  find_behind(starts_[kind % starts_.size()], text, keys, values);
}

std::optional<int64_t> to_integer(std::string_view value) {
  const std::string_view digits = unquote(value);
  const auto number = parse_integer(digits);
  return number ? number : parse_scaled(digits, 0);
}

std::optional<double> to_number(std::string_view value) {
  const std::string_view digits = unquote(value);
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

Args::Args(std::string_view event_text) : object_(scan_event(event_text, 0).event.args) {}

std::string_view Args::raw(std::string_view key) const { return find_value(object_, key); }

std::optional<int64_t> Args::integer(std::string_view key) const {
  return parse_scaled(unquote(raw(key)), 0);
}

std::string Args::text(std::string_view key) const { return decode_string(unquote(raw(key))); }

}  // namespace redline::trace

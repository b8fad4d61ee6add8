// Walks over the sound JSON of an event without looking at what nobody reads on load.
//
// Each function moves behind what it is named after, or returns false where the text is not what
// Kineto or Chrome would write; what to do then is the tolerant scanner's business.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trace/read/event.h"
#include "trace/read/simd_block.h"

namespace redline::trace::REDLINE_SIMD {

class SoundEventScanner {
 public:
  SoundEventScanner(const char* begin, const char* end) : at_(begin), end_(end) {}

  [[nodiscard]] const char* at() const { return at_; }
  [[nodiscard]] bool ended() const { return at_ >= end_; }

  /// Whether nothing was read behind the end. If something was, the chunk's cut is wrong.
  [[nodiscard]] bool is_inside() const { return at_ <= end_; }

  void skip_space() {
    while (at_ < end_ && is_space(*at_)) ++at_;
  }

  bool skip(char expected) {
    if (*at_ != expected) return false;
    ++at_;
    return true;
  }

  /// Any value; `token` is as it stands in the text.
  bool value(std::string_view& token) {
    const char* const begin = at_;
    if (!skip_value()) return false;
    token = {begin, static_cast<size_t>(at_ - begin)};
    return true;
  }

  /// A time as Kineto writes it, "1712195495519689.047" or "63": up to 16 digits, then nothing, or
  /// a point and three more. Eight bytes before it must be readable. The caller must look at what
  /// stands behind it. Returns false, and does not move, if it is anything else or lies past 2042.
  bool kineto_time(std::string_view& token, int64_t& time_ns) {
    const uint64_t digits = Block(at_).digits();
    if (~digits == 0) return false;
    const auto whole = static_cast<size_t>(__builtin_ctzll(~digits));
    if (whole == 0 || whole > 16) return false;
    uint64_t number = digits_before(at_ + whole, whole < 8 ? whole : 8);
    if (whole > 8) number += digits_before(at_ + whole - 8, whole - 8) * 100'000'000;
    if (number > kLargestMicroseconds) return false;
    size_t bytes = whole;
    number *= 1000;
    if (at_[whole] == '.') {
      if ((digits >> (whole + 1) & 15) != 7) return false;
      const char* const part = at_ + whole + 1;
      number += static_cast<uint64_t>((part[0] - '0') * 100 + (part[1] - '0') * 10 + part[2] - '0');
      bytes += 4;
    }
    token = {at_, bytes};
    time_ns = static_cast<int64_t>(number);
    at_ += bytes;
    return true;
  }

  /// A whole event, its members in any order.
  bool event(RawEvent& event) {
    if (!skip('{')) return false;
    skip_space();
    if (skip('}')) return true;
    do {
      skip_space();
      if (!member(event)) return false;
      skip_space();
    } while (skip(','));
    return skip('}') && at_ <= end_;
  }

  /// Steps over the bytes `fixed` if they stand here, else returns false. `fixed` is padded to
  /// whole blocks.
  bool skip_fixed(const char* fixed, size_t bytes) {
    const char* at = at_;
    size_t left = bytes;
    for (; left > kBlockBytes; left -= kBlockBytes) {
      if (~Block(at).equal(Block(fixed)) != 0) return false;
      at += kBlockBytes;
      fixed += kBlockBytes;
    }
    const uint64_t wanted = ~uint64_t{0} >> (kBlockBytes - left);
    if ((~Block(at).equal(Block(fixed)) & wanted) != 0) return false;
    at_ += bytes;
    return true;
  }

 private:
  static constexpr size_t kBlockBytes = 64;
  // The limit holds for ts and for dur, so that no sum of them and a base time overflows.
  static constexpr uint64_t kLargestMicroseconds = INT64_MAX / 4 / 1000;

  // The number of the one to eight digits before `end`: pairs of digits, then pairs of pairs, then
  // both halves, each in one multiplication.
  static uint64_t digits_before(const char* end, size_t count) {
    uint64_t text;
    __builtin_memcpy(&text, end - 8, 8);
    const uint64_t kept = ~uint64_t{0} << 8 * (8 - count);
    const uint64_t values = (text & kept) - (0x3030303030303030 & kept);
    const uint64_t pairs = values * 10 + (values >> 8);
    return ((pairs & 0x000000FF000000FF) * (100 + (uint64_t{1'000'000} << 32)) +
            ((pairs >> 16) & 0x000000FF000000FF) * (1 + (uint64_t{10'000} << 32))) >>
           32;
  }

  static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

  bool member(RawEvent& event) {
    const char* const key = at_ + 1;
    if (!string()) return false;
    std::string_view* const field = event_field(event, {key, static_cast<size_t>(at_ - 1 - key)});
    skip_space();
    if (!skip(':')) return false;
    skip_space();
    std::string_view token;
    if (!value(token)) return false;
    if (field != nullptr && (field != &event.args || token[0] == '{')) *field = token;
    return true;
  }

  bool skip_value() {
    switch (*at_) {
      case '"':
        return string();
      case '{':
        return nested('{', '}');
      case '[':
        return nested('[', ']');
      default:
        return scalar();
    }
  }

  bool string() {
    const char* const begin = at_;
    if (!skip('"')) return false;
    uint64_t high = 0;
    while (at_ < end_) {
      const Block block(at_);
      const uint64_t stops = block.equal('"') | block.equal('\\') | block.below(' ');
      if (stops == 0) {
        high |= block.high_bits();
        at_ += kBlockBytes;
        continue;
      }
      const int length = __builtin_ctzll(stops);
      high |= block.high_bits() & ((uint64_t{1} << length) - 1);
      at_ += length;
      if (*at_ == '"') {
        ++at_;
        return at_ <= end_ && (high == 0 || is_utf8(begin));
      }
      if (*at_ != '\\') return false;  // a raw control character
      at_ += 2;
    }
    return false;
  }

  // A number, true, false or null: whatever ASCII stands here up to the next separator. Where a
  // separator is missing, this is the next key or value.
  bool scalar() {
    const char* const begin = at_;
    uint64_t stops = 0, wrong = 0;
    for (; stops == 0 && at_ < end_; at_ += kBlockBytes) {
      const Block block(at_);
      stops = block.below('!') | block.equal(',') | block.equal('}') | block.equal(']');
      const uint64_t starts =
          block.equal('"') | block.equal(':') | block.equal('{') | block.equal('[');
      wrong |= (block.high_bits() | starts) & (stops - 1) & ~stops;  // before the first stop
    }
    if (stops == 0 || wrong != 0) return false;
    at_ -= kBlockBytes - static_cast<size_t>(__builtin_ctzll(stops));
    return at_ > begin && at_ < end_;
  }

  // An object or an array. Only its own kind of bracket is counted, and none inside strings.
  bool nested(char open, char close) {
    const char* const begin = at_;
    uint64_t in_string = 0;  // all ones while a string goes on from block to block
    uint64_t high = 0;
    int depth = 0;
    bool escaped = false;  // the first byte of the block comes after a backslash
    for (; at_ < end_; at_ += kBlockBytes) {
      const Block block(at_);
      uint64_t quotes = block.equal('"');
      const uint64_t backslashes = block.equal('\\');
      if (backslashes != 0 || escaped) quotes &= ~escaped_bytes(backslashes, escaped);
      const uint64_t strings = prefix_xor(quotes) ^ in_string;
      const uint64_t controls = block.below(' ') & strings;
      high |= block.high_bits();
      uint64_t brackets = (block.equal(open) | block.equal(close)) & ~strings;
      for (; brackets != 0; brackets &= brackets - 1) {
        const int index = __builtin_ctzll(brackets);
        depth += at_[index] == open ? 1 : -1;
        if (depth > 0) continue;
        const uint64_t inside = (uint64_t{1} << index) - 1;
        at_ += index + 1;
        return (controls & inside) == 0 && at_ <= end_ && (high == 0 || is_utf8(begin));
      }
      if (controls != 0) return false;
      in_string = static_cast<uint64_t>(static_cast<int64_t>(strings) >> 63);
    }
    return false;
  }

  // The bytes behind an odd run of backslashes; they are rare, so one by one.
  static uint64_t escaped_bytes(uint64_t backslashes, bool& escaped) {
    uint64_t found = 0;
    for (int i = 0; i < 64; ++i) {
      const bool is_backslash = (backslashes >> i & 1) != 0;
      if (escaped) found |= uint64_t{1} << i;
      escaped = is_backslash && !escaped;
    }
    return found;
  }

  [[nodiscard]] bool is_utf8(const char* begin) const {
    return simdjson::validate_utf8(begin, static_cast<size_t>(at_ - begin));
  }

  const char* at_;
  const char* end_;
};

}  // namespace redline::trace::REDLINE_SIMD

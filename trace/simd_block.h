// Blocks of text compared with one character at once: bit i of a result stands for byte i.
//
// SSE2 is part of every x86-64 and enough here; other processors get the same from plain loops.
#pragma once

#include <cstddef>
#include <cstdint>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace redline::trace {

class Block16 {
 public:
  static constexpr size_t kBytes = 16;

#ifdef __SSE2__
  explicit Block16(const char* at)
      : bytes_(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))) {}

  [[nodiscard]] uint32_t equal(char c) const {
    return mask(_mm_cmpeq_epi8(bytes_, _mm_set1_epi8(c)));
  }
  [[nodiscard]] uint32_t equal(const Block16& other) const {
    return mask(_mm_cmpeq_epi8(bytes_, other.bytes_));
  }
  /// Bytes below `c` as unsigned numbers; `c` is not 0.
  [[nodiscard]] uint32_t below(char c) const {
    const __m128i largest = _mm_set1_epi8(static_cast<char>(c - 1));
    return mask(_mm_cmpeq_epi8(_mm_min_epu8(bytes_, largest), bytes_));
  }
  [[nodiscard]] uint32_t high_bits() const { return mask(bytes_); }

 private:
  static uint32_t mask(__m128i bytes) { return static_cast<uint32_t>(_mm_movemask_epi8(bytes)); }

  __m128i bytes_;
#else
  explicit Block16(const char* at) : at_(at) {}

  [[nodiscard]] uint32_t equal(char c) const {
    return mask([c](char byte) { return byte == c; });
  }
  [[nodiscard]] uint32_t equal(const Block16& other) const {
    uint32_t bits = 0;
    for (size_t i = 0; i < kBytes; ++i) bits |= uint32_t{at_[i] == other.at_[i]} << i;
    return bits;
  }
  [[nodiscard]] uint32_t below(char c) const {
    return mask([c](char byte) { return static_cast<uint8_t>(byte) < static_cast<uint8_t>(c); });
  }
  [[nodiscard]] uint32_t high_bits() const {
    return mask([](char byte) { return static_cast<uint8_t>(byte) >= 0x80; });
  }

 private:
  template <typename Test>
  [[nodiscard]] uint32_t mask(Test test) const {
    uint32_t bits = 0;
    for (size_t i = 0; i < kBytes; ++i) bits |= static_cast<uint32_t>(test(at_[i])) << i;
    return bits;
  }

  const char* at_;
#endif
};

class Block64 {
 public:
  static constexpr size_t kBytes = 64;

  explicit Block64(const char* at)
      : parts_{Block16(at), Block16(at + 16), Block16(at + 32), Block16(at + 48)} {}

  [[nodiscard]] uint64_t equal(char c) const {
    return join([c](const Block16& part) { return part.equal(c); });
  }
  [[nodiscard]] uint64_t below(char c) const {
    return join([c](const Block16& part) { return part.below(c); });
  }
  [[nodiscard]] uint64_t high_bits() const {
    return join([](const Block16& part) { return part.high_bits(); });
  }

 private:
  template <typename Test>
  [[nodiscard]] uint64_t join(Test test) const {
    return test(parts_[0]) | uint64_t{test(parts_[1])} << 16 | uint64_t{test(parts_[2])} << 32 |
           uint64_t{test(parts_[3])} << 48;
  }

  Block16 parts_[4];
};

/// Bit i is the parity of bits 0 to i: what lies from an opening quote up to its closing one.
[[nodiscard]] inline uint64_t prefix_xor(uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

}  // namespace redline::trace

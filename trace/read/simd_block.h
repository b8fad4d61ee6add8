// 64 bytes of text compared with one character at once: bit i of a result stands for byte i.
//
// Compiled once for each instruction set (event_parser.h), each time into a namespace of its own:
// REDLINE_SIMD. Without AVX2, four blocks of SSE2 or a plain loop do the same.
#pragma once

#include <cstdint>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#ifndef REDLINE_SIMD
#define REDLINE_SIMD baseline
#endif

namespace redline::trace::REDLINE_SIMD {

#if defined(__AVX512BW__)

class Block {
 public:
  explicit Block(const char* at) : bytes_(_mm512_loadu_si512(at)) {}

  [[nodiscard]] uint64_t equal(char c) const {
    return _mm512_cmpeq_epi8_mask(bytes_, _mm512_set1_epi8(c));
  }
  [[nodiscard]] uint64_t equal(const Block& other) const {
    return _mm512_cmpeq_epi8_mask(bytes_, other.bytes_);
  }
  /// Bytes below `c` as unsigned numbers; `c` is not 0.
  [[nodiscard]] uint64_t below(char c) const {
    return _mm512_cmplt_epu8_mask(bytes_, _mm512_set1_epi8(c));
  }
  [[nodiscard]] uint64_t high_bits() const { return _mm512_movepi8_mask(bytes_); }
  /// Bytes from '0' to '9'.
  [[nodiscard]] uint64_t digits() const {
    return _mm512_cmplt_epu8_mask(_mm512_sub_epi8(bytes_, _mm512_set1_epi8('0')),
                                  _mm512_set1_epi8(10));
  }

 private:
  __m512i bytes_;
};

#else

#if defined(__AVX2__)

class Part {
 public:
  static constexpr unsigned kBytes = 32;

  Part() = default;
  explicit Part(const char* at)
      : bytes_(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at))) {}

  [[nodiscard]] uint64_t equal(char c) const {
    return mask(_mm256_cmpeq_epi8(bytes_, _mm256_set1_epi8(c)));
  }
  [[nodiscard]] uint64_t equal(const Part& other) const {
    return mask(_mm256_cmpeq_epi8(bytes_, other.bytes_));
  }
  [[nodiscard]] uint64_t below(char c) const {
    const __m256i largest = _mm256_set1_epi8(static_cast<char>(c - 1));
    return mask(_mm256_cmpeq_epi8(_mm256_min_epu8(bytes_, largest), bytes_));
  }
  [[nodiscard]] uint64_t high_bits() const { return mask(bytes_); }

 private:
  static uint64_t mask(__m256i bytes) { return static_cast<uint32_t>(_mm256_movemask_epi8(bytes)); }

  __m256i bytes_;
};

#elif defined(__SSE2__)

class Part {
 public:
  static constexpr unsigned kBytes = 16;

  Part() = default;
  explicit Part(const char* at) : bytes_(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))) {}

  [[nodiscard]] uint64_t equal(char c) const {
    return mask(_mm_cmpeq_epi8(bytes_, _mm_set1_epi8(c)));
  }
  [[nodiscard]] uint64_t equal(const Part& other) const {
    return mask(_mm_cmpeq_epi8(bytes_, other.bytes_));
  }
  [[nodiscard]] uint64_t below(char c) const {
    const __m128i largest = _mm_set1_epi8(static_cast<char>(c - 1));
    return mask(_mm_cmpeq_epi8(_mm_min_epu8(bytes_, largest), bytes_));
  }
  [[nodiscard]] uint64_t high_bits() const { return mask(bytes_); }

 private:
  static uint64_t mask(__m128i bytes) { return static_cast<uint32_t>(_mm_movemask_epi8(bytes)); }

  __m128i bytes_;
};

#else

class Part {
 public:
  static constexpr unsigned kBytes = 1;

  Part() = default;
  explicit Part(const char* at) : byte_(static_cast<uint8_t>(*at)) {}

  [[nodiscard]] uint64_t equal(char c) const { return byte_ == static_cast<uint8_t>(c); }
  [[nodiscard]] uint64_t equal(const Part& other) const { return byte_ == other.byte_; }
  [[nodiscard]] uint64_t below(char c) const { return byte_ < static_cast<uint8_t>(c); }
  [[nodiscard]] uint64_t high_bits() const { return byte_ >> 7; }

 private:
  uint8_t byte_;
};

#endif

class Block {
 public:
  explicit Block(const char* at) {
    for (unsigned i = 0; i < kParts; ++i) parts_[i] = Part(at + i * Part::kBytes);
  }

  [[nodiscard]] uint64_t equal(char c) const {
    return join([&](unsigned i) { return parts_[i].equal(c); });
  }
  [[nodiscard]] uint64_t equal(const Block& other) const {
    return join([&](unsigned i) { return parts_[i].equal(other.parts_[i]); });
  }
  /// Bytes below `c` as unsigned numbers; `c` is not 0.
  [[nodiscard]] uint64_t below(char c) const {
    return join([&](unsigned i) { return parts_[i].below(c); });
  }
  [[nodiscard]] uint64_t high_bits() const {
    return join([&](unsigned i) { return parts_[i].high_bits(); });
  }
  /// Bytes from '0' to '9'.
  [[nodiscard]] uint64_t digits() const { return below('9' + 1) & ~below('0'); }

 private:
  static constexpr unsigned kParts = 64 / Part::kBytes;

  template <typename Test>
  [[nodiscard]] static uint64_t join(Test test) {
    uint64_t bits = 0;
    for (unsigned i = 0; i < kParts; ++i) bits |= test(i) << (i * Part::kBytes);
    return bits;
  }

  Part parts_[kParts];
};

#endif

/// Bit i is the parity of bits 0 to i: what lies from an opening quote up to its closing one.
[[nodiscard]] inline uint64_t prefix_xor(uint64_t bits) {
#ifdef __PCLMUL__
  const __m128i product = _mm_clmulepi64_si128(_mm_set_epi64x(0, static_cast<int64_t>(bits)),
                                               _mm_set1_epi8(static_cast<char>(0xFF)), 0);
  return static_cast<uint64_t>(_mm_cvtsi128_si64(product));
#else
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
#endif
}

}  // namespace redline::trace::REDLINE_SIMD

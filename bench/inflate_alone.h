// The limit of reading a compressed trace: inflating it with ISA-L or zstd, and nothing else.
#pragma once

#include <cstdint>
#include <string_view>

namespace redline::bench {

enum class Output {
  kDropped,  ///< into one small buffer, again and again
  kKept,     ///< into fresh memory, as a reader must that wants to show an event's text
};

/// Bytes that came out of a .gz or .zst file, told by content; -1 where it is not sound.
[[nodiscard]] int64_t inflate_alone(std::string_view file, Output output);

}  // namespace redline::bench

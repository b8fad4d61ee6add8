// What a reader of traces is measured against, for load_once: the least that any reader must do,
// without keeping anything, and the memory that it takes.
#pragma once

#include <cstdint>
#include <string_view>
#include <thread>

namespace redline::bench {

/// The limit of parsing: simdjson's on-demand parser over all events of a whole trace. Returns how
/// many there are, or -1 where one of its chunks is not sound. Chunks of 1 MB, cut where an event
/// ends, are shared out to `threads`. Of each event ph, cat, name, pid, tid, ts, dur and id are
/// touched as they stand; the rest is skipped.
[[nodiscard]] int64_t bare_pass(std::string_view text, unsigned threads);

enum class Output {
  kDropped,  ///< into one small buffer, again and again
  kKept,     ///< into fresh memory: a reader that shows an event's text must keep it
};

/// The limit of reading a compressed trace: ISA-L or zstd, told by content, and nothing else.
/// Returns the bytes that came out, or -1 where the file is not sound.
[[nodiscard]] int64_t inflate_alone(std::string_view file, Output output);

/// Bytes of this process that are resident and that no file backs: what it has allocated.
[[nodiscard]] int64_t anonymous_bytes();

/// The most of them at once. Looks every 2 ms: the kernel keeps a high-water mark only of all pages
/// together, and those of the mapped trace would hide the rest.
class PeakMemory {
 public:
  PeakMemory();
  [[nodiscard]] int64_t stop();  ///< the peak since construction, in bytes

 private:
  int64_t peak_ = 0;
  std::jthread sampler_;
};

}  // namespace redline::bench

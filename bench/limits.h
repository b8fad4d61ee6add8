// Limits for load_once, with which our reader of traces is compared: they do only what any reader
// must do, and keep nothing. The memory in use is measured here, too.
#pragma once

#include <cstdint>
#include <string_view>
#include <thread>

namespace redline::bench {

/// The limit of parsing: simdjson's on-demand parser over all events of a whole trace. Returns the
/// number of events, or -1 if a chunk is not valid. The text is cut behind events into chunks of
/// 1 MB, which `threads` share. It reads ph, cat, name, pid, tid, ts, dur and id of each event in
/// the order of the file, and skips the rest.
[[nodiscard]] int64_t bare_pass(std::string_view text, unsigned threads);

enum class Output {
  kDropped,  ///< into one small buffer, which is overwritten again and again
  kKept,     ///< into fresh memory, because a reader that shows an event's text must keep it
};

/// The limit of reading a compressed trace: only decompresses it, with ISA-L or zstd, whichever the
/// content needs. Returns the number of bytes that came out, or -1 if the file is not valid.
[[nodiscard]] int64_t inflate_alone(std::string_view file, Output output);

/// The resident bytes of this process that belong to no file, which is what it has allocated.
[[nodiscard]] int64_t anonymous_bytes();

/// The peak of anonymous_bytes(). It samples every 2 ms, because the kernel's own peak includes
/// pages of files, and those of the mapped trace would hide the rest.
class PeakMemory {
 public:
  PeakMemory();
  [[nodiscard]] int64_t stop();  ///< the peak since construction, in bytes

 private:
  int64_t peak_ = 0;
  std::jthread sampler_;
};

}  // namespace redline::bench

// Bounds how fast a recorder brings its trace to the disk, so that many ranks of one machine do not
// take the disk from the job itself.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace redline::trace {

/// One for all files of a process. At most `bytes_per_s` x (t + 1 s) bytes are taken in any time t:
/// what was not used within the last second is gone. Only one thread takes at a time; the others
/// may call the rest.
class WritePace {
 public:
  /// 0: no bound, as before the first call. Ends what lift() began.
  void set(uint64_t bytes_per_s);
  /// How many of `wanted` bytes may be written at `now_ns` (monotonic). They count as written.
  [[nodiscard]] size_t take(size_t wanted, int64_t now_ns);
  [[nodiscard]] size_t take(size_t wanted);
  /// The same, but sleeps until it can give at least one.
  [[nodiscard]] size_t wait_and_take(size_t wanted);
  /// Takes the bound away until the next set(). The recorder calls it when the process is told to
  /// end, or when nobody wants the trace.
  void lift() { is_lifted_ = true; }

 private:
  std::atomic<uint64_t> bytes_per_s_ = 0;
  std::atomic<bool> is_lifted_ = false;
  int64_t counted_to_ns_ = 0;
  double free_bytes_ = 0;
};

}  // namespace redline::trace

// Host memory of a trial's processes, seen from outside and on the same scale as the limit.
//
// RLIMIT_DATA counts private writable mappings and the heap, which is what /proc/PID/status calls
// VmData. The kernel keeps no peak of it, only of the whole address space (VmPeak). So VmData is
// sampled, and where VmPeak grew between two samples, the peak of data in between is VmPeak less
// what is not data.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace redline::tuner {

/// A process's sizes in bytes, from the text of /proc/PID/status; zeros for what is not in it.
struct MemorySizes {
  uint64_t data = 0;        ///< VmData
  uint64_t whole = 0;       ///< VmSize
  uint64_t whole_peak = 0;  ///< VmPeak
  uint64_t resident = 0;    ///< VmRSS
};
[[nodiscard]] MemorySizes parse_memory_sizes(const std::string& status_text);

class MemoryWatch {
 public:
  void sample(const std::vector<pid_t>& processes);
  void add(pid_t process, const MemorySizes& sizes);

  /// Largest peak of data of any one process so far, 0 before a sample.
  [[nodiscard]] uint64_t peak_bytes() const { return peak_; }
  /// Largest sum of resident memory; pages that processes share count for each.
  [[nodiscard]] uint64_t resident_bytes() const { return resident_; }

 private:
  std::map<pid_t, MemorySizes> last_;
  uint64_t peak_ = 0;
  uint64_t resident_ = 0;
};

}  // namespace redline::tuner

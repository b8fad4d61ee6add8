// How much memory of the host and of /dev/shm is free, and how much a trial takes, seen from
// outside its processes.
//
// What a process takes is measured as its limit counts it. RLIMIT_DATA counts private writable
// mappings and the heap, which /proc/PID/status calls VmData. The kernel keeps no peak of that,
// only of the whole address space (VmPeak). So VmData is sampled; where VmPeak grew between two
// samples, the peak of the data in between is VmPeak less what is not data. Resident memory was
// rejected as the measure: a process fails at its limit long before the pages are touched.
#pragma once

#include <sys/types.h>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuner/trial/trial_result.h"

namespace redline::tuner {

struct HostRoom {
  /// Available memory, or what the cgroup leaves if that is less.
  std::optional<uint64_t> memory_bytes;
  std::optional<uint64_t> shm_bytes;  ///< free in /dev/shm
};
[[nodiscard]] HostRoom host_room();

/// The failure to expect if `use`, a prediction, surely does not fit: that is, if it exceeds what
/// is free by more than a quarter. nullopt if it may fit. lacking_text() says it: "not started:
/// needs 12.0 GiB of /dev/shm, 8.0 GiB free".
[[nodiscard]] std::optional<Outcome> lacking(const HostUse& use, const HostRoom& room);
[[nodiscard]] std::string lacking_text(const HostUse& use, const HostRoom& room);

/// The most host memory that was taken since this object was made, by any process.
class HostWatch {
 public:
  HostWatch() : before_(host_room()) {}
  void sample();
  [[nodiscard]] const HostUse& most() const { return most_; }

 private:
  HostRoom before_;
  HostUse most_;
};

/// A process's sizes in bytes, from the text of /proc/PID/status; 0 for a size that is not in it.
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

  /// The largest peak of data (VmData) of any one process so far; 0 before the first sample.
  [[nodiscard]] uint64_t peak_bytes() const { return peak_; }
  /// The largest sum of the processes' resident memory. Pages that several share count for each.
  [[nodiscard]] uint64_t resident_bytes() const { return resident_; }

 private:
  std::map<pid_t, MemorySizes> last_;
  uint64_t peak_ = 0;
  uint64_t resident_ = 0;
};

}  // namespace redline::tuner

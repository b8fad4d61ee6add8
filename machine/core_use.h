// Who has the cores that this process may use: counters of processor time that only grow, so two
// readings say what happened between them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "machine/host_reading.h"

namespace redline::machine {

struct CoreUse {
  int cores = 1;  ///< how many this process may use
  /// In which these cores worked for any process. Absent if a cgroup grants fewer cores than the
  /// affinity, because then busy cores do not hold the process back.
  std::optional<int64_t> busy_ns = {};
  int64_t used_ns = 0;  ///< by this process and its DataLoader workers
  /// In which its threads were ready to run but had no core, by the kernel's schedstat.
  std::optional<int64_t> waited_ns = {};
};

/// Times of threads and workers that ended between two readings count up to the earlier one.
class CoreUseReader {
 public:
  explicit CoreUseReader(std::string root = "") : root_(std::move(root)) {}

  /// `reading` is of now, with the workers that were found. Opens a file for each thread of the
  /// process.
  [[nodiscard]] CoreUse read(const HostReading& reading);

 private:
  using Times = std::map<pid_t, int64_t>;

  [[nodiscard]] std::optional<Times> waits_of_threads() const;
  static int64_t growth(Times& before, Times now);

  std::string root_;
  Times waits_, workers_;
  int64_t waited_ns_ = 0;
  int64_t workers_ns_ = 0;
};

}  // namespace redline::machine

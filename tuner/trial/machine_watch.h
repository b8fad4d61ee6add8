// Tells whether others used the processors while a trial was measured. They make it look slower
// than it is, and its own processes cannot see them.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace redline::tuner {

/// Seconds since boot, summed over some processors: lines of /proc/stat (proc 5).
struct ProcessorTime {
  double busy = 0;
  double stolen = 0;  ///< time that the host of this virtual machine gave to others
  double all = 0;
};
[[nodiscard]] std::optional<ProcessorTime> parse_processor_time(const std::string& stat,
                                                                const std::vector<int>& processors);

/// Processor time of a process and of its children that ended, by its /proc/PID/stat.
[[nodiscard]] double parse_process_seconds(const std::string& stat);

class MachineWatch {
 public:
  /// `processors`: those that the trial may use.
  explicit MachineWatch(std::vector<int> processors) : processors_(std::move(processors)) {}

  /// `members`: the trial's processes, whose time is no disturbance.
  void begin(const std::vector<pid_t>& members);
  [[nodiscard]] bool begun() const { return begun_; }
  /// Who disturbed from begin() to now, as a phrase: "other programs used 1.3 of 2 processors";
  /// empty if nobody did.
  [[nodiscard]] std::string disturbance(const std::vector<pid_t>& members) const;

 private:
  [[nodiscard]] ProcessorTime now() const;

  std::vector<int> processors_;
  bool begun_ = false;
  ProcessorTime before_;
  double own_before_ = 0;
};

/// `own`: seconds of the trial's processes; `processors`: how many there are.
[[nodiscard]] std::string disturbance_between(const ProcessorTime& before,
                                              const ProcessorTime& after, double own,
                                              int processors);

}  // namespace redline::tuner

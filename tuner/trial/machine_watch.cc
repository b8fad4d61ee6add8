#include "tuner/trial/machine_watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "base/file.h"
#include "machine/host_reading.h"

namespace redline::tuner {
namespace {

constexpr double kNoticedSteal = 0.03;   ///< of all processors' time
constexpr double kNoticedOthers = 0.15;  ///< of all processors' time, if little of it was idle
constexpr double kLittleIdle = 0.1;
constexpr double kLeastSeconds = 0.1;  ///< the kernel counts in hundredths

double ticks_per_second() { return static_cast<double>(sysconf(_SC_CLK_TCK)); }

double seconds_of_all(const std::vector<pid_t>& members) {
  double sum = 0;
  for (const pid_t pid : members) {
    sum += parse_process_seconds(read_file("/proc/" + std::to_string(pid) + "/stat"));
  }
  return sum;
}

}  // namespace

std::optional<ProcessorTime> parse_processor_time(const std::string& stat,
                                                  const std::vector<int>& processors) {
  const double second = ticks_per_second();
  std::optional<ProcessorTime> sum;
  for (const machine::CoreTime& time : machine::core_times(stat)) {
    if (std::ranges::find(processors, time.core) == processors.end()) continue;
    if (!sum) sum.emplace();
    sum->busy += static_cast<double>(time.busy - time.stolen) / second;
    sum->stolen += static_cast<double>(time.stolen) / second;
    sum->all += static_cast<double>(time.total) / second;
  }
  return sum;
}

/// The time is in fields 14 to 17.
double parse_process_seconds(const std::string& stat) {
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double sum = 0;
  double ticks = 0;
  for (int field = 14; field <= 17 && fields >> ticks; ++field) sum += ticks;
  return sum / ticks_per_second();
}

std::string disturbance_between(const ProcessorTime& before, const ProcessorTime& after, double own,
                                int processors) {
  const double all = after.all - before.all;
  if (all < kLeastSeconds * processors) return "";
  const double stolen = (after.stolen - before.stolen) / all;
  const double busy = (after.busy - before.busy) / all;
  const double others = std::max(busy - own / all, 0.0);
  if (stolen > kNoticedSteal) {
    return fmt::format("the host gave {:.0f} % of the processor time to other machines (steal)",
                       100 * stolen);
  }
  // Others that use processors which would have been idle take nothing away.
  if (others > kNoticedOthers && busy + stolen > 1 - kLittleIdle) {
    return fmt::format("other programs used {:.1f} of {} processors", others * processors,
                       processors);
  }
  return "";
}

ProcessorTime MachineWatch::now() const {
  return parse_processor_time(read_file("/proc/stat"), processors_).value_or(ProcessorTime{});
}

void MachineWatch::begin(const std::vector<pid_t>& members) {
  begun_ = true;
  before_ = now();
  own_before_ = seconds_of_all(members);
}

std::string MachineWatch::disturbance(const std::vector<pid_t>& members) const {
  if (!begun_) return "";
  return disturbance_between(before_, now(), seconds_of_all(members) - own_before_,
                             static_cast<int>(processors_.size()));
}

}  // namespace redline::tuner

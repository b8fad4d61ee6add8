#include "trace/read/measured_peaks.h"

#include "machine/cpu_peaks.h"

namespace redline::trace {

std::optional<MeasuredPeaks> measured_peaks(const std::string& host, int64_t cores) {
  const auto found = machine::load_cpu_peaks(machine::cpu_peaks_file(), host, cores);
  if (!found) return std::nullopt;
  return MeasuredPeaks{found->model, found->cores, found->fp32,
                       found->fp64,  found->bf16,  found->gb_per_s};
}

}  // namespace redline::trace

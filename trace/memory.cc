#include "trace/memory.h"

#include <algorithm>
#include <map>
#include <utility>

#include "trace/args.h"

namespace redline::trace {
namespace {

constexpr int64_t kDeviceTypeCpu = 0;  // c10::DeviceType

}  // namespace

std::vector<MemoryPeak> memory_peaks(const Trace& trace) {
  const StringId name = trace.find_string("[memory]");
  if (!name) return {};
  std::map<std::pair<bool, int64_t>, MemoryPeak> peaks;  // GPUs (not CPU) first
  std::map<std::pair<bool, int64_t>, int64_t> growths;
  for (const Instant& instant : trace.instants()) {
    if (instant.name != name) continue;
    const Args args(trace.event_text(instant.text_offset));
    const bool is_gpu = args.integer("Device Type").value_or(kDeviceTypeCpu) != kDeviceTypeCpu;
    const int64_t device = args.integer("Device Id").value_or(-1);
    MemoryPeak& peak = peaks[{!is_gpu, device}];
    peak.is_gpu = is_gpu;
    peak.device = static_cast<int32_t>(device);
    // Traces up to 2022 have no totals: what was allocated before the recording is not known then.
    int64_t& growth = growths[{!is_gpu, device}];
    growth += args.integer("Bytes").value_or(0);
    peak.allocated_bytes =
        std::max(peak.allocated_bytes, args.integer("Total Allocated").value_or(growth));
    peak.reserved_bytes = std::max(peak.reserved_bytes, args.integer("Total Reserved").value_or(0));
  }
  std::vector<MemoryPeak> list;
  for (const auto& [key, peak] : peaks) {
    if (peak.allocated_bytes > 0) list.push_back(peak);
  }
  return list;
}

}  // namespace redline::trace

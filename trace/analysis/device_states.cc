#include "trace/analysis/device_states.h"

#include <algorithm>

namespace redline::trace {

std::vector<DeviceSpan> device_states(const DeviceTable& table, std::optional<int32_t> device,
                                      Interval window) {
  if (window.length_ns() <= 0) return {};
  const Intervals within{window};
  Coverage computing(within), communicating(within), copying(within);
  for (const DeviceStream& stream : table.streams) {
    if (device && stream.device != *device) continue;
    for (const DeviceWork& work : table.of(stream)) {
      Coverage& kind = !work.is_kernel()       ? copying
                       : work.is_communication ? communicating
                                               : computing;
      kind.add(work.interval);
    }
  }
  const Intervals compute = computing.take();
  const Intervals communication = communicating.take();
  std::vector<DeviceSpan> spans;
  const auto add = [&](const Intervals& intervals, DeviceState state) {
    for (const Interval& interval : intervals) spans.push_back({interval, state});
  };
  add(subtract(compute, communication), DeviceState::kCompute);
  add(subtract(communication, compute), DeviceState::kExposedCommunication);
  add(intersect(compute, communication), DeviceState::kOverlapped);
  add(subtract(copying.take(), unite(compute, communication)), DeviceState::kCopy);
  std::sort(spans.begin(), spans.end(), [](const DeviceSpan& left, const DeviceSpan& right) {
    return left.interval.begin_ns < right.interval.begin_ns;
  });
  return spans;
}

}  // namespace redline::trace

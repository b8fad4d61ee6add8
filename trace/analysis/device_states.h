// What a GPU did at each moment: the lane that shows how well computation hides communication.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/intervals.h"
#include "trace/analysis/device_work.h"

namespace redline::trace {

enum class DeviceState : uint8_t { kIdle, kCompute, kExposedCommunication, kOverlapped, kCopy };
constexpr size_t kDeviceStateCount = 5;

struct DeviceSpan {
  Interval interval;
  DeviceState state = DeviceState::kIdle;
};

/// What one device did, or all of them together, inside the window; by begin, idle time left out.
/// Copies count where nothing else ran.
[[nodiscard]] std::vector<DeviceSpan> device_states(const DeviceTable& table,
                                                    std::optional<int32_t> device, Interval window);

}  // namespace redline::trace

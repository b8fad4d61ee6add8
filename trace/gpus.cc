#include "trace/gpus.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "trace/args.h"
#include "trace/communication.h"
#include "trace/slice_view.h"
#include "trace/tables.h"

namespace redline::trace {
namespace {

struct Weighted {
  Interval interval;
  double value = 0;
};

// Everything that ran on one device.
struct DeviceSlices {
  std::vector<Interval> compute, communication, memory, kernels;
  std::vector<Weighted> blocks_per_sm, occupancy;
  int64_t kernel_ns = 0;
  int64_t tensor_core_ns = 0;
};

void add_kernel(const Trace& trace, SliceId slice, DeviceSlices& device) {
  const Interval interval = interval_of(trace, slice);
  const std::string_view name = name_of(trace, slice);
  device.kernels.push_back(interval);
  (is_communication_kernel(name) ? device.communication : device.compute).push_back(interval);
  device.kernel_ns += interval.length_ns();
  if (uses_tensor_cores(name)) device.tensor_core_ns += interval.length_ns();
  const Args args(trace, slice);
  const auto blocks = args.number("blocks per SM");
  if (blocks && *blocks > 0) device.blocks_per_sm.push_back({interval, *blocks});
  const auto occupancy = args.number("est. achieved occupancy %");
  if (occupancy && *occupancy >= 0) device.occupancy.push_back({interval, *occupancy / 100});
}

std::map<int32_t, DeviceSlices> gather(const Trace& trace) {
  std::map<int32_t, DeviceSlices> devices;
  for_each_slice(trace, [&](SliceId slice, Category category) {
    if (!is_device_work(category)) return;
    DeviceSlices& device = devices[track_of(trace, slice).device];
    if (category == Category::kKernel) {
      add_kernel(trace, slice, device);
    } else {
      device.memory.push_back(interval_of(trace, slice));
    }
  });
  return devices;
}

int64_t overlap_ns(Interval left, Interval right) {
  return std::max<int64_t>(
      0, std::min(left.end_ns, right.end_ns) - std::max(left.begin_ns, right.begin_ns));
}

// Integral over the window of min(1, sum of the values under way), as a share of the window.
std::optional<double> mean_capped_sum(const std::vector<Weighted>& weighted, Interval window) {
  if (weighted.empty() || window.length_ns() <= 0) return std::nullopt;
  std::vector<std::pair<int64_t, double>> changes;
  for (const Weighted& item : weighted) {
    changes.emplace_back(item.interval.begin_ns, item.value);
    changes.emplace_back(item.interval.end_ns, -item.value);
  }
  std::sort(changes.begin(), changes.end());
  double sum = 0, integral = 0;
  for (size_t i = 0; i + 1 < changes.size(); ++i) {
    sum += changes[i].second;
    const Interval piece{changes[i].first, changes[i + 1].first};
    integral += std::clamp(sum, 0.0, 1.0) * static_cast<double>(overlap_ns(piece, window));
  }
  return integral / static_cast<double>(window.length_ns());
}

std::optional<double> time_weighted_mean(const std::vector<Weighted>& weighted, Interval window) {
  double sum = 0;
  int64_t time_ns = 0;
  for (const Weighted& item : weighted) {
    const int64_t length_ns = overlap_ns(item.interval, window);
    sum += item.value * static_cast<double>(length_ns);
    time_ns += length_ns;
  }
  if (time_ns == 0) return std::nullopt;
  return sum / static_cast<double>(time_ns);
}

double share(int64_t part_ns, int64_t whole_ns) {
  return whole_ns == 0 ? 0 : static_cast<double>(part_ns) / static_cast<double>(whole_ns);
}

GpuUse measure(DeviceSlices slices, Interval steps) {
  const Intervals compute = merge(std::move(slices.compute));
  const Intervals communication = merge(std::move(slices.communication));
  const Intervals memory = merge(std::move(slices.memory));
  const Intervals busy = unite(unite(compute, communication), memory);
  GpuUse use;
  if (busy.empty()) return use;
  use.span_ns = busy.back().end_ns - busy.front().begin_ns;
  use.busy_ns = total_ns(busy);
  use.idle_ns = use.span_ns - use.busy_ns;
  use.compute_ns = total_ns(compute);
  use.non_compute_ns = use.busy_ns - use.compute_ns;
  use.communication_ns = total_ns(communication);
  use.memory_ns = total_ns(memory);
  if (use.communication_ns > 0) {
    use.communication_overlap =
        share(total_ns(intersect(communication, compute)), use.communication_ns);
  }
  use.utilization =
      share(total_within_ns(merge(std::move(slices.kernels)), steps), steps.length_ns());
  use.sm_efficiency = mean_capped_sum(slices.blocks_per_sm, steps);
  use.occupancy = time_weighted_mean(slices.occupancy, steps);
  if (slices.kernel_ns > 0) use.tensor_core_share = share(slices.tensor_core_ns, slices.kernel_ns);
  return use;
}

}  // namespace

std::vector<DeviceProperties> device_properties(const Trace& trace) {
  using nlohmann::json;
  const json list = json::parse(trace.metadata().device_properties_json, nullptr, false);
  std::vector<DeviceProperties> devices;
  if (!list.is_array()) return devices;
  for (const json& item : list) {
    if (!item.is_object()) continue;
    const auto number = [&](const char* key) {
      const auto found = item.find(key);
      return found != item.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
    };
    const auto name = item.find("name");
    devices.push_back({static_cast<int32_t>(number("id")),
                       name != item.end() && name->is_string() ? name->get<std::string>() : "",
                       number("totalGlobalMem"), static_cast<int>(number("computeMajor")),
                       static_cast<int>(number("computeMinor"))});
  }
  return devices;
}

std::vector<GpuUse> gpu_use(const Trace& trace, const std::vector<Step>& steps) {
  if (steps.empty()) return {};
  const Interval all_steps{steps.front().window.begin_ns, steps.back().window.end_ns};
  const auto properties = device_properties(trace);
  std::vector<GpuUse> gpus;
  for (auto& [device, slices] : gather(trace)) {
    GpuUse use = measure(std::move(slices), all_steps);
    use.device = device;
    for (const DeviceProperties& known : properties) {
      if (known.device == device) use.name = known.name;
    }
    gpus.push_back(std::move(use));
  }
  return gpus;
}

}  // namespace redline::trace

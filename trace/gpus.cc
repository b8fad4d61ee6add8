#include "trace/gpus.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "trace/sorted_runs.h"
#include "trace/tables.h"

namespace redline::trace {
namespace {

struct Weighted {
  Interval interval;
  double value = 0;
};

// Everything that ran on one device.
struct DeviceSlices {
  std::vector<Interval> compute, communication, memory;
  std::vector<Weighted> blocks_per_sm;
  double occupancy_ns = 0;  // occupancy times duration, summed over with_occupancy_ns
  int64_t with_occupancy_ns = 0;
  int64_t kernel_ns = 0;
  int64_t tensor_core_ns = 0;
  int64_t tensor_core_eligible_ns = 0;
};

// uses_tensor_cores, asked once a name.
class TensorCoreNames {
 public:
  explicit TensorCoreNames(const Trace& trace) : trace_(trace), known_(trace.string_count()) {}

  bool contains(StringId name) {
    if (!name) return false;
    Answer& answer = known_[name.value];
    if (answer == Answer::kUnknown) {
      answer = uses_tensor_cores(trace_.string(name)) ? Answer::kYes : Answer::kNo;
    }
    return answer == Answer::kYes;
  }

 private:
  enum class Answer : uint8_t { kUnknown, kYes, kNo };
  const Trace& trace_;
  std::vector<Answer> known_;
};

int64_t overlap_ns(Interval left, Interval right) {
  return std::max<int64_t>(
      0, std::min(left.end_ns, right.end_ns) - std::max(left.begin_ns, right.begin_ns));
}

void add_kernel(const DeviceWork& row, const HostTree& tree, Interval steps,
                TensorCoreNames& tensor_core_names, DeviceSlices& device) {
  (row.is_communication ? device.communication : device.compute).push_back(row.interval);
  const int64_t length_ns = row.interval.length_ns();
  device.kernel_ns += length_ns;
  if (tensor_core_names.contains(row.name)) device.tensor_core_ns += length_ns;
  if (row.launch && (tree.kinds_around[row.launch.value] & kMatrixOpName) != 0) {
    device.tensor_core_eligible_ns += length_ns;
  }
  if (row.blocks_per_sm > 0) device.blocks_per_sm.push_back({row.interval, row.blocks_per_sm});
  if (row.occupancy >= 0) {
    const int64_t within_ns = overlap_ns(row.interval, steps);
    device.occupancy_ns += row.occupancy * static_cast<double>(within_ns);
    device.with_occupancy_ns += within_ns;
  }
}

std::map<int32_t, DeviceSlices> gather(const Trace& trace, const DeviceTable& table,
                                       const HostTree& tree, Interval steps) {
  TensorCoreNames tensor_core_names(trace);
  std::map<int32_t, DeviceSlices> devices;
  for (const DeviceStream& stream : table.streams) {
    DeviceSlices& device = devices[stream.device];
    for (const DeviceWork& row : table.of(stream)) {
      if (row.is_kernel()) {
        add_kernel(row, tree, steps, tensor_core_names, device);
      } else {
        device.memory.push_back(row.interval);
      }
    }
  }
  return devices;
}

// Integral over the window of min(1, sum of the values under way), as a share of the window.
std::optional<double> mean_capped_sum(std::vector<Weighted> begins, Interval window) {
  if (begins.empty() || window.length_ns() <= 0) return std::nullopt;
  std::vector<Weighted> ends = begins;
  sort_runs(begins, [](const Weighted& left, const Weighted& right) {
    return left.interval.begin_ns < right.interval.begin_ns;
  });
  sort_runs(ends, [](const Weighted& left, const Weighted& right) {
    return left.interval.end_ns < right.interval.end_ns;
  });
  double sum = 0, integral = 0;
  int64_t at_ns = begins.front().interval.begin_ns;
  const auto pass_to = [&](int64_t time_ns) {
    integral +=
        std::clamp(sum, 0.0, 1.0) * static_cast<double>(overlap_ns({at_ns, time_ns}, window));
    at_ns = time_ns;
  };
  auto begin = begins.begin();
  size_t running = 0;
  for (const Weighted& end : ends) {
    for (; begin != begins.end() && begin->interval.begin_ns <= end.interval.end_ns; ++begin) {
      pass_to(begin->interval.begin_ns);
      sum += begin->value;
      ++running;
    }
    pass_to(end.interval.end_ns);
    sum = --running == 0 ? 0 : sum - end.value;  // no rounding errors from gap to gap
  }
  return integral / static_cast<double>(window.length_ns());
}

// Time by which of the three are under way.
std::array<int64_t, kWorkMixCount> mix(const Intervals& compute, const Intervals& communication,
                                       const Intervals& memory) {
  struct Change {
    int64_t time_ns;
    unsigned bit;
  };
  std::vector<Change> changes;
  changes.reserve(2 * (compute.size() + communication.size() + memory.size()));
  unsigned bit = 1;
  for (const Intervals* kind : {&compute, &communication, &memory}) {
    for (const Interval& interval : *kind) {
      changes.push_back({interval.begin_ns, bit});
      changes.push_back({interval.end_ns, bit});
    }
    bit <<= 1;
  }
  sort_runs(changes, [](Change left, Change right) { return left.time_ns < right.time_ns; });
  std::array<int64_t, kWorkMixCount> mix_ns{};
  unsigned running = 0;
  for (size_t i = 0; i + 1 < changes.size(); ++i) {
    running ^= changes[i].bit;  // an interval of a kind neither touches nor overlaps the next one
    if (running != 0) mix_ns[running - 1] += changes[i + 1].time_ns - changes[i].time_ns;
  }
  return mix_ns;
}

double share(int64_t part_ns, int64_t whole_ns) {
  return whole_ns == 0 ? 0 : static_cast<double>(part_ns) / static_cast<double>(whole_ns);
}

GpuUse measure(DeviceSlices slices, Interval steps) {
  const Intervals compute = merge(std::move(slices.compute));
  const Intervals communication = merge(std::move(slices.communication));
  const Intervals memory = merge(std::move(slices.memory));
  const Intervals kernels = unite(compute, communication);
  const Intervals busy = unite(kernels, memory);
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
  use.mix_ns = mix(compute, communication, memory);
  use.utilization = share(total_within_ns(kernels, steps), steps.length_ns());
  use.sm_efficiency = mean_capped_sum(std::move(slices.blocks_per_sm), steps);
  if (slices.with_occupancy_ns > 0) {
    use.occupancy = slices.occupancy_ns / static_cast<double>(slices.with_occupancy_ns);
  }
  if (slices.kernel_ns > 0) {
    use.tensor_core_share = share(slices.tensor_core_ns, slices.kernel_ns);
    use.tensor_core_eligible_share = share(slices.tensor_core_eligible_ns, slices.kernel_ns);
  }
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

std::vector<GpuUse> gpu_use(const Trace& trace, const DeviceTable& table, const HostTree& tree,
                            const std::vector<Step>& steps) {
  if (steps.empty()) return {};
  const Interval all_steps{steps.front().window.begin_ns, steps.back().window.end_ns};
  const auto properties = device_properties(trace);
  std::vector<GpuUse> gpus;
  for (auto& [device, slices] : gather(trace, table, tree, all_steps)) {
    GpuUse use = measure(std::move(slices), all_steps);
    use.device = device;
    for (const DeviceProperties& known : properties) {
      if (known.device != device) continue;
      use.properties = known;
      use.name = known.name;
    }
    gpus.push_back(std::move(use));
  }
  return gpus;
}

}  // namespace redline::trace

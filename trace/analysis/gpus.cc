#include "trace/analysis/gpus.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <numeric>
#include <tuple>

#include "base/format.h"
#include "base/json_values.h"
#include "base/natural_sort.h"
#include "trace/analysis/tables.h"

namespace redline::trace {
namespace {

const Intervals& all_time() {
  static const Intervals kAll = {{INT64_MIN, INT64_MAX}};
  return kAll;
}

// Everything that ran on one device.
struct DeviceSlices {
  Coverage compute{all_time()}, communication{all_time()}, memory{all_time()};
  std::vector<uint32_t> with_blocks;  // rows that say how many blocks a multiprocessor had
  double occupancy_ns = 0;            // occupancy times duration, summed over with_occupancy_ns
  int64_t with_occupancy_ns = 0;
  int64_t kernel_ns = 0;
  int64_t tensor_core_ns = 0;
  int64_t tensor_core_eligible_ns = 0;
};

// Answers uses_tensor_cores() and asks only once for each name.
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

void add_kernel(const DeviceWork& row, const HostTree& tree, const Intervals& steps,
                TensorCoreNames& tensor_core_names, DeviceSlices& device) {
  (row.is_communication ? device.communication : device.compute).add(row.interval);
  const int64_t length_ns = row.interval.length_ns();
  device.kernel_ns += length_ns;
  if (tensor_core_names.contains(row.name)) device.tensor_core_ns += length_ns;
  if (row.launch && (tree.kinds_around[row.launch.value] & kMatrixOpName) != 0) {
    device.tensor_core_eligible_ns += length_ns;
  }
  if (row.occupancy >= 0) {
    const int64_t within_ns = total_within_ns(steps, row.interval);
    device.occupancy_ns += row.occupancy * static_cast<double>(within_ns);
    device.with_occupancy_ns += within_ns;
  }
}

std::map<int32_t, DeviceSlices> gather(const Trace& trace, const DeviceWorkTable& table,
                                       const HostTree& tree, const Intervals& steps) {
  TensorCoreNames tensor_core_names(trace);
  std::map<int32_t, DeviceSlices> devices;
  for (const DeviceStream& stream : table.streams) {
    DeviceSlices& device = devices[stream.device];
    device.with_blocks.reserve(device.with_blocks.size() + stream.count);
    for (size_t i = stream.first; i < stream.first + stream.count; ++i) {
      const DeviceWork& row = table.rows[i];
      if (!row.is_kernel()) {
        device.memory.add(row.interval);
        continue;
      }
      add_kernel(row, tree, steps, tensor_core_names, device);
      if (row.blocks_per_sm > 0) device.with_blocks.push_back(static_cast<uint32_t>(i));
    }
  }
  return devices;
}

// The mean over the steps of min(1, blocks per SM of all rows that run at the time).
std::optional<double> mean_capped_blocks(const DeviceWorkTable& table, std::vector<uint32_t> begins,
                                         const Intervals& steps) {
  if (begins.empty() || steps.empty()) return std::nullopt;
  const auto interval = [&](uint32_t row) { return table.rows[row].interval; };
  std::vector<uint32_t> ends = begins;
  natural_sort(std::span(begins), [&](uint32_t left, uint32_t right) {
    return interval(left).begin_ns < interval(right).begin_ns;
  });
  natural_sort(std::span(ends), [&](uint32_t left, uint32_t right) {
    return interval(left).end_ns < interval(right).end_ns;
  });
  double sum = 0, integral = 0;
  int64_t at_ns = interval(begins.front()).begin_ns;
  const auto pass_to = [&](int64_t time_ns) {
    integral +=
        std::clamp(sum, 0.0, 1.0) * static_cast<double>(total_within_ns(steps, {at_ns, time_ns}));
    at_ns = time_ns;
  };
  auto begin = begins.begin();
  size_t running = 0;
  for (const uint32_t end : ends) {
    const int64_t end_ns = interval(end).end_ns;
    for (; begin != begins.end() && interval(*begin).begin_ns <= end_ns; ++begin) {
      pass_to(interval(*begin).begin_ns);
      sum += table.rows[*begin].blocks_per_sm;
      ++running;
    }
    pass_to(end_ns);
    // Starting from 0 in each gap keeps rounding errors from adding up.
    sum = --running == 0 ? 0 : sum - table.rows[end].blocks_per_sm;
  }
  return integral / static_cast<double>(total_ns(steps));
}

// Walks over the begins and ends of a list of intervals.
class Changes {
 public:
  explicit Changes(const Intervals& intervals) : intervals_(intervals) {}

  [[nodiscard]] int64_t next_ns() const {
    if (passed_ == 2 * intervals_.size()) return INT64_MAX;
    const Interval& interval = intervals_[passed_ / 2];
    return passed_ % 2 == 0 ? interval.begin_ns : interval.end_ns;
  }
  void pass() { ++passed_; }

 private:
  const Intervals& intervals_;
  size_t passed_ = 0;
};

// How long each mix of the three was under way.
std::array<int64_t, kWorkMixCount> mix(const Intervals& compute, const Intervals& communication,
                                       const Intervals& memory) {
  std::array kinds = {Changes(compute), Changes(communication), Changes(memory)};
  std::array<int64_t, kWorkMixCount> mix_ns{};
  unsigned running = 0;  // one bit a kind; the intervals of one kind neither touch nor overlap
  for (int64_t at_ns = 0;;) {
    size_t first = 0;
    for (size_t i = 1; i < kinds.size(); ++i) {
      if (kinds[i].next_ns() < kinds[first].next_ns()) first = i;
    }
    const int64_t next_ns = kinds[first].next_ns();
    if (next_ns == INT64_MAX) return mix_ns;
    if (running != 0) mix_ns[running - 1] += next_ns - at_ns;
    at_ns = next_ns;
    running ^= 1U << first;
    kinds[first].pass();
  }
}

Interval span_of(std::initializer_list<const Intervals*> lists) {
  Interval span{INT64_MAX, INT64_MIN};
  for (const Intervals* list : lists) {
    if (list->empty()) continue;
    span.begin_ns = std::min(span.begin_ns, list->front().begin_ns);
    span.end_ns = std::max(span.end_ns, list->back().end_ns);
  }
  return span;
}

GpuUse measure(const DeviceWorkTable& table, DeviceSlices slices, const Intervals& steps,
               bool has_tensor_cores) {
  const Intervals compute = slices.compute.take();
  const Intervals communication = slices.communication.take();
  const Intervals memory = slices.memory.take();
  const Interval span = span_of({&compute, &communication, &memory});
  GpuUse use;
  if (span.end_ns < span.begin_ns) return use;
  use.mix_ns = mix(compute, communication, memory);
  use.span_ns = span.length_ns();
  use.busy_ns = std::accumulate(use.mix_ns.begin(), use.mix_ns.end(), int64_t{0});
  use.idle_ns = use.span_ns - use.busy_ns;
  use.compute_ns = total_ns(compute);
  use.non_compute_ns = use.busy_ns - use.compute_ns;
  use.communication_ns = total_ns(communication);
  use.memory_ns = total_ns(memory);
  if (use.communication_ns > 0) {
    use.communication_overlap =
        share_of(total_ns(intersect(communication, compute)), use.communication_ns);
  }
  const Intervals kernels = intersect(unite(compute, communication), steps);
  use.utilization = share_of(total_ns(kernels), total_ns(steps));
  use.sm_efficiency = mean_capped_blocks(table, std::move(slices.with_blocks), steps);
  if (slices.with_occupancy_ns > 0) {
    use.occupancy = slices.occupancy_ns / static_cast<double>(slices.with_occupancy_ns);
  }
  if (slices.kernel_ns > 0 && has_tensor_cores) {
    use.tensor_core_share = share_of(slices.tensor_core_ns, slices.kernel_ns);
    use.tensor_core_eligible_share = share_of(slices.tensor_core_eligible_ns, slices.kernel_ns);
  }
  return use;
}

// From the first step to the last, as the TensorBoard plugin takes it, but without the pauses
// between recordings that were merged: there the numbers of the steps do not follow each other.
Intervals stretches_of(const std::vector<Step>& steps) {
  std::vector<Interval> stretches = {steps.front().window};
  for (size_t i = 1; i < steps.size(); ++i) {
    const auto before = steps[i - 1].number, number = steps[i].number;
    const bool follows = before && number && *before < *number && *before + 1 == *number;
    if (follows) {
      stretches.back().end_ns = steps[i].window.end_ns;
    } else {
      stretches.push_back(steps[i].window);
    }
  }
  return merge(std::move(stretches));
}

}  // namespace

std::vector<DeviceProperties> device_properties(const Trace& trace) {
  using nlohmann::json;
  const json list = json::parse(trace.metadata().device_properties_json, nullptr, false);
  std::vector<DeviceProperties> devices;
  if (!list.is_array()) return devices;
  const bool amd = is_amd(trace);
  for (const json& item : list) {
    if (!item.is_object()) continue;
    DeviceProperties& device = devices.emplace_back();
    device.device = static_cast<int32_t>(whole_in(item, "id"));
    device.name = text_in(item, "name");
    device.memory_bytes = whole_in(item, "totalGlobalMem");
    device.multiprocessors = static_cast<int>(whole_in(item, "numSms"));
    device.has_context = flag_in(item, "hasContext");
    if (amd) continue;  // ROCm gives its own number (gfx942: 9.4) under the same name
    device.uuid = text_in(item, "uuid");
    device.compute_major = static_cast<int>(whole_in(item, "computeMajor"));
    device.compute_minor = static_cast<int>(whole_in(item, "computeMinor"));
  }
  return devices;
}

const DeviceProperties* properties_of(const std::vector<DeviceProperties>& devices, int32_t device,
                                      bool is_amd) {
  if (devices.empty()) return nullptr;
  const auto kind_of = [](const DeviceProperties& known) {
    return std::tuple(std::string_view(known.name), known.memory_bytes, known.multiprocessors);
  };
  const auto found = std::ranges::find_if(devices, [&](const DeviceProperties& known) {
    return is_amd ? kind_of(known) != kind_of(devices.front()) : known.device == device;
  });
  if (is_amd) return found == devices.end() ? &devices.front() : nullptr;
  return found == devices.end() ? nullptr : &*found;
}

std::vector<int32_t> working_devices(const DeviceWorkTable& table) {
  constexpr int64_t kHardly = 100;
  std::map<int32_t, int64_t> computing_ns;
  int64_t most_ns = 0;
  for (const DeviceStream& stream : table.streams) {
    int64_t& sum_ns = computing_ns[stream.device];
    for (const DeviceWork& work : table.of(stream)) {
      if (work.is_kernel() && !work.is_communication) sum_ns += work.interval.length_ns();
    }
    most_ns = std::max(most_ns, sum_ns);
  }
  std::vector<int32_t> devices;
  for (const auto& [device, sum_ns] : computing_ns) {
    if (sum_ns >= most_ns / kHardly) devices.push_back(device);
  }
  return devices;
}

std::vector<GpuUse> gpu_use(const Trace& trace, const DeviceWorkTable& table, const HostTree& tree,
                            const std::vector<Step>& steps,
                            const std::vector<DeviceProperties>& properties) {
  if (steps.empty()) return {};
  const Intervals all_steps = stretches_of(steps);
  const bool amd = is_amd(trace), has_tensor_cores = may_have_tensor_cores(trace);
  std::vector<GpuUse> gpus;
  for (auto& [device, slices] : gather(trace, table, tree, all_steps)) {
    GpuUse use = measure(table, std::move(slices), all_steps, has_tensor_cores);
    use.device = device;
    if (const DeviceProperties* known = properties_of(properties, device, amd)) {
      use.properties = *known;
      use.name = known->name;
    }
    gpus.push_back(std::move(use));
  }
  return gpus;
}

std::vector<DeviceSpan> device_states(const DeviceWorkTable& table, std::optional<int32_t> device,
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
  std::ranges::sort(spans, {}, [](const DeviceSpan& span) { return span.interval.begin_ns; });
  return spans;
}

}  // namespace redline::trace

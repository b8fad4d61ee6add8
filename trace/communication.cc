#include "trace/communication.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "trace/args.h"
#include "trace/category.h"
#include "trace/host_tree.h"
#include "trace/intervals.h"
#include "trace/json_scan.h"
#include "trace/slice_view.h"

namespace redline::trace {
namespace {

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// Bytes of an element, by c10's and by NCCL's name of its type.
int64_t element_bytes(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, int64_t>, 21> kSizes = {{
      {"float", 4},         {"Float", 4}, {"double", 8},        {"Double", 8},
      {"half", 2},          {"Half", 2},  {"c10::Half", 2},     {"c10::BFloat16", 2},
      {"BFloat16", 2},      {"int", 4},   {"Int", 4},           {"long", 8},
      {"long int", 8},      {"Long", 8},  {"unsigned char", 1}, {"Byte", 1},
      {"signed char", 1},   {"Char", 1},  {"bool", 1},          {"Bool", 1},
      {"Float8_e4m3fn", 1},
  }};
  for (const auto& [name, bytes] : kSizes) {
    if (name == type) return bytes;
  }
  return 0;
}

// Product of the numbers of the first tensor in "Input Dims": [[[64, 3]], …] or [[64, 3], …].
std::optional<int64_t> first_tensor_elements(std::string_view dims) {
  const size_t first = dims.find_first_of("0123456789");
  if (first == std::string_view::npos) return std::nullopt;
  const size_t end = dims.find(']', first);
  int64_t elements = 1;
  for (size_t at = first; at < end && at != std::string_view::npos;) {
    const size_t stop = std::min(dims.find_first_of(",]", at), end);
    const auto size = parse_scaled(dims.substr(at, stop - at), 0);
    if (!size) return std::nullopt;
    elements *= *size;
    at = dims.find_first_of("0123456789", stop);
  }
  return elements;
}

std::optional<int64_t> message_bytes(const Args& args) {
  if (const auto in = args.integer("In msg nelems")) {
    const int64_t size = element_bytes(args.text("dtype"));
    const int64_t elements = std::max(*in, args.integer("Out msg nelems").value_or(0));
    if (size > 0) return elements * size;
  }
  const std::string_view types = args.raw("Input type");
  const size_t open = types.find('"');
  if (open == std::string_view::npos) return std::nullopt;
  const std::string_view type = types.substr(open + 1, types.find('"', open + 1) - open - 1);
  const auto elements = first_tensor_elements(args.raw("Input Dims"));
  const int64_t size = element_bytes(type);
  return elements && size > 0 ? std::optional(*elements * size) : std::nullopt;
}

// How often each byte crosses the slowest link, for n ranks (nccl-tests, doc/PERFORMANCE.md).
double bus_factor(std::string_view name, double ranks) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("AllReduce") || has("all_reduce") || has("allreduce")) return 2 * (ranks - 1) / ranks;
  if (has("AllGather") || has("all_gather") || has("ReduceScatter") || has("reduce_scatter") ||
      has("all_to_all") || has("alltoall")) {
    return (ranks - 1) / ranks;
  }
  return 1;
}

enum class Source { kKernels, kAnnotations, kParamComms };

bool belongs_to(Source source, Category category, std::string_view name) {
  switch (source) {
    case Source::kKernels:
      return category == Category::kKernel && is_communication_kernel(name);
    case Source::kAnnotations:
      return is_host_node(category) && is_communication_op(name);
    case Source::kParamComms:
      return category == Category::kCpuOp && name == "record_param_comms";
  }
  return false;
}

std::vector<SliceId> find_calls(const Trace& trace) {
  for (const Source source : {Source::kKernels, Source::kAnnotations, Source::kParamComms}) {
    std::vector<SliceId> calls;
    for_each_slice(trace, [&](SliceId slice, Category category) {
      if (belongs_to(source, category, name_of(trace, slice))) calls.push_back(slice);
    });
    if (!calls.empty()) return calls;
  }
  return {};
}

bool is_computation(Category category, std::string_view name, bool on_device) {
  if (on_device) return category == Category::kKernel && !is_communication_kernel(name);
  return category == Category::kCpuOp && !is_communication_op(name) &&
         name != "record_param_comms" && !starts_with(name, "c10d::");
}

constexpr int32_t kHost = -1;

// Of one device, or of the host.
Intervals computation(const Trace& trace, int32_t device) {
  const bool on_device = device != kHost;
  std::vector<Interval> busy;
  for_each_slice(trace, [&](SliceId slice, Category category) {
    if (!is_computation(category, name_of(trace, slice), on_device)) return;
    if (on_device && track_of(trace, slice).device != device) return;
    busy.push_back(interval_of(trace, slice));
  });
  return merge(std::move(busy));
}

// The device that a call runs on, kHost for a process group's annotation.
int32_t device_of(const Trace& trace, SliceId call) {
  const bool is_kernel = trace.slices().category[call.value] == Category::kKernel;
  return is_kernel ? track_of(trace, call).device : kHost;
}

struct Sums {
  int64_t count = 0;
  int64_t bytes = 0;
  int64_t total_ns = 0;
  int64_t exposed_ns = 0;
};

}  // namespace

bool is_communication_kernel(std::string_view name) {
  return starts_with(name, "nccl") && name.find("Kernel") != std::string_view::npos;
}

bool is_communication_op(std::string_view name) {
  constexpr std::array kPrefixes = {"nccl:", "gloo:", "mpi:", "ucc:", "xccl:"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return starts_with(name, prefix); });
}

std::vector<Collective> find_collectives(const Trace& trace) {
  const std::vector<SliceId> calls = find_calls(trace);
  std::map<int32_t, Intervals> busy;  // by device
  std::map<std::tuple<std::string, std::string, int64_t>, Sums> rows;
  for (const SliceId call : calls) {
    const Args args(trace, call);
    const int64_t bytes = message_bytes(args).value_or(-1);
    const int32_t device = device_of(trace, call);
    const auto [beside, is_new] = busy.try_emplace(device);
    if (is_new) beside->second = computation(trace, device);

    Sums& sums = rows[{std::string(name_of(trace, call)), args.text("Process Group Name"), bytes}];
    const Interval interval = interval_of(trace, call);
    ++sums.count;
    sums.bytes += bytes;
    sums.total_ns += interval.length_ns();
    sums.exposed_ns += interval.length_ns() - total_within_ns(beside->second, interval);
  }
  std::vector<Collective> collectives;
  for (const auto& [key, sums] : rows) {
    const auto& [name, group, bytes] = key;
    Collective row{name, group, std::nullopt, sums.count, sums.total_ns, sums.exposed_ns, {}};
    if (bytes >= 0) row.bytes = sums.bytes;
    const int ranks = trace.metadata().world_size.value_or(0);
    if (bytes > 0 && ranks > 1 && sums.total_ns > 0) {
      row.bus_bandwidth = static_cast<double>(sums.bytes) * 1e9 /
                          static_cast<double>(sums.total_ns) * bus_factor(name, ranks);
    }
    collectives.push_back(std::move(row));
  }
  std::stable_sort(collectives.begin(), collectives.end(),
                   [](const Collective& left, const Collective& right) {
                     return left.total_ns > right.total_ns;
                   });
  return collectives;
}

int64_t mean_exposed_communication_ns(const Trace& trace, const std::vector<Step>& steps) {
  if (steps.empty()) return 0;
  std::map<int32_t, std::vector<Interval>> calls;  // by device
  for (const SliceId call : find_calls(trace)) {
    calls[device_of(trace, call)].push_back(interval_of(trace, call));
  }
  Intervals exposed;
  for (auto& [device, intervals] : calls) {
    exposed = unite(exposed, subtract(merge(std::move(intervals)), computation(trace, device)));
  }
  int64_t sum_ns = 0;
  for (const Step& step : steps) sum_ns += total_within_ns(exposed, step.window);
  return sum_ns / static_cast<int64_t>(steps.size());
}

}  // namespace redline::trace

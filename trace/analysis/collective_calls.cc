#include "trace/analysis/collective_calls.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "trace/emit/json_scan.h"
#include "trace/model/slice_view.h"
#include "trace/read/args.h"
#include "trace/read/recorded_facts.h"
#include "trace/read/text_cursor.h"

namespace redline::trace {
namespace {

// Product of the numbers of the first tensor in "Input Dims": [[[64, 3]], …] or [[64, 3], …].
std::optional<int64_t> first_tensor_elements(std::string_view dims) {
  const size_t first = dims.find_first_of("0123456789");
  if (first == std::string_view::npos) return std::nullopt;
  const size_t end = dims.find(']', first);
  int64_t elements = 1;
  for (size_t at = first; at < end && at != std::string_view::npos;) {
    const size_t stop = std::min(dims.find_first_of(",]", at), end);
    const auto size = parse_scaled(dims.substr(at, stop - at), 0);
    if (!size || __builtin_mul_overflow(elements, *size, &elements)) return std::nullopt;
    at = dims.find_first_of("0123456789", stop);
  }
  return elements;
}

std::string_view first_string(std::string_view list) {
  const size_t open = list.find('"');
  if (open == std::string_view::npos) return {};
  return list.substr(open + 1, list.find('"', open + 1) - open - 1);
}

// What the args of an event tell about a collective.
struct Facts {
  std::optional<int64_t> in_elements, out_elements, ranks, seq;
  std::string type, group, group_ranks, collective, input_dims, input_types;

  /// Adds the facts of `event`, which may go on behind the event. Facts that are already known
  /// stay.
  void read(std::string_view event) {
    constexpr auto kKeys = std::to_array<std::string_view>(
        {"In msg nelems", "Out msg nelems", "Group size", "Seq", "dtype", "Process Group Name",
         "Process Group Ranks", "Collective name", "Input Dims", "Input type"});
    std::array<std::string_view, kKeys.size()> values;
    find_args(event, kKeys, values);
    const auto number = [](std::optional<int64_t>& field, std::string_view json) {
      if (!field) field = to_integer(json);
    };
    const auto text = [](std::string& field, std::string_view json) {
      if (field.empty()) field = unquote(json);
    };
    number(in_elements, values[0]);
    number(out_elements, values[1]);
    number(ranks, values[2]);
    number(seq, values[3]);
    text(type, values[4]);
    text(group, values[5]);
    text(group_ranks, values[6]);
    text(collective, values[7]);
    if (first_tensor_elements(values[8])) text(input_dims, values[8]);
    if (element_bytes(first_string(values[9])) > 0) text(input_types, values[9]);
  }
};

int64_t message_bytes(const Facts& facts, CollectiveKind kind, int ranks) {
  if (facts.in_elements) {
    const int64_t size = element_bytes(facts.type);
    const int64_t elements = std::max(*facts.in_elements, facts.out_elements.value_or(0));
    if (size > 0 && elements >= 0 && elements < INT64_MAX / size) return elements * size;
  }
  const auto elements = first_tensor_elements(facts.input_dims);
  const int64_t size = element_bytes(first_string(facts.input_types));
  // The input of an all-gather is only one rank's part of the message.
  const int64_t parts = kind == CollectiveKind::kAllGather ? std::max(1, ranks) : 1;
  if (!elements || size == 0 || *elements > INT64_MAX / size / parts) return -1;
  return *elements * size * parts;
}

enum class Source { kKernels, kAnnotations, kParamComms };

constexpr std::string_view kParamComms = "record_param_comms";

std::vector<SliceId> find_slices(const Trace& trace, const NameKinds& names, Source& source) {
  std::array<std::vector<SliceId>, 3> found;
  const StringId param_comms = trace.find_string(kParamComms);
  for_each_slice(trace, [&](SliceId slice, Category category) {
    const StringId name = trace.slices().name[slice.value];
    const uint8_t is = names.of(name);
    if (is == 0) return;
    const bool is_kernel = (is & kCommunicationKernelName) != 0;
    if (is_kernel && category == Category::kKernel) found[0].push_back(slice);
    if ((is & kCommunicationOpName) != 0 && is_host_node(category)) found[1].push_back(slice);
    if (name == param_comms && category == Category::kCpuOp) found[2].push_back(slice);
  });
  for (const Source one : {Source::kKernels, Source::kAnnotations, Source::kParamComms}) {
    source = one;
    if (!found[static_cast<size_t>(one)].empty()) return std::move(found[static_cast<size_t>(one)]);
  }
  return {};
}

// Sizes of process groups by name, from "distributedInfo".
std::map<std::string, int, std::less<>> group_sizes(const Trace& trace) {
  std::map<std::string, int, std::less<>> sizes;
  const RecordedFacts recorded(trace);
  for (const auto& group : recorded.value("distributedInfo", "pg_config")) {
    const auto name = group.find("pg_name"), size = group.find("pg_size");
    if (name == group.end() || size == group.end()) continue;
    if (name->is_string() && size->is_number_integer()) sizes[name->get<std::string>()] = *size;
  }
  return sizes;
}

class Finder {
 public:
  Finder(const Trace& trace, const NameKinds& names, const DeviceWorkTable& device,
         const HostTree& tree)
      : trace_(trace), names_(names), device_(device), tree_(tree) {}

  CollectiveCalls find() {
    Source source = Source::kKernels;
    auto slices = find_slices(trace_, names_, source);
    if (slices.empty()) return {};
    std::ranges::stable_sort(slices, {},
                             [&](SliceId slice) { return trace_.slices().begin_ns[slice.value]; });
    sizes_ = group_sizes(trace_);
    for (const SliceId slice : slices) found_.calls.push_back(describe(slice, source));
    number_calls();
    return std::move(found_);
  }

 private:
  CollectiveCall describe(SliceId slice, Source source) {
    CollectiveCall call;
    call.slice = slice;
    Facts facts;
    facts.read(calls_text_.text_from(slice));
    SliceId around = tree_.parent[slice.value];
    if (source == Source::kKernels) {
      call.device = track_of(trace_, slice).device;
      call.launch = device_.launch_of(slice);
      around = call.launch ? tree_.parent[call.launch.value] : SliceId::none();
    } else {
      call.is_timed = is_host_collective(name_of(trace_, slice));
    }
    std::string_view op = read_around(around, facts);
    if (op.empty()) op = name_of(trace_, slice);
    call.kind = collective_kind(facts.collective.empty() ? op : std::string_view(facts.collective));
    if (call.kind == CollectiveKind::kOther) call.kind = collective_kind(name_of(trace_, slice));
    call.group = group_of(facts);
    call.ranks = ranks_of(facts);
    call.bytes = message_bytes(facts, call.kind, call.ranks);
    call.seq_recorded = facts.seq.has_value();
    call.seq = facts.seq.value_or(0);
    return call;
  }

  // Adds the facts that only the operators around the call tell, and returns the collective's name
  // there. Without it one cannot know that a "SendRecv" kernel is an all-to-all.
  std::string_view read_around(SliceId around, Facts& facts) {
    constexpr int kLevels = 4;  // annotation, record_param_comms, c10d operator, and one to spare
    std::string_view op;
    for (int level = 0; level < kLevels && around; ++level) {
      const std::string_view name = name_of(trace_, around);
      const bool is_op = names_.is(trace_.slices().name[around.value], kCommunicationOpName);
      if (is_op && op.empty()) op = name;
      if (is_op || name == kParamComms) facts.read(around_text_.text_from(around));
      around = tree_.parent[around.value];
    }
    return op;
  }

  uint32_t group_of(const Facts& facts) {
    const ProcessGroup group{decode_string(facts.group), decode_string(facts.group_ranks)};
    const auto next = static_cast<uint32_t>(found_.groups.size());
    const auto [known, is_new] = groups_.try_emplace({group.name, group.ranks}, next);
    if (is_new) found_.groups.push_back(group);
    return known->second;
  }

  // A call that does not name its group is taken for one of the whole job.
  [[nodiscard]] int ranks_of(const Facts& facts) const {
    if (facts.ranks && *facts.ranks > 0 && *facts.ranks < INT32_MAX) {
      return static_cast<int>(*facts.ranks);
    }
    const auto known = sizes_.find(facts.group);
    if (known != sizes_.end()) return known->second;
    const bool is_default = facts.group.empty() || facts.group == "0";
    return is_default ? trace_.metadata().world_size.value_or(0) : 0;
  }

  void number_calls() {
    std::map<std::tuple<uint32_t, CollectiveKind, int64_t>, int64_t> next;
    for (CollectiveCall& call : found_.calls) {
      if (!call.seq_recorded) call.seq = next[{call.group, call.kind, call.bytes}]++;
    }
  }

  const Trace& trace_;
  const NameKinds& names_;
  const DeviceWorkTable& device_;
  // Two cursors, because work and the operators that started it stand in different places of the
  // text.
  TextCursor calls_text_{trace_}, around_text_{trace_};
  const HostTree& tree_;
  std::map<std::string, int, std::less<>> sizes_;
  std::map<std::pair<std::string, std::string>, uint32_t> groups_;  // index by name and ranks
  CollectiveCalls found_;
};

}  // namespace

CollectiveCalls find_collective_calls(const Trace& trace, const NameKinds& names,
                                      const DeviceWorkTable& device, const HostTree& tree) {
  return Finder(trace, names, device, tree).find();
}

}  // namespace redline::trace

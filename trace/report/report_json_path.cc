#include "trace/report/report_json_parts.h"

namespace redline::trace {
namespace {

using json = nlohmann::ordered_json;

// The most names of a sequence, because one may be as long as a step.
constexpr size_t kNamesShown = 32;

}  // namespace

json critical_path_json(const StringTable& strings, const std::optional<CriticalPath>& path) {
  if (!path) return nullptr;
  json mean = json::object();
  for (size_t i = 0; i < kStepPartCount; ++i) {
    mean[std::string(kBreakdownPartNames[i])] = path->mean_ns[i];
  }
  const json names = list_json(path->names, [&](const PathName& row) {
    return json{{"name", strings.at(row.name)},
                {"class", part_name(row.kind)},
                {"parts", row.count},
                {"total_ns", row.total_ns}};
  });
  const json longest = list_json(path->longest, [&](const PathPart& part) {
    return json{{"event", part.slice ? json(part.slice.value) : json()},
                {"name", part.slice ? json(strings.at(part.name)) : json()},
                {"class", part_name(part.kind)},
                {"begin_ns", part.interval.begin_ns},
                {"ns", part.interval.length_ns()}};
  });
  return {{"steps", path->steps}, {"mean_ns", mean}, {"names", names}, {"longest", longest}};
}

json sequences_json(const StringTable& strings, std::span<const KernelSequence> sequences) {
  return list_json(sequences, [&](const KernelSequence& sequence) {
    const std::span<const StringId> names = sequence.names;
    return json{{"length", names.size()},
                {"kernels", list_json(names.first(std::min(kNamesShown, names.size())),
                                      [&](StringId name) { return strings.at(name); })},
                {"event", sequence.first.value},
                {"count", sequence.count},
                {"total_ns", sequence.total_ns},
                {"gap_ns", sequence.gap_ns},
                {"mean_gap_ns", sequence.mean_gap_ns()}};
  });
}

}  // namespace redline::trace

#include "viewer/models/kernel_origins.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <string_view>

namespace redline::viewer {
namespace {

using Counts = std::map<std::string_view, std::map<std::string_view, int64_t>>;

void count(const trace::Analysis& analysis, Counts& counts) {
  const trace::Trace& trace = *analysis.trace;
  std::unordered_map<uint64_t, int64_t> by_ids;  // of the kernel's and the operator's names
  for (const trace::DeviceWork& row : analysis.device_work.rows) {
    if (!row.is_kernel() || !row.launch || !row.name) continue;
    const trace::SliceId from = operator_around(trace, analysis.host_tree, row.launch);
    const trace::StringId name = from ? trace.slices().name[from.value] : trace::StringId::none();
    if (name) ++by_ids[uint64_t{row.name.value} << 32 | name.value];
  }
  for (const auto& [ids, calls] : by_ids) {
    const trace::StringId kernel{static_cast<uint32_t>(ids >> 32)};
    const trace::StringId from{static_cast<uint32_t>(ids)};
    counts[trace.string(kernel)][trace.string(from)] += calls;
  }
}

}  // namespace

KernelOrigins kernel_origins(const trace::Report& report) {
  Counts counts;
  for (const trace::Analysis& analysis : report.analyses) count(analysis, counts);
  KernelOrigins origins;
  for (const auto& [kernel, operators] : counts) {
    int64_t all = 0;
    const auto* most = &*operators.begin();
    for (const auto& one : operators) {
      all += one.second;
      if (one.second > most->second) most = &one;
    }
    std::string& text = origins[std::string(kernel)];
    text = most->first;
    if (operators.size() > 1) {
      text += fmt::format(", {} %", std::lround(100.0 * static_cast<double>(most->second) /
                                                static_cast<double>(all)));
    }
  }
  return origins;
}

}  // namespace redline::viewer

#include "trace/report/report_modules.h"

#include <fmt/format.h>

#include "base/format.h"

namespace redline::trace {

std::string module_title(const ModuleRow& row) {
  if (row.modules == 1) {
    return row.label.starts_with(row.type) ? row.label : row.label + " (" + row.type + ")";
  }
  return row.label == row.type ? fmt::format("{} ({})", row.label, row.modules)
                               : fmt::format("{} ({} x {})", row.label, row.modules, row.type);
}

std::vector<std::string> module_notes(const ModuleRows& modules) {
  std::vector<std::string> notes;
  const ModuleRow& process = modules.rows.front();
  const char* kind = modules.has_gpu ? "GPU time" : "host time";
  const int64_t all_ns = modules.time_ns(process.total);
  const auto share = [&](int64_t part_ns) { return format_percent(share_of(part_ns, all_ns)); };
  const int64_t again_ns =
      modules.time_ns(process.total[static_cast<size_t>(ModulePass::kRecomputation)]);
  if (again_ns > 0) {
    notes.push_back(fmt::format(
        "Activation checkpointing computes modules again in the backward pass: {} of {}, {} of it "
        "all.",
        format_ns(again_ns), kind, share(again_ns)));
  }
  const int64_t outside_ns = modules.time_ns(process.self);
  if (modules.has_gpu && outside_ns > 0) {
    notes.push_back(fmt::format("{} of GPU time, {}, belongs to no module.", format_ns(outside_ns),
                                share(outside_ns)));
  }
  if (!modules.has_names) {
    notes.push_back(
        "The trace has classes of modules, not their names: redline record --modules writes both.");
  }
  return notes;
}

}  // namespace redline::trace

#include <fmt/format.h>

#include <span>

#include "base/format.h"
#include "trace/report/kernel_name.h"
#include "trace/report/report_figures.h"
#include "trace/report/report_text_page.h"
#include "trace/report/report_words.h"

namespace redline::trace {
namespace {

std::vector<std::string> path_names(const RankSummary& summary, std::span<const PathName> parts,
                                    size_t width) {
  std::vector<std::string_view> of_kernels;
  for (const PathName& part : parts) {
    const bool is_kernel = part.name && is_on_device(part.kind);
    of_kernels.push_back(is_kernel ? summary.string(part.name) : std::string_view());
  }
  std::vector<std::string> names = short_kernel_names(of_kernels, width);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].name) {
      names[i] = parts[i].kind == BreakdownPart::kOther ? "outside operators" : "";
    } else if (!is_on_device(parts[i].kind)) {
      names[i] = short_operator_name(summary.string(parts[i].name), width);
    }
  }
  return names;
}

}  // namespace

void write_critical_path(TextPage& page) {
  constexpr size_t kPathColumns = 33;
  const RankSummary& summary = page.report.traces[advised_trace(page.report)];
  if (!summary.critical_path || summary.critical_path->steps == 0) return;
  const CriticalPath& path = *summary.critical_path;
  const int64_t step_ns = path.step_ns();
  if (step_ns == 0 || path.names.empty()) return;
  const size_t rows = page.shown(path.names.size());  // its analysis keeps the first names only
  page.write_title("CRITICAL PATH" + of_rank(page.report, summary), fmt::format(" (top {})", rows),
                   52);
  page.canvas.right("parts", 8, Hue::kDim)
      .right(summary.has_marked_steps() ? "a step" : "time", 10, Hue::kDim)
      .right("share", 10, Hue::kDim)
      .end_line();
  page.canvas.dim_line("  " + path_classes(path, kTerminalColumns - 2));
  const auto names = path_names(summary, std::span(path.names).first(rows), kPathColumns);
  for (size_t i = 0; i < rows; ++i) {
    const PathName& part = path.names[i];
    const int64_t part_ns = part.total_ns / path.steps;
    page.canvas.left("  ")
        .left(part_name(part.kind), 15, Hue::kDim)
        .left(names[i], kPathColumns + 2)
        .right(format_count(part.count), 8)
        .right(format_ns(part_ns), 10)
        .right(share_text(part_ns, step_ns), 10)
        .end_line();
  }
  page.canvas.end_line();
}

// Only written if the user asks for everything; the advice has what matters in them.
void write_sequences(TextPage& page) {
  constexpr size_t kSequenceColumns = 19;
  const RankSummary& summary = page.report.traces[advised_trace(page.report)];
  if (page.scope.top != TextScope::kAll || summary.sequences.empty()) return;
  page.write_title("SEQUENCES that repeat" + of_rank(page.report, summary),
                   summary.sequences.size(), 44);
  page.canvas.right("kernels", 8, Hue::kDim)
      .right("times", 8, Hue::kDim)
      .right("busy", 10, Hue::kDim)
      .right("idle", 10, Hue::kDim)
      .end_line();
  for (const KernelSequence& sequence : summary.sequences) {
    const auto name = [&](StringId id) {
      return short_kernel_name(summary.string(id), kSequenceColumns);
    };
    page.canvas.left("  ")
        .left(name(sequence.names.front()) + " … " + name(sequence.names.back()), 42)
        .right(format_count(sequence.names.size()), 8)
        .right(format_count(sequence.count), 8)
        .right(format_ns(sequence.total_ns), 10)
        .right(format_ns(sequence.gap_ns), 10)
        .end_line();
  }
  page.canvas.end_line();
}

}  // namespace redline::trace

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "trace/report/html.h"
#include "trace/report/kernel_name.h"
#include "trace/report/report_figures.h"
#include "trace/report/report_html.h"
#include "trace/report/report_words.h"

namespace redline::trace {
namespace {

std::string path_html(const RankSummary& summary, const std::string& rank) {
  if (!summary.critical_path || summary.critical_path->steps == 0) return {};
  const CriticalPath& path = *summary.critical_path;
  const bool marked = summary.has_marked_steps();
  const int64_t step_ns = path.step_ns();
  std::vector<std::string_view> names, of_kernels;
  for (const PathName& part : path.names) {
    names.push_back(part.name ? summary.string(part.name) : std::string_view("outside operators"));
    of_kernels.push_back(is_on_device(part.kind) ? names.back() : std::string_view());
  }
  const std::vector<std::string> kernels = short_kernel_names(of_kernels, html::kNameLetters);
  std::vector<std::string> rows;
  for (const PathName& part : path.names) {
    const std::string_view name = names[rows.size()];
    const std::string_view what = part_name(part.kind);
    const int64_t part_ns = part.total_ns / path.steps;
    const double share = share_of(part_ns, step_ns);
    rows.push_back(html::name_cell(name, is_on_device(part.kind) ? kernels[rows.size()] : name) +
                   html::text_cell(what) + html::bar_cell(share, what) + html::share_cell(share) +
                   html::count_cell(part.count) + html::time_cell(part_ns));
  }
  return html::table("Critical path" + rank,
                     fmt::format("what the length of {} is made of: {}",
                                 marked ? "a step" : "the recording", path_classes(path, 200)),
                     {{"name", false},
                      {"what", false},
                      {"", false, true},
                      {marked ? "of the step" : "of it"},
                      {"parts"},
                      {marked ? "a step" : "time"}},
                     rows, 8);
}

/// The first kernels of a sequence, which may have thousands; "× 40" for one that comes again.
std::string kernels_of(const RankSummary& summary, const KernelSequence& sequence) {
  constexpr size_t kMostKernels = 12;
  const std::vector<StringId>& names = sequence.names;
  std::string text;
  size_t shown = 0;
  for (size_t i = 0; i < names.size() && shown < kMostKernels; ++shown) {
    const auto other = std::find_if(names.begin() + static_cast<ptrdiff_t>(i), names.end(),
                                    [&](StringId name) { return name != names[i]; });
    const auto end = static_cast<size_t>(other - names.begin());
    text += (text.empty() ? "" : " → ") +
            short_kernel_name(summary.string(names[i]), html::kNameLetters);
    if (end - i > 1) text += fmt::format(" × {}", end - i);
    i = end;
    if (shown + 1 == kMostKernels && end < names.size()) {
      text += fmt::format(" → … {} more", format_count(names.size() - end));
    }
  }
  return text;
}

std::string sequences_html(const RankSummary& summary, const std::string& rank) {
  std::vector<std::string> rows;
  for (const KernelSequence& sequence : summary.sequences) {
    const std::string kernels = kernels_of(summary, sequence);
    rows.push_back(html::name_cell(kernels, kernels) +
                   html::count_cell(static_cast<int64_t>(sequence.names.size())) +
                   html::count_cell(sequence.count) + html::time_cell(sequence.total_ns) +
                   html::time_cell(sequence.gap_ns));
  }
  return html::table(
      "Sequences that repeat" + rank, "what a CUDA graph or one fused kernel could do",
      {{"kernels", false}, {"length"}, {"times"}, {"busy"}, {"idle inside"}}, rows, 5);
}

}  // namespace

std::string paths_html(const Report& report) {
  const RankSummary& summary = report.traces[advised_trace(report)];
  const std::string rank = of_rank(report, summary);
  return path_html(summary, rank) + sequences_html(summary, rank);
}

}  // namespace redline::trace

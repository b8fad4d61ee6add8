#include <fmt/format.h>

#include "base/format.h"
#include "trace/report/report.h"
#include "trace/report/report_figures.h"
#include "trace/report/report_text_page.h"
#include "trace/report/report_words.h"

namespace redline::trace {

// Writes host and GPU time of the step's phases.
void write_phases(TextPage& page) {
  const auto phases = mean_phases(page.report);
  if (!phases) return;
  page.canvas.left(first_in_means(page.report).has_marked_steps() ? "PARTS of a step" : "PARTS", 26,
                   Hue::kBold);
  for (size_t i = 0; i < kPhaseCount; ++i) {
    page.canvas.right(phase_title(*phases, i), 12, Hue::kDim);
  }
  page.canvas.end_line();
  const auto line = [&](const char* title, int64_t PhaseTime::*time) {
    page.canvas.left("  ").left(title, 24);
    for (const PhaseTime& phase : *phases) {
      page.canvas.right(format_ns_or_dash(phase.*time), 12);
    }
    page.canvas.end_line();
  };
  line("operators on the host", &PhaseTime::host_ns);
  if (first_with_gpus(page.report.traces)) line("work on the GPU", &PhaseTime::device_ns);
  page.canvas.end_line();
}

void write_launches(TextPage& page) {
  if (page.scope.top < TextScope::kAll) return;  // the advice has what matters in it
  for (const RankSummary& summary : page.report.traces) {
    if (!summary.launches) continue;
    const LaunchStatistics& launches = *summary.launches;
    page.canvas.left("LAUNCHES" + of_rank(page.report, summary), 26, Hue::kBold)
        .left(fmt::format("{} of GPU work by {}, {} of graphs", format_count(launches.count),
                          format_plural(launches.calls, "call"),
                          format_count(launches.graph_launches)))
        .end_line();
    page.canvas
        .left(fmt::format("  mean: call {}, delay to begin {}, work {}",
                          format_ns(launches.host_ns.mean), format_ns(launches.delay_ns.mean),
                          format_ns(launches.device_ns.mean)))
        .end_line()
        .left(fmt::format("  shorter than the call that launched it: {}",
                          share_text(launches.short_count, launches.count)))
        .end_line();
    if (summary.idle) {
      page.canvas
          .left(fmt::format("  streams idle: {} for the host, {} between kernels, {} else",
                            format_ns(summary.idle->host_wait_ns),
                            format_ns(summary.idle->kernel_wait_ns),
                            format_ns(summary.idle->other_ns)))
          .end_line();
    }
    page.canvas.end_line();
  }
}

}  // namespace redline::trace

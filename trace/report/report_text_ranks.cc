#include <fmt/format.h>

#include <vector>

#include "base/format.h"
#include "base/statistics.h"
#include "trace/report/report_figures.h"
#include "trace/report/report_text_page.h"
#include "trace/report/report_words.h"

namespace redline::trace {
namespace {

// The ranks to show, in order. If not all are shown, those with the longest own work, because the
// others wait for them.
std::vector<size_t> shown_ranks(const TextPage& page, const std::vector<RankTime>& times) {
  const size_t shown = page.shown(times.size());
  std::vector<size_t> order = largest_first(times.size(), [&](size_t i) {
    return shown < times.size() ? times[i].own_work_ns : std::nullopt;
  });
  order.resize(shown);
  return order;
}

}  // namespace

void write_ranks(TextPage& page) {
  if (!page.report.comparison) return;
  const RankComparison& ranks = *page.report.comparison;
  TextCanvas& canvas = page.canvas;
  canvas.left("RANKS", 10, Hue::kBold)
      .right(first_in_means(page.report).has_marked_steps() ? "step" : "length", 11, Hue::kDim)
      .right("own work", 11, Hue::kDim)
      .right("exposed collectives", 21, Hue::kDim)
      .right("clock", 25, Hue::kDim)
      .end_line();
  for (const size_t i : shown_ranks(page, ranks.times)) {
    const RankTime& time = ranks.times[i];
    const bool late = ranks.straggler == i;
    const auto exposed_ns = time.exposed_communication_ns;
    std::string clock;
    if (i < ranks.clocks.size()) {
      clock = ranks.clocks[i] ? offset_text(*ranks.clocks[i]) : "unknown";
    }
    canvas.left("  ")
        .left(fmt::format("rank {}", time.rank), 8, late ? Hue::kRed : Hue::kNone)
        .right(format_ns(time.step_ns), 11)
        .right(time_text(time.own_work_ns), 11)
        .right(time_text(exposed_ns), 12)
        .right(exposed_ns ? share_text(*exposed_ns, time.step_ns) : "-", 9)
        .right(clock, 25)
        .end_line();
  }
  if (ranks.times.size() > page.scope.top) {
    canvas.dim_line(
        fmt::format("  … and {} more with less own work", ranks.times.size() - page.scope.top));
  }
  for (const std::string& line : spread_lines(page.report)) {
    canvas.left("  ").left(line, kTerminalColumns - 2).end_line();
  }
  if (ranks.straggler) {
    canvas.dim_line(fmt::format("  rank {} has the longest own work, {}{} more than the shortest",
                                ranks.times[*ranks.straggler].rank, format_ns(*ranks.skew_ns),
                                first_in_means(page.report).a_step()));
  }
  if (ranks.late_in) {
    canvas.dim_line(fmt::format("  most of that is {}", place_of(*ranks.late_in)));
  }
  if (ranks.waits && ranks.waits->most_awaited()) {
    const size_t late = *ranks.waits->most_awaited();
    canvas.dim_line(fmt::format("  in {} the others waited for rank {} most: {} in all",
                                format_plural(ranks.waits->collectives, "collective"),
                                ranks.times[late].rank, format_ns(ranks.waits->awaited_ns(late))));
  }
  canvas.end_line();
}

}  // namespace redline::trace

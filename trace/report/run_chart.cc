#include "trace/report/run_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "base/format.h"
#include "trace/report/run_words.h"

namespace redline::trace {
namespace {

constexpr double kPlaces = 1000;  // of two marks of a kind in one place, the first is shown

int64_t time_of(const RunChart& chart, int64_t step) {
  const auto after = std::ranges::find_if(
      chart.points, [step](const RunChartPoint& point) { return point.step >= step; });
  return after == chart.points.end() ? chart.end_ns : after->time_ns;
}

// When the step was, by the clock of the points: ranks on other hosts may have another one.
int64_t time_of(const RunChart& chart, const SlowStep& slow) {
  const auto next = std::ranges::upper_bound(chart.points, slow.step, {}, &RunChartPoint::step);
  const int64_t from_ns = next == chart.points.begin() ? chart.begin_ns : std::prev(next)->time_ns;
  const int64_t to_ns = next == chart.points.end() ? chart.end_ns : next->time_ns;
  return std::clamp(slow.begin_ns, from_ns, std::max(from_ns, to_ns));
}

void add_findings(RunChart& chart, const std::vector<RunFinding>& findings) {
  for (size_t i = 0; i < findings.size(); ++i) {
    if (findings[i].from_step == 0) continue;
    chart.marks.push_back({.kind = RunChartMark::Kind::kFinding,
                           .time_ns = time_of(chart, findings[i].from_step),
                           .number = i + 1,
                           .words = headline_of(findings[i])});
  }
}

void add_slow_steps(RunChart& chart, const std::vector<SlowStep>& slow) {
  for (const SlowStep& step : slow) {
    const std::string_view part = slow_part_name(step);
    chart.marks.push_back(
        {.kind = RunChartMark::Kind::kSlowStep,
         .time_ns = time_of(chart, step),
         .words = fmt::format("step {}: {}{}{}", format_count(step.step), format_ns(step.length_ns),
                              part.empty() ? "" : ", ", part)});
  }
}

void add_events(RunChart& chart, const std::vector<LogMark>& marks) {
  std::set<std::pair<LogMarkKind, int64_t>> taken;
  for (const LogMark& mark : marks) {
    const auto place = std::llround(kPlaces * chart.share_of(mark.time_ns));
    if (!taken.emplace(mark.kind, place).second) continue;
    chart.marks.push_back({.time_ns = mark.time_ns,
                           .event = mark.kind,
                           .words = fmt::format("{} {}", log_mark_name(mark.kind), mark.text)});
  }
}

}  // namespace

double RunChart::share_of(int64_t time_ns) const {
  const double length = static_cast<double>(std::max<int64_t>(1, end_ns - begin_ns));
  return std::clamp(static_cast<double>(time_ns - begin_ns) / length, 0.0, 1.0);
}

RunChart run_chart(const RunVerdict& verdict) {
  RunChart chart;
  chart.steps = verdict.steps;
  chart.end_ns = verdict.end_ns;
  chart.unit = verdict.samples_per_s ? "samples/s" : "steps/s";
  for (const RunPoint& point : verdict.points) {
    const double rate = verdict.samples_per_s ? point.samples_per_s.value_or(0) : point.steps_per_s;
    chart.points.push_back({point.time_ns, point.step, rate});
    chart.highest = std::max(chart.highest, rate);
  }
  chart.begin_ns = chart.points.empty() ? verdict.begin_ns : chart.points.front().time_ns;
  add_findings(chart, verdict.findings);
  add_slow_steps(chart, verdict.slow);
  add_events(chart, verdict.marks);
  return chart;
}

}  // namespace redline::trace

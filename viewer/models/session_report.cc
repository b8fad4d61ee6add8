#include "viewer/models/session_report.h"

#include <fmt/format.h>

#include "viewer/models/format.h"

namespace redline::viewer {
namespace {

constexpr size_t kNamed = 3;

// The session's traces of a compared rank. A job that recorded several cycles left several traces
// of each rank, all on one clock.
std::vector<uint32_t> traces_of_rank(const Session& session, const trace::Report& report,
                                     size_t rank) {
  const std::vector<int> numbers = trace::rank_numbers(trace::pointers_to(report.traces));
  std::vector<uint32_t> traces;
  for (size_t t = 0; t < report.traces.size(); ++t) {
    if (numbers[t] != report.comparison->times[rank].rank) continue;
    if (const auto index = trace_at(session, report, t)) traces.push_back(*index);
  }
  return traces;
}

}  // namespace

std::optional<uint32_t> trace_of(const Session& session, const trace::Analysis& analysis) {
  for (uint32_t t = 0; t < session.traces().size(); ++t) {
    if (session.traces()[t].trace == analysis.trace) return t;
  }
  return std::nullopt;
}

std::optional<uint32_t> trace_at(const Session& session, const trace::Report& report,
                                 size_t index) {
  if (report.analyses.size() == report.traces.size()) {
    return trace_of(session, report.analyses[index]);
  }
  for (uint32_t t = 0; t < session.traces().size(); ++t) {
    if (session.traces()[t].trace->path() == report.traces[index].facts.path) return t;
  }
  return std::nullopt;
}

const trace::Analysis* analysis_at(const trace::Report& report, size_t index) {
  if (report.analyses.size() == report.traces.size()) return &report.analyses[index];
  for (const trace::Analysis& analysis : report.analyses) {
    if (analysis.facts.path == report.traces[index].facts.path) return &analysis;
  }
  return nullptr;
}

std::optional<ClockShifts> clock_shifts(const Session& session, const trace::Report& report) {
  if (!report.comparison || session.aligned_at_start() || session.before_count() > 0) {
    return std::nullopt;
  }
  const trace::RankComparison& ranks = *report.comparison;
  ClockShifts shifts{std::vector<int64_t>(session.traces().size(), 0), {}};
  size_t moved = 0;
  for (size_t r = 0; r < ranks.clocks.size() && r < ranks.times.size(); ++r) {
    const auto& clock = ranks.clocks[r];
    const std::vector<uint32_t> of_rank = traces_of_rank(session, report, r);
    if (!clock || of_rank.empty() || clock->offset_ns == 0) continue;
    for (const uint32_t t : of_rank) shifts.shift_ns[t] = clock->offset_ns;
    if (++moved > kNamed) continue;
    shifts.text += fmt::format(
        "{}{} by {} ± {}", moved > 1 ? ", " : "", session.traces()[of_rank.front()].title,
        format_change(clock->offset_ns), format_duration(clock->uncertainty_ns));
  }
  if (moved == 0) return std::nullopt;
  if (moved > kNamed) shifts.text += fmt::format(" and {} more", moved - kNamed);
  return shifts;
}

}  // namespace redline::viewer

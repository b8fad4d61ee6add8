#include "viewer/models/clocks.h"

#include <fmt/format.h>

#include "viewer/models/derived_tracks.h"
#include "viewer/models/format.h"

namespace redline::viewer {
namespace {

constexpr size_t kNamed = 3;

std::string signed_duration(int64_t ns) { return (ns > 0 ? "+" : "") + format_duration(ns); }

// A job that recorded several cycles left several traces of a rank, all by one clock. Where each
// trace is a rank of its own, one may not say which.
std::vector<uint32_t> traces_of_rank(const Session& session, const trace::Report& report,
                                     size_t rank) {
  const auto& times = report.comparison->times;
  const bool one_each = times.size() == report.traces.size();
  std::vector<uint32_t> traces;
  for (size_t t = 0; t < report.traces.size(); ++t) {
    const bool is_of_rank =
        one_each ? t == rank : report.traces[t].trace->metadata().rank == times[rank].rank;
    if (!is_of_rank) continue;
    if (const auto index = trace_of(session, report.traces[t])) traces.push_back(*index);
  }
  return traces;
}

}  // namespace

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
        signed_duration(clock->offset_ns), format_duration(clock->uncertainty_ns));
  }
  if (moved == 0) return std::nullopt;
  if (moved > kNamed) shifts.text += fmt::format(" and {} more", moved - kNamed);
  return shifts;
}

}  // namespace redline::viewer

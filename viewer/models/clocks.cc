#include "viewer/models/clocks.h"

#include <fmt/format.h>

#include "viewer/models/derived_tracks.h"
#include "viewer/models/format.h"

namespace redline::viewer {
namespace {

constexpr size_t kNamed = 3;

std::string signed_duration(int64_t ns) { return (ns > 0 ? "+" : "") + format_duration(ns); }

}  // namespace

std::optional<ClockShifts> clock_shifts(const Session& session, const trace::Report& report) {
  if (!report.comparison || session.aligned_at_start() || session.before_count() > 0) {
    return std::nullopt;
  }
  const trace::RankComparison& ranks = *report.comparison;
  ClockShifts shifts{std::vector<int64_t>(session.traces().size(), 0), {}};
  size_t moved = 0;
  for (size_t r = 0; r < ranks.clocks.size() && r < report.traces.size(); ++r) {
    const auto& clock = ranks.clocks[r];
    const auto index = trace_of(session, report.traces[r]);
    if (!clock || !index || clock->offset_ns == 0) continue;
    shifts.shift_ns[*index] = clock->offset_ns;
    if (++moved > kNamed) continue;
    shifts.text +=
        fmt::format("{}{} by {} ± {}", moved > 1 ? ", " : "", session.traces()[*index].title,
                    signed_duration(clock->offset_ns), format_duration(clock->uncertainty_ns));
  }
  if (moved == 0) return std::nullopt;
  if (moved > kNamed) shifts.text += fmt::format(" and {} more", moved - kNamed);
  return shifts;
}

}  // namespace redline::viewer

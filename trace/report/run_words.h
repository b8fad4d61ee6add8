// The sentences that say what judge_run() found, for all forms of the report.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/run/verdict.h"

namespace redline::trace {

/// The key of a part in JSON: "data_wait".
[[nodiscard]] std::string_view log_part_key(LogPart part);
/// The part as people read it: "waiting for data"; of nullopt "outside of these parts".
[[nodiscard]] std::string_view log_part_name(std::optional<LogPart> part);
/// Where a slow step lost its time: "forward", "several parts"; "" if in no part that is seen.
[[nodiscard]] std::string_view slow_part_name(const SlowStep& step);
/// The key of a cause in JSON: "uneven_rank".
[[nodiscard]] std::string_view run_cause_key(RunCause cause);

/// Where an hour of the run goes. Left out are parts of 0.0 min, and all where no part is longer.
struct PartOfHour {
  std::optional<LogPart> part;  ///< nullopt: what is outside of all parts, the last one
  double share = 0;
};
[[nodiscard]] std::vector<PartOfHour> parts_of_hour(const RunVerdict& verdict);

/// What happened at a mark, as people read it: "window recorded".
[[nodiscard]] std::string_view log_mark_name(LogMarkKind kind);

/// One line: what was found, where and since when.
[[nodiscard]] std::string headline_of(const RunFinding& finding);
/// Figures behind the headline, and what can be done. May be empty.
[[nodiscard]] std::string detail_of(const RunFinding& finding);
/// "3.1 min" "of each hour", or "7.5 s" "once"; nullopt where the cost is not known.
struct RunCost {
  std::string time;
  const char* how_often;
};
[[nodiscard]] std::optional<RunCost> cost_of(const RunFinding& finding);

/// The rate of the whole run: "1,204 samples/s (18.8 steps/s)".
[[nodiscard]] std::string run_rate_text(const RunVerdict& verdict);
/// Between which rates all but a tenth on each side of the run went, without its warm-up; "" where
/// the run is too short.
[[nodiscard]] std::string usual_rates_text(const RunVerdict& verdict);
/// Why there is no finding: "nothing that the step log shows".
[[nodiscard]] std::string nothing_found_text(const RunVerdict& verdict);
/// What the logs lack: "3 steps could not be written to the log"; a line for each kind of loss.
[[nodiscard]] std::vector<std::string> lost_lines(const RunVerdict& verdict);
/// Of logs that cannot be read, at least one: how many, and why the first one: "1 log left out: …".
[[nodiscard]] std::string unreadable_logs_text(const std::vector<std::string>& logs);
/// How many logs are of another start of a rank, and so left out; "" if none.
[[nodiscard]] std::string other_logs_text(int64_t logs);
/// What the figures leave out, though the logs lack nothing: such logs, the time after the last
/// step, and slow steps that are joined to minutes; a line for each.
[[nodiscard]] std::vector<std::string> left_out_lines(const RunVerdict& verdict);
/// "4 ranks · 12,400 steps · 2 h 5 min · still running", or "3 of 4 ranks · …" if logs are missing.
[[nodiscard]] std::string run_subtitle(const RunVerdict& verdict);

}  // namespace redline::trace

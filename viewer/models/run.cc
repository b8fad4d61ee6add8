#include "viewer/models/run.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <map>

#include "base/format.h"
#include "base/terminal.h"
#include "trace/report/run_words.h"
#include "trace/run/folder.h"

namespace redline::viewer {
namespace {

namespace fs = std::filesystem;

/// The trace of a mark: where it was written or, if the folder was moved since then, beside the
/// logs. nullopt if it has been removed, as old windows are.
std::optional<fs::path> trace_of(const trace::LogMark& mark, const fs::path& folder) {
  const fs::path written(mark.text);
  const fs::path window = written.parent_path().filename();
  for (const fs::path& path :
       {written, folder / "windows" / window / written.filename(), folder / written.filename()}) {
    std::error_code error;
    if (fs::is_regular_file(path, error)) return path;
  }
  return std::nullopt;
}

std::vector<RunWindow> windows_of(const trace::RunVerdict& verdict, const fs::path& folder) {
  std::vector<std::pair<int64_t, fs::path>> traces;
  std::map<fs::path, int> in_folder;
  for (const trace::LogMark& mark : verdict.marks) {
    if (mark.kind != trace::LogMarkKind::kWindow) continue;
    if (auto trace = trace_of(mark, folder)) {
      ++in_folder[trace->parent_path()];
      traces.emplace_back(mark.time_ns, std::move(*trace));
    }
  }
  std::vector<RunWindow> windows;
  for (const auto& [time_ns, trace] : traces) {
    const bool is_alone = in_folder[trace.parent_path()] == 1;
    windows.push_back({time_ns, is_alone ? trace.parent_path() : trace});
  }
  std::ranges::sort(windows, {}, &RunWindow::time_ns);
  return windows;
}

std::vector<RunFindingText> findings_of(const trace::RunVerdict& verdict) {
  std::vector<RunFindingText> findings;
  for (const trace::RunFinding& finding : verdict.findings) {
    const auto cost = trace::cost_of(finding);
    findings.push_back({trace::headline_of(finding), trace::detail_of(finding),
                        cost ? cost->time + " " + cost->how_often : ""});
  }
  return findings;
}

std::vector<RunPartShare> parts_of(const trace::RunVerdict& verdict) {
  constexpr std::array<SliceClass, trace::kLogParts> kColours = {
      SliceClass::kDataLoader, SliceClass::kCompute,       SliceClass::kCompute,
      SliceClass::kCompute,    SliceClass::kCommunication, SliceClass::kOperator,
      SliceClass::kCopy,       SliceClass::kPython,        SliceClass::kOverhead,
      SliceClass::kDataLoader};
  std::vector<RunPartShare> parts;
  for (const auto& [part, share] : trace::parts_of_hour(verdict)) {
    const SliceClass colour = part ? kColours[static_cast<size_t>(*part)] : SliceClass::kOther;
    parts.push_back({std::string(trace::log_part_name(part)), share, colour});
  }
  return parts;
}

Table ranks_of(const trace::RunVerdict& verdict) {
  Table table{"Ranks",
              {{"Host"},
               {"Rank", Unit::kCount},
               {"Steps", Unit::kCount},
               {"Step", Unit::kDuration, "mean of its usual steps"},
               {"Own work", Unit::kDuration, "of a step, without waiting for other ranks"},
               {"Data wait", Unit::kShare, "share of its time in which it waits for data"},
               {"Memory", Unit::kBytes, "at the end: of the GPUs or, without any, of the host"}},
              {}};
  for (const trace::RankRow& row : verdict.ranks) {
    table.rows.push_back({.values = {row.host, int64_t{row.rank}, row.steps, row.step_ns,
                                     row.own_ns, row.wait_share, row.memory_bytes},
                          .slice = {},
                          .name = std::to_string(row.rank)});
  }
  return table;
}

std::string left_out_of(const trace::RunVerdict& verdict) {
  std::vector<std::string> lines = trace::lost_lines(verdict);
  for (const std::string& log : verdict.unreadable_logs) lines.push_back("left out: " + log);
  std::ranges::copy(trace::left_out_lines(verdict), std::back_inserter(lines));
  return joined(lines, " · ");
}

}  // namespace

std::optional<size_t> WholeRun::nearest_window(int64_t time_ns) const {
  if (windows.empty()) return std::nullopt;
  const auto nearest = std::ranges::min_element(
      windows, {}, [&](const RunWindow& window) { return std::abs(window.time_ns - time_ns); });
  return static_cast<size_t>(nearest - windows.begin());
}

bool has_run(const std::vector<std::string>& paths) { return !trace::step_logs_of(paths).empty(); }

bool is_run(const std::vector<std::string>& paths) {
  return has_run(paths) && trace::trace_paths_of(paths).empty();
}

tl::expected<WholeRun, std::string> load_run(const std::vector<std::string>& paths) {
  const std::vector<std::string> logs = trace::step_logs_of(paths);
  const auto read = trace::read_run(logs);
  if (!read) return tl::unexpected(read.error().message);
  if (!*read)
    return tl::unexpected(std::string("No step of the job is logged yet. F5 reads again."));
  const trace::RunVerdict& verdict = **read;
  std::error_code ignored;
  const fs::path folder = fs::absolute(logs.front(), ignored).lexically_normal().parent_path();
  WholeRun run;
  run.paths = paths;
  run.name = folder.filename();
  run.rate = trace::run_rate_text(verdict);
  run.subtitle = trace::run_subtitle(verdict);
  run.spread = trace::usual_rates_text(verdict);
  run.left_out = left_out_of(verdict);
  run.is_running = verdict.is_running;
  run.chart = trace::run_chart(verdict);
  run.findings = findings_of(verdict);
  run.nothing_found = capitalized(trace::nothing_found_text(verdict)) + ".";
  run.parts = parts_of(verdict);
  run.windows = windows_of(verdict, folder);
  run.ranks = ranks_of(verdict);
  return run;
}

}  // namespace redline::viewer

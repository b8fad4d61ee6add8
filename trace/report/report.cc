#include "trace/report/report.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/sample_shares.h"
#include "base/statistics.h"
#include "trace/analysis/run_tables.h"
#include "trace/analysis/stop_watch.h"

namespace redline::trace {

std::string title_of(const Report& report) {
  std::error_code ignored;
  const auto absolute = [&](const std::filesystem::path& path) {
    return std::filesystem::absolute(path, ignored).lexically_normal();
  };
  if (report.traces.empty()) {
    const auto path = absolute(std::filesystem::path(report.path) / "");
    return path.parent_path().filename().string() + "/";
  }
  const std::filesystem::path path(report.traces.front().facts.path);
  if (report.traces.size() == 1) return path.filename().string();
  const auto folder = absolute(path).parent_path();
  return folder.filename().string() + "/";
}

namespace {

// Each rank recorded its own samples times the number of ranks.
void count_shared_samples_once(Report& report, const std::vector<const RankSummary*>& ranks) {
  std::vector<std::string> digests;
  for (const RankSummary* rank : ranks) digests.push_back(rank->facts.batches_digest);
  const double share = mean_of(sample_shares(digests));
  report.shares_samples = share < 1;
  for (RankSummary& trace : report.traces) {
    for (std::optional<double>* count :
         {&trace.facts.samples_per_step, &trace.facts.tokens_per_step}) {
      if (*count) **count *= share;
    }
  }
}

// Compares the ranks of report.traces and takes their findings. A job that recorded several cycles
// left several traces of each rank.
void compare(Report& report, const std::atomic<bool>* cancel) {
  const std::vector<int> of_all = rank_numbers(pointers_to(report.traces));
  std::vector<RankRecording> recordings;
  for (size_t i = 0; i < of_all.size(); ++i) {
    const RankSummary& trace = report.traces[i];
    recordings.push_back({of_all[i], trace.facts.begin_ns, !trace.steps.empty()});
  }
  report.compared = recordings_to_compare(recordings);
  std::vector<const RankSummary*> ranks;
  std::vector<int> numbers;
  for (const size_t trace : report.compared) {
    ranks.push_back(&report.traces[trace]);
    numbers.push_back(of_all[trace]);
  }
  count_shared_samples_once(report, ranks);
  report.rank_count = std::ssize(ranks);
  StopWatch watch(cancel);
  watch.run("compare", [&] {
    report.comparison = compare_ranks(ranks, numbers);
    if (ranks.size() > kManyRanks && report.comparison->skew_ns) {
      report.spread = spread_of(report.comparison->times, ranks);
    }
  });
  watch.run("findings", [&] {
    report.findings = advise(ranks, report.comparison);
    for (Finding& finding : report.findings) {
      finding.trace = report.compared[finding.trace];
    }
  });
  watch.append_to(report.times);
}

}  // namespace

Report make_report(std::vector<RankSummary> summaries) {
  Report report;
  report.traces = std::move(summaries);
  const auto place = [](const RankSummary& summary) {
    const TraceFacts& facts = summary.facts;
    return place_of_trace(facts.rank, facts.begin_ns, facts.path);
  };
  std::ranges::sort(report.traces, {}, place);
  if (!report.traces.empty()) compare(report, nullptr);
  return report;
}

Report make_report(const std::vector<std::shared_ptr<const Trace>>& traces,
                   const std::atomic<bool>* cancel) {
  Report report;
  for (const auto& trace : traces) {
    Analysis analysis = analyze(trace, cancel);
    report.is_cancelled = analysis.is_cancelled;
    report.analyses.push_back(analysis.is_cancelled ? std::move(analysis)
                                                    : advised(std::move(analysis)));
    report.traces.push_back(report.analyses.back());
    if (report.is_cancelled) return report;
  }
  compare(report, cancel);
  report.is_cancelled = cancel != nullptr && cancel->load();
  return report;
}

namespace {

// While a job hangs, all that its ranks do is to wait, and figures hold that wait: no advice cures
// it. Where a rank failed, only the others' wait for it is such.
void drop_advice_on_the_wait(Report& report) {
  const auto is_on_the_wait = [&](const Finding& finding) {
    return !report.hang->has_failed || finding.rule == "straggler" ||
           finding.rule == "communication";
  };
  std::erase_if(report.findings, is_on_the_wait);
  for (RankSummary& rank : report.traces) std::erase_if(rank.findings, is_on_the_wait);
  // Ranks of a job that hung are killed by somebody in the end.
  if (report.hang->has_failed || !report.run) return;
  std::erase_if(report.run->findings,
                [](const RunFinding& finding) { return finding.cause == RunCause::kDied; });
}

// Whether the ranks hung. `tables`: what they say.
bool take_hang(Report& report, const std::vector<HangTable>& tables) {
  const auto is_met = [](const HangTable& table) { return table.is_met; };
  const auto lacks_some = [&](const HangTable& table) {
    return std::ssize(tables) < table.world_size;
  };
  if (std::ranges::any_of(tables, is_met) && std::ranges::any_of(tables, lacks_some)) return false;
  report.hang = find_hang(tables);
  if (!report.hang) return false;
  drop_advice_on_the_wait(report);
  report.hang_tables = tables;
  for (const HangTable& table : tables) {
    report.hang_seen_ns = std::max(report.hang_seen_ns, table.written_ns);
  }
  return true;
}

}  // namespace

void add_hang(Report& report, const std::vector<std::string>& paths,
              const std::vector<HangTable>& dumps) {
  report.dumps = std::ssize(dumps);
  // The ranks' own tables come first, because they also say what a culprit does.
  for (const std::string& path : paths) {
    const auto tables = read_hang_tables(path);
    if (take_hang(report, tables)) return;
    // A job that hangs in its first step has left nothing else.
    if (report.traces.empty() && !report.run) report.dumps += std::ssize(tables);
  }
  if (!take_hang(report, dumps)) report.hang_tables = dumps;
}

}  // namespace redline::trace

#include "trace/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <vector>

#include "base/clock.h"
#include "base/format.h"
#include "trace/analysis/run_tables.h"
#include "trace/report/report_roofline.h"

namespace redline::trace {
namespace {

// The last trace of each rank: a job that recorded several cycles left several. A file that names
// no rank counts as a rank of its own.
std::vector<const Analysis*> last_of_each_rank(const std::vector<Analysis>& traces) {
  std::vector<const Analysis*> ranks;
  std::map<int, size_t> index;
  for (const Analysis& analysis : traces) {
    const auto rank = analysis.trace->metadata().rank;
    const auto known = rank ? index.find(*rank) : index.end();
    if (known != index.end()) {
      if (!analysis.steps.empty()) ranks[known->second] = &analysis;
      continue;
    }
    if (rank) index[*rank] = ranks.size();
    ranks.push_back(&analysis);
  }
  return ranks;
}

}  // namespace

std::string title_of(const Report& report) {
  std::error_code ignored;
  const auto absolute = [&](const std::filesystem::path& path) {
    return std::filesystem::absolute(path, ignored).lexically_normal();
  };
  if (report.traces.empty()) {
    const auto path = absolute(std::filesystem::path(report.path) / "");
    return path.parent_path().filename().string() + "/";
  }
  const std::filesystem::path path(report.traces.front().trace->path());
  if (report.traces.size() == 1) return path.filename().string();
  const auto folder = absolute(path).parent_path();
  return folder.filename().string() + "/";
}

Report make_report(const std::vector<std::shared_ptr<const Trace>>& traces,
                   const std::atomic<bool>* cancel) {
  Report report;
  for (const auto& trace : traces) {
    report.traces.push_back(analyze(trace, cancel));
    report.is_cancelled = report.is_cancelled || report.traces.back().is_cancelled;
    if (report.is_cancelled) return report;
  }
  const auto ranks = last_of_each_rank(report.traces);
  report.rank_count = static_cast<int64_t>(ranks.size());
  StopWatch watch(cancel);
  watch.run("ranks", [&] { report.comparison = compare_ranks(ranks); });
  watch.run("advice", [&] {
    report.findings = advise(ranks, report.comparison);
    for (Finding& finding : report.findings) {
      finding.trace = static_cast<size_t>(ranks[finding.trace] - report.traces.data());
    }
  });
  watch.append_to(report.times);
  report.is_cancelled = cancel != nullptr && cancel->load();
  return report;
}

namespace {

// Whether the ranks hung. `tables`: what they say.
bool take_hang(Report& report, const std::vector<HangTable>& tables) {
  const auto is_met = [](const HangTable& table) { return table.is_met; };
  const auto lacks_some = [&](const HangTable& table) {
    return std::ssize(tables) < table.world_size;
  };
  if (std::ranges::any_of(tables, is_met) && std::ranges::any_of(tables, lacks_some)) return false;
  report.hang = find_hang(tables);
  if (!report.hang) return false;
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
  take_hang(report, dumps);
}

std::vector<std::string> reason_lines(const Report& report) {
  std::vector<std::string> lines;
  for (const Analysis& analysis : report.traces) {
    const std::string reason = recording_reason(*analysis.trace);
    if (reason.empty()) continue;
    const auto rank = analysis.trace->metadata().rank;
    lines.push_back((rank ? fmt::format("rank {}: ", *rank) : "") + reason);
  }
  return lines;
}

MeanStep mean_step(const Report& report) {
  const std::vector<double> weights = rank_weights(report.traces);
  const auto mean_of = [&](auto value_of) {
    double sum = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      sum += weights[i] * static_cast<double>(value_of(report.traces[i]));
    }
    return std::llround(sum);
  };
  MeanStep mean;
  mean.mean_ns = mean_of([](const Analysis& each) { return each.step_times.mean_ns; });
  mean.deviation_ns = mean_of([](const Analysis& each) { return each.step_times.deviation_ns; });
  for (size_t part = 0; part < kBreakdownPartCount; ++part) {
    mean.part_ns[part] =
        mean_of([part](const Analysis& each) { return each.breakdown.part_ns[part]; });
  }
  return mean;
}

std::vector<std::string> rate_lines(const Report& report) {
  std::vector<std::string> lines;
  const Trace& first = *report.traces.front().trace;
  const int64_t step_ns = mean_step(report).mean_ns;
  const auto rate_of = [step_ns](double count) {
    return format_count(static_cast<int64_t>(count * 1e9 / static_cast<double>(step_ns)));
  };
  if (const auto samples = samples_per_step(first); samples && step_ns > 0) {
    const auto tokens = tokens_per_step(first);
    lines.push_back(rate_of(*samples) + " samples/s" +
                    (tokens ? ", " + rate_of(*tokens) + " tokens/s" : "") +
                    " of all ranks, by the steps recorded");
  }
  if (std::string use = model_use_line(report.traces); !use.empty()) {
    lines.push_back(std::move(use));
  }
  if (const auto latency = batch_latency(report.traces)) {
    lines.push_back("inference, a step is a batch: " + latency_text(*latency));
  }
  return lines;
}

std::optional<PhaseTimes> mean_phases(const Report& report) {
  PhaseTimes mean{};
  int64_t count = 0;
  for (const Analysis& analysis : report.traces) {
    if (!analysis.phases) continue;
    ++count;
    for (size_t i = 0; i < kPhaseCount; ++i) {
      mean[i].host_ns += (*analysis.phases)[i].host_ns;
      mean[i].device_ns += (*analysis.phases)[i].device_ns;
    }
  }
  if (count == 0) return std::nullopt;
  for (PhaseTime& phase : mean) {
    phase.host_ns /= count;
    phase.device_ns /= count;
  }
  return mean;
}

}  // namespace redline::trace

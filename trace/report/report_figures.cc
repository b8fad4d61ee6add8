#include "trace/report/report_figures.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "trace/analysis/run_tables.h"

namespace redline::trace {
namespace {

// Where a rank hardly computes, it has put a tensor: such a GPU is another's, or idle.
std::vector<const GpuUse*> computing_gpus(const RankSummary& rank) {
  constexpr int64_t kHardly = 100;  // a hundredth of what the rank computes on its own GPU
  int64_t most_ns = 0;
  for (const GpuUse& gpu : rank.gpus) most_ns = std::max(most_ns, gpu.compute_ns);
  std::vector<const GpuUse*> computing;
  for (const GpuUse& gpu : rank.gpus) {
    if (gpu.compute_ns >= most_ns / kHardly) computing.push_back(&gpu);
  }
  return computing;
}

}  // namespace

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
  mean.mean_ns = mean_of([](const RankSummary& each) { return each.step_times.mean_ns; });
  const auto square = [](int64_t ns) { return static_cast<double>(ns) * static_cast<double>(ns); };
  double variance = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const StepTimes& times = report.traces[i].step_times;
    variance += weights[i] * (square(times.deviation_ns) + square(times.mean_ns - mean.mean_ns));
  }
  mean.deviation_ns = std::llround(std::sqrt(variance));
  for (size_t part = 0; part < kBreakdownPartCount; ++part) {
    mean.part_ns[part] =
        mean_of([part](const RankSummary& each) { return each.breakdown.part_ns[part]; });
  }
  return mean;
}

int64_t count_gpus(const Report& report) {
  const std::vector<int> ranks = rank_numbers(pointers_to(report.traces));
  std::map<int, int64_t> of_rank;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const int64_t used = std::ssize(computing_gpus(report.traces[i]));
    of_rank[ranks[i]] = std::max({int64_t{1}, used, of_rank[ranks[i]]});
  }
  int64_t sum = 0;
  for (const auto& [rank, gpus] : of_rank) sum += gpus;
  const auto different = report.comparison ? report.comparison->gpu_sharing.gpus : std::nullopt;
  return different && sum == std::ssize(of_rank) ? *different : sum;
}

std::vector<GpuGauge> gpu_gauges(const Report& report) {
  if (!first_with_gpus(report.traces)) return {};
  std::vector<const GpuUse*> computing;
  for (const RankSummary& rank : report.traces) {
    for (const GpuUse* gpu : computing_gpus(rank)) computing.push_back(gpu);
  }
  using Share = std::optional<double>;
  const auto mean_of = [&](auto share_of) {
    double sum = 0;
    int64_t count = 0;
    for (const GpuUse* gpu : computing) {
      const Share share = share_of(*gpu);
      sum += share.value_or(0);
      count += share.has_value();
    }
    return count == 0 ? Share() : Share(sum / static_cast<double>(count));
  };
  // What one of several ranks takes of a GPU does not tell how busy that is.
  const bool is_shared = report.comparison && !report.comparison->gpu_sharing.shared.empty();
  const auto of_whole = [&](auto share_of) { return is_shared ? Share() : mean_of(share_of); };
  return {{"GPU busy", of_whole([](const GpuUse& gpu) { return gpu.utilization; })},
          {"SM efficiency", of_whole([](const GpuUse& gpu) { return gpu.sm_efficiency; })},
          {"Occupancy", mean_of([](const GpuUse& gpu) { return gpu.occupancy; })},
          {"Tensor Cores", mean_of([](const GpuUse& gpu) { return gpu.tensor_core_share; })}};
}

size_t advised_trace(const Report& report) {
  return report.findings.empty() ? 0 : report.findings.front().trace;
}

int64_t recorded_steps(const Report& report) {
  const std::vector<int> ranks = rank_numbers(pointers_to(report.traces));
  std::map<int, int64_t> of_rank;
  int64_t most = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    most = std::max(most, of_rank[ranks[i]] += report.traces[i].step_times.count);
  }
  return most;
}

const RankSummary* first_with_gpus(const std::vector<RankSummary>& traces) {
  const auto found = std::ranges::find_if(
      traces, [](const RankSummary& summary) { return !summary.gpus.empty(); });
  return found == traces.end() ? nullptr : &*found;
}

std::set<std::string> gpu_names(const Report& report) {
  std::set<std::string> names;
  for (const RankSummary& summary : report.traces) {
    for (const GpuUse& gpu : summary.gpus) names.insert(gpu.name);
  }
  names.erase("");
  return names;
}

const RankSummary& first_in_means(const Report& report) {
  const std::vector<bool> counts = count_in_means(pointers_to(report.traces));
  const auto first = std::ranges::find(counts, true);
  return report.traces[first == counts.end() ? 0 : static_cast<size_t>(first - counts.begin())];
}

std::optional<double> mean_count(const Report& report, std::optional<double> TraceFacts::*count) {
  const std::vector<double> weights = rank_weights(report.traces);
  double sum = 0, weight = 0;
  std::set<double> values;
  for (size_t i = 0; i < weights.size(); ++i) {
    const auto value = report.traces[i].facts.*count;
    if (!value || weights[i] == 0) continue;
    sum += weights[i] * *value;
    weight += weights[i];
    values.insert(*value);
  }
  if (values.size() < 2) return values.empty() ? std::nullopt : std::optional(*values.begin());
  return sum / weight;
}

std::vector<int> ranks_of_several_processes(const Report& report) {
  std::map<int, std::set<std::string_view>> processes;
  for (const RankSummary& summary : report.traces) {
    const RecordedTrace& recorded = summary.facts.recorded;
    // Of those with a name, superseded() has left one recording.
    if (!summary.facts.rank || !recorded.member.recording.empty()) continue;
    if (!recorded.process.empty()) processes[*summary.facts.rank].insert(recorded.process);
  }
  std::vector<int> ranks;
  for (const auto& [rank, its_processes] : processes) {
    if (its_processes.size() > 1) ranks.push_back(rank);
  }
  return ranks;
}

std::optional<PhaseTimes> mean_phases(const Report& report) {
  PhaseTimes mean{};
  int64_t count = 0;
  const std::vector<bool> counts = count_in_means(pointers_to(report.traces));
  for (size_t trace = 0; trace < counts.size(); ++trace) {
    const RankSummary& summary = report.traces[trace];
    if (!summary.phases || !counts[trace]) continue;
    ++count;
    for (size_t i = 0; i < kPhaseCount; ++i) {
      mean[i].host_ns += (*summary.phases)[i].host_ns;
      mean[i].device_ns += (*summary.phases)[i].device_ns;
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

// Figures and words that all forms of a report share.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "base/format.h"
#include "base/statistics.h"
#include "trace/analysis/run_tables.h"
#include "trace/report/hang_words.h"
#include "trace/report/report.h"
#include "trace/report/report_roofline.h"
#include "trace/report/run_words.h"

namespace redline::trace {

std::vector<std::string> reason_lines(const Report& report) {
  std::vector<std::string> lines;
  for (const RankSummary& summary : report.traces) {
    const std::string reason = summary.facts.reason;
    if (reason.empty()) continue;
    const auto rank = summary.facts.rank;
    lines.push_back((rank ? fmt::format("rank {}: ", *rank) : "") + reason);
  }
  return lines;
}

std::vector<std::string> nobody_named_lines(const Report& report) {
  if (report.hang || report.dumps == 0) return {};
  std::vector<std::string> lines = {
      fmt::format("What is known of {} names nobody who holds the others up.",
                  format_plural(report.dumps, "rank"))};
  std::string behind = lagging_text(report.hang_tables);
  if (!behind.empty()) lines.push_back(std::move(behind));
  return lines;
}

const RankSummary* first_with_gpus(const std::vector<RankSummary>& traces) {
  const auto found = std::ranges::find_if(
      traces, [](const RankSummary& summary) { return !summary.gpus.empty(); });
  return found == traces.end() ? nullptr : &*found;
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

namespace {

std::string text_of(const std::set<int>& ranks) {
  return format_ranks({ranks.begin(), ranks.end()});
}

// Says what is missing in the traces, and what is in them that does not belong together.
std::vector<std::string> notes_of_files(const Report& report, const std::vector<int>& numbers) {
  std::vector<std::string> notes;
  const auto of_ranks = [&](const std::set<int>& ranks) {
    return numbers.size() == 1 ? "" : " of " + text_of(ranks);
  };
  std::set<int> losing, strange;
  int64_t dropped = 0, unknown = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const TraceFacts& facts = report.traces[i].facts;
    if (facts.dropped > 0) losing.insert(numbers[i]);
    dropped = saturating_sum(dropped, facts.dropped);
    if (facts.merged_ranks > 1) {
      notes.push_back(
          fmt::format("{} ranks in one file: steps and sums mix them; give their folder instead",
                      format_count(facts.merged_ranks)));
    } else if (facts.processes > 1) {
      notes.push_back(
          fmt::format("runtime calls of {} processes in one trace{}: steps and sums mix them; give "
                      "each process's own trace instead",
                      format_count(facts.processes), of_ranks({numbers[i]})));
    }
    if (!report.traces[i].may_hide_gpu_work()) continue;
    strange.insert(numbers[i]);
    unknown = saturating_sum(unknown, facts.unknown_slices);
  }
  if (unknown > 0) {
    notes.push_back(
        fmt::format("{}{} without a category that Redline knows: none counts as GPU work",
                    format_plural(unknown, "event"), of_ranks(strange)));
  }
  if (losing.empty()) return notes;
  notes.push_back(fmt::format("dropped {} while recording {}: all figures lack them",
                              format_plural(dropped, "event"), text_of(losing)));
  return notes;
}

// Says which ranks the means leave out because they lack steps or marks, and which traces name no
// rank.
std::vector<std::string> notes_of_left_out(const Report& report, const std::vector<int>& numbers) {
  const std::vector<bool> counts = count_in_means(pointers_to(report.traces));
  std::set<int> counted, empty, unmarked, nameless;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (counts[i]) counted.insert(numbers[i]);
    if (!report.traces[i].facts.rank) nameless.insert(numbers[i]);
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    const RankSummary& trace = report.traces[i];
    if (counted.contains(numbers[i]) || counted.empty() || trace.lacks_gpu_work()) continue;
    (trace.steps.empty() ? empty : unmarked).insert(numbers[i]);
  }
  std::vector<std::string> notes;
  if (!empty.empty()) {
    notes.push_back("nothing was recorded of " + text_of(empty) + ": means are of the other ranks");
  }
  if (!unmarked.empty()) {
    notes.push_back("no steps are marked in the traces of " + text_of(unmarked) +
                    ": means are of the other ranks");
  }
  if (!nameless.empty() && std::set(numbers.begin(), numbers.end()).size() > 1) {
    notes.push_back("traces without a rank count as " + text_of(nameless) +
                    ": they may be of several runs");
  }
  return notes;
}

}  // namespace

std::vector<std::string> trace_notes(const Report& report) {
  std::map<std::string, std::set<int>> lacking, partial;
  const std::vector<int> numbers = rank_numbers(pointers_to(report.traces));
  std::vector<std::string> notes = notes_of_files(report, numbers);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto& reason = report.traces[i].unrecorded_gpu;
    if (reason) lacking[*reason].insert(numbers[i]);
    const auto& why_partial = report.traces[i].partial_gpu;
    if (why_partial) partial[*why_partial].insert(numbers[i]);
  }
  const auto add = [&](const char* recorded, const auto& of_reasons, bool others_count,
                       const char* alone) {
    for (const auto& [reason, ranks] : of_reasons) {
      notes.push_back(fmt::format("GPU work was {}{}{}: {}", recorded,
                                  numbers.size() == 1 ? "" : " of " + text_of(ranks),
                                  reason.empty() ? "" : " (" + reason + ")",
                                  others_count ? "means are of the other ranks" : alone));
    }
  };
  add("not recorded", lacking, first_with_gpus(report.traces) != nullptr,
      "times are those of the host, which does not wait for the GPU");
  add("recorded in part", partial,
      std::ranges::any_of(report.traces, &RankSummary::has_whole_gpu_work),
      "GPU times and shares are too small");
  for (std::string& note : notes_of_left_out(report, numbers)) notes.push_back(std::move(note));
  if (const auto ranks = ranks_of_several_processes(report); !ranks.empty()) {
    notes.push_back(format_ranks(ranks) + (ranks.size() == 1 ? " was" : " were") +
                    " recorded by several processes, so these may be several runs: means are of "
                    "all, and the last trace of each rank is compared");
  }
  if (!report.run || report.traces.empty()) return notes;
  for (const RunFinding& finding : report.run->findings) {
    const bool lacks_cores =
        finding.cause == RunCause::kOtherProcesses || finding.cause == RunCause::kCrowdedCores;
    if (lacks_cores) notes.push_back(headline_of(finding) + ": recorded times may be too long");
  }
  return notes;
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

std::string_view without_findings(const Report& report) {
  if (report.hang && !report.hang->has_failed) return "The hang, which no advice cures.";
  const bool is_unseen =
      !report.traces.empty() && std::ranges::all_of(report.traces, [](const RankSummary& each) {
        return each.lacks_gpu_work() || each.may_hide_gpu_work();
      });
  return is_unseen ? "Most rules need to know what the GPU did."
                   : "Nothing that the rules know of.";
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

std::string of_rank(const Report& report, const RankSummary& summary) {
  const auto rank = summary.facts.rank;
  return rank && report.traces.size() > 1 ? fmt::format(" of rank {}", *rank) : "";
}

namespace {

// "3 of 4 ranks" where the others left no trace here.
std::string ranks_text(const Report& report) {
  int64_t all = 0;
  for (const RankSummary& summary : report.traces) {
    if (!summary.facts.rank) return format_plural(report.rank_count, "rank");
    all = std::max<int64_t>(all, summary.facts.world_size.value_or(0));
  }
  if (report.rank_count < 2 || all <= report.rank_count) {
    return format_plural(report.rank_count, "rank");
  }
  return fmt::format("{} of {} ranks", report.rank_count, all);
}

}  // namespace

std::string counts_text(const Report& report) {
  int64_t events = 0;
  for (const RankSummary& summary : report.traces) {
    events += static_cast<int64_t>(summary.facts.events);
  }
  return fmt::format("{} · {} · {}", ranks_text(report),
                     first_in_means(report).has_marked_steps()
                         ? format_plural(recorded_steps(report), "step")
                         : "no marked steps",
                     format_plural(events, "event"));
}

std::vector<std::string> spread_lines(const Report& report) {
  constexpr size_t kMostNamed = 5;
  if (!report.spread) return {};
  const RankSpread& spread = *report.spread;
  const int64_t highest = *std::ranges::max_element(spread.bins);
  std::string bars;
  for (const int64_t ranks : spread.bins) {
    bars += ranks == 0 ? " " : kColumnHeights[static_cast<size_t>((ranks * 8 - 1) / highest)];
  }
  std::vector<std::string> lines = {
      fmt::format("own work: {} {} {}, median {}", format_ns(spread.least_ns), bars,
                  format_ns(spread.most_ns), format_ns(spread.median_ns))};
  const auto more = [&](int64_t own_ns) {
    return format_percent(
               share_of(own_ns - spread.median_ns, std::max<int64_t>(1, spread.median_ns))) +
           " more than the median";
  };
  for (size_t i = 0; i < std::min(kMostNamed, spread.slow_groups.size()); ++i) {
    const RankGroup& group = spread.slow_groups[i];
    lines.push_back(fmt::format("slow: {} {}, {}: {}, {}", group.is_host ? "host" : "process group",
                                group.name, format_plural(group.members.size(), "rank"),
                                format_ns(group.own_work_ns), more(group.own_work_ns)));
  }
  for (size_t i = 0; i < std::min(kMostNamed, spread.outliers.size()); ++i) {
    const RankTime& time = report.comparison->times[spread.outliers[i]];
    lines.push_back(fmt::format("slow: rank {}: {}, {}", time.rank, format_ns(*time.own_work_ns),
                                more(*time.own_work_ns)));
  }
  const size_t unnamed = std::max(spread.slow_groups.size(), kMostNamed) +
                         std::max(spread.outliers.size(), kMostNamed) - 2 * kMostNamed;
  if (unnamed > 0) lines.push_back(fmt::format("… and {} more slow ones", unnamed));
  if (spread.slow_groups.empty() && spread.outliers.empty()) {
    lines.emplace_back("no rank, host or process group stands out");
  }
  if (!spread.unknown.empty()) {
    std::vector<int> unknown;
    for (const size_t i : spread.unknown) unknown.push_back(report.comparison->times[i].rank);
    lines.push_back("own work is not known of " + format_ranks(unknown));
  }
  return lines;
}

std::vector<std::string> rate_lines(const Report& report) {
  std::vector<std::string> lines;
  const int64_t step_ns = mean_step(report).mean_ns;
  const auto rate_of = [step_ns](double count) {
    return format_number(count * 1e9 / static_cast<double>(step_ns));
  };
  const auto samples = mean_count(report, &TraceFacts::samples_per_step);
  if (samples && step_ns > 0) {
    const auto tokens = mean_count(report, &TraceFacts::tokens_per_step);
    lines.push_back(rate_of(*samples) + " samples/s" +
                    (tokens ? ", " + rate_of(*tokens) + " tokens/s" : "") + " of all ranks, " +
                    (report.shares_samples ? "shared ones counted once, " : "") +
                    "by the steps recorded");
  }
  if (std::string use = model_use_line(report.traces); !use.empty()) {
    lines.push_back(std::move(use));
  }
  if (const auto latency = batch_latency(report.traces)) {
    lines.push_back("inference, a step is a batch: " + latency_text(*latency));
  }
  return lines;
}

std::string_view phase_title(const PhaseTimes& phases, size_t index) {
  const auto host_ns = [&](Phase phase) { return phases[static_cast<size_t>(phase)].host_ns; };
  const bool is_update_in_forward =
      host_ns(Phase::kBackward) > 0 && host_ns(Phase::kOptimizer) == 0;
  if (index == static_cast<size_t>(Phase::kForward) && is_update_in_forward) return "fwd, update";
  return kPhaseNames[index];
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

std::string path_classes(const CriticalPath& path, size_t width) {
  const int64_t step_ns = path.step_ns();
  std::vector<size_t> order(path.mean_ns.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](size_t i) { return path.mean_ns[i]; });
  std::string text;
  for (const size_t i : order) {
    if (100 * path.mean_ns[i] < step_ns) break;
    const std::string part =
        fmt::format("{}{} {}", text.empty() ? "" : ", ", kBreakdownPartNames[i],
                    format_percent(share_of(path.mean_ns[i], step_ns)));
    if (columns(text) + columns(part) > width) break;
    text += part;
  }
  return text;
}

}  // namespace redline::trace

#include "trace/report/report_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/format.h"
#include "base/statistics.h"
#include "trace/analysis/run_tables.h"
#include "trace/report/hang_words.h"
#include "trace/report/report_figures.h"
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
                    ", by their names: they may be of several runs");
  }
  return notes;
}

// The ranks that have a later trace than the one that is compared.
std::set<int> compared_by_an_earlier_trace(const Report& report, const std::vector<int>& numbers) {
  std::map<int, size_t> last;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (!report.traces[i].steps.empty()) last[numbers[i]] = i;
  }
  std::set<int> ranks;
  for (const size_t compared : report.compared) {
    const auto found = last.find(numbers[compared]);
    if (found != last.end() && found->second > compared) ranks.insert(numbers[compared]);
  }
  return ranks;
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
  if (const auto ranks = compared_by_an_earlier_trace(report, numbers); !ranks.empty()) {
    notes.push_back(text_of(ranks) +
                    ": an earlier trace than the last is compared, because other ranks have fewer "
                    "traces");
  }
  if (!report.run || report.traces.empty()) return notes;
  for (const RunFinding& finding : report.run->findings) {
    const bool lacks_cores =
        finding.cause == RunCause::kOtherProcesses || finding.cause == RunCause::kCrowdedCores;
    if (lacks_cores) notes.push_back(headline_of(finding) + ": recorded times may be too long");
  }
  return notes;
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

std::string path_classes(const CriticalPath& path, size_t width) {
  const int64_t step_ns = path.step_ns();
  std::string text;
  for (const size_t i :
       largest_first(path.mean_ns.size(), [&](size_t part) { return path.mean_ns[part]; })) {
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

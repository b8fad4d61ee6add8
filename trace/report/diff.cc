#include "trace/report/diff.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <set>

#include "trace/analysis/breakdown.h"
#include "trace/analysis/run_tables.h"
#include "trace/report/report_figures.h"

namespace redline::trace {
namespace {

struct Run {
  DiffSide side;
  RunSamples samples;
  MeanStep mean;
};

Run measure(const Report& report) {
  Run run;
  run.samples = sample_steps(report.analyses);
  DiffSide& side = run.side;
  side.rank_count = report.rank_count;
  side.has_marked_steps = first_in_means(report).has_marked_steps();
  side.step_count = static_cast<int64_t>(run.samples.step_ns.size());
  side.samples_per_step = mean_count(report, &TraceFacts::samples_per_step);
  if (const auto* first = first_with_gpus(report.traces)) {
    side.gpu = first->gpus.front().name;
    side.has_gpu_work = true;
  }
  for (const RankSummary& rank : report.traces) side.paths.push_back(rank.facts.path);
  run.mean = mean_step(report);
  side.step_ns = run.mean.mean_ns;
  if (side.samples_per_step && side.step_ns > 0) {
    side.samples_per_second = *side.samples_per_step * 1e9 / static_cast<double>(side.step_ns);
  }
  return run;
}

std::vector<double> scaled(std::vector<double> values, double scale) {
  for (double& value : values) value *= scale;
  return values;
}

// Means are over all steps, the test is over the last ones that each rank has.
bool contradicts(const MeanDifference& difference, int64_t delta_ns) {
  return difference.is_clear() && static_cast<double>(delta_ns) / difference.difference < 0.5;
}

Verdict judge(const std::optional<MeanDifference>& difference, const DiffRow& row, bool was,
              bool is) {
  if (!was) return Verdict::kNew;
  if (!is) return Verdict::kGone;
  if (!difference || contradicts(*difference, row.delta_ns())) return Verdict::kUnknown;
  if (!difference->is_clear()) return Verdict::kUnclear;
  return difference->difference < 0 ? Verdict::kFaster : Verdict::kSlower;
}

/// How many calls each of the steps makes; nullopt if not all make the same number.
std::optional<double> calls_a_step(const NameSamples& samples) {
  constexpr double kRounding = 1e-6;  // in a mean over the ranks
  if (samples.counts.empty()) return std::nullopt;
  const auto [fewest, most] = std::ranges::minmax_element(samples.counts);
  return *most - *fewest <= kRounding ? std::optional(std::round(*most / kRounding) * kRounding)
                                      : std::nullopt;
}

/// What a call takes without its waits for the GPU; nullopt if there is none, or if the calls are
/// of unlike length, so that those which came or went may be the short ones.
std::optional<double> typical_call_ns(const NameSamples& samples, double calls) {
  constexpr double kAlike = 0.5;
  if (calls <= 0) return std::nullopt;
  const double usual_ns = lower_median(samples.ns) / calls;
  if (samples.shortest_ns < kAlike * usual_ns) return std::nullopt;
  return std::max(0.0, usual_ns - samples.mean_waiting_ns / calls);
}

std::optional<int64_t> calls_delta_ns(const NameSamples& was, const NameSamples& is) {
  const std::optional<double> before = calls_a_step(was), after = calls_a_step(is);
  if (!before || !after || *before == *after) return std::nullopt;
  const auto old_ns = typical_call_ns(was, *before), new_ns = typical_call_ns(is, *after);
  if (!old_ns || !new_ns) return std::nullopt;
  return std::llround((*after - *before) * std::min(*old_ns, *new_ns));
}

DiffRow compare(const std::string& name, const NameSamples* before, const NameSamples* after,
                double scale, const NameSamples& none_before, const NameSamples& none_after) {
  const NameSamples& was = before == nullptr ? none_before : *before;
  const NameSamples& is = after == nullptr ? none_after : *after;
  const std::vector<double> after_ns = scaled(is.ns, scale);
  const auto difference = welch_test(was.ns, after_ns);
  DiffRow row;
  row.name = name;
  row.before_ns = std::llround(was.mean_ns);
  row.after_ns = std::llround(scale * is.mean_ns);
  row.before_count = was.mean_count;
  row.after_count = scale * is.mean_count;
  row.waiting_delta_ns = std::llround(scale * is.mean_waiting_ns - was.mean_waiting_ns);
  row.verdict = judge(difference, row, before != nullptr, after != nullptr);
  if (difference) row.p = difference->p;
  if (scale == 1) row.calls_delta_ns = calls_delta_ns(was, is);
  return row;
}

NameSamples none_of(const Run& run) { return NameSamples(run.samples.step_ns.size()); }

std::vector<DiffRow> compare_tables(const Run& before, const Run& after,
                                    SamplesByName RunSamples::*table, double scale) {
  const SamplesByName &was = before.samples.*table, &is = after.samples.*table;
  std::set<std::string> names;
  for (const auto& [name, samples] : was) names.insert(name);
  for (const auto& [name, samples] : is) names.insert(name);
  const auto find = [](const SamplesByName& samples, const std::string& name) {
    const auto found = samples.find(name);
    return found == samples.end() ? nullptr : &found->second;
  };
  const NameSamples none_before = none_of(before), none_after = none_of(after);
  std::vector<DiffRow> rows;
  rows.reserve(names.size());
  for (const std::string& name : names) {
    rows.push_back(compare(name, find(was, name), find(is, name), scale, none_before, none_after));
  }
  std::ranges::stable_sort(rows, std::greater(),
                           [](const DiffRow& row) { return std::abs(row.delta_ns()); });
  return rows;
}

}  // namespace

const char* verdict_name(Verdict verdict) {
  constexpr std::array kNames = {"faster", "slower", "unclear", "new", "gone", "unknown"};
  return kNames[static_cast<size_t>(verdict)];
}

std::optional<double> Diff::speedup() const {
  if (!is_comparable()) return std::nullopt;
  if (before.samples_per_second && after.samples_per_second) {
    return *after.samples_per_second / *before.samples_per_second;
  }
  if (before.step_ns == 0 || after.step_ns == 0) return std::nullopt;
  return static_cast<double>(before.step_ns) / static_cast<double>(after.step_ns);
}

int64_t Diff::step_delta_ns() const {
  int64_t delta_ns = 0;
  for (const DiffRow& row : breakdown) delta_ns += row.delta_ns();
  return delta_ns;
}

bool Diff::do_steps_disagree() const { return step && contradicts(*step, step_delta_ns()); }

Diff compare_runs(const Traces& before, const Traces& after) {
  return compare_runs(make_report(before), make_report(after));
}

Diff compare_runs(const Report& before_report, const Report& after_report) {
  const Run before = measure(before_report), after = measure(after_report);
  Diff diff;
  diff.before = before.side;
  diff.after = after.side;
  double scale = 1;
  const auto &samples = before.side.samples_per_step, &later = after.side.samples_per_step;
  if (samples && later && *samples != *later) {
    diff.basis_samples = samples;
    scale = *samples / *later;
  }
  if (!diff.is_step_beside_trace()) {
    diff.step = welch_test(before.samples.step_ns, scaled(after.samples.step_ns, scale));
  }
  for (size_t i = 0; i < kBreakdownPartCount; ++i) {
    DiffRow row;
    row.name = kBreakdownPartNames[i];
    row.before_ns = before.mean.part_ns[i];
    row.after_ns = std::llround(static_cast<double>(after.mean.part_ns[i]) * scale);
    diff.breakdown.push_back(std::move(row));
  }
  diff.kernels = compare_tables(before, after, &RunSamples::kernels, scale);
  diff.operators = compare_tables(before, after, &RunSamples::operators, scale);
  diff.collectives = compare_tables(before, after, &RunSamples::collectives, scale);
  diff.copies = compare_tables(before, after, &RunSamples::copies, scale);
  return diff;
}

}  // namespace redline::trace

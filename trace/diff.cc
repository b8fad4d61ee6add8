#include "trace/diff.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "trace/analysis.h"

namespace redline::trace {
namespace {

struct Amount {
  double count = 0;
  double ns = 0;
};
using Amounts = std::map<std::string, Amount>;

// One run, summed over its traces and then averaged over their steps.
struct Run {
  DiffSide side;
  std::array<double, kStepPartCount> part_ns{};
  Amounts operators;
  Amounts kernels;
};

void add_trace(Run& run, const Analysis& analysis, double weight) {
  const double steps = static_cast<double>(std::max<int64_t>(1, analysis.step_times.count));
  const double per_step = weight / steps;
  for (size_t i = 0; i < kStepPartCount; ++i) {
    run.part_ns[i] += static_cast<double>(analysis.breakdown.part_ns[i]) * weight;
  }
  for (const OperatorRow& row : analysis.operators) {
    Amount& amount = run.operators[row.name];
    amount.count += static_cast<double>(row.count) * per_step;
    amount.ns += static_cast<double>(row.self_ns) * per_step;
  }
  for (const KernelRow& row : analysis.kernels) {
    Amount& amount = run.kernels[row.name];
    amount.count += static_cast<double>(row.count) * per_step;
    amount.ns += static_cast<double>(row.total_ns) * per_step;
  }
}

Run measure(const Traces& traces) {
  Run run;
  const Report report = make_report(traces);
  run.side.rank_count = report.rank_count;
  run.side.step_count = report.traces.front().step_times.count;
  run.side.samples_per_step = samples_per_step(*report.traces.front().trace);
  const double weight = 1 / static_cast<double>(report.traces.size());
  double step_ns = 0;
  for (const Analysis& analysis : report.traces) {
    run.side.paths.push_back(analysis.trace->path());
    step_ns += static_cast<double>(analysis.step_times.mean_ns) * weight;
    add_trace(run, analysis, weight);
  }
  run.side.step_ns = std::llround(step_ns);
  if (run.side.samples_per_step && step_ns > 0) {
    run.side.samples_per_second = *run.side.samples_per_step * 1e9 / step_ns;
  }
  return run;
}

std::vector<DiffRow> compare(const Amounts& before, const Amounts& after, double scale) {
  std::map<std::string, DiffRow> rows;
  for (const auto& [name, amount] : before) {
    rows[name].before_count = amount.count;
    rows[name].before_ns = std::llround(amount.ns);
  }
  for (const auto& [name, amount] : after) {
    rows[name].after_count = amount.count * scale;
    rows[name].after_ns = std::llround(amount.ns * scale);
  }
  std::vector<DiffRow> list;
  for (auto& [name, row] : rows) {
    row.name = name;
    list.push_back(std::move(row));
  }
  std::stable_sort(list.begin(), list.end(), [](const DiffRow& left, const DiffRow& right) {
    return std::abs(left.delta_ns()) > std::abs(right.delta_ns());
  });
  return list;
}

}  // namespace

std::optional<double> Diff::speedup() const {
  if (before.samples_per_second && after.samples_per_second) {
    return *after.samples_per_second / *before.samples_per_second;
  }
  if (before.step_ns == 0 || after.step_ns == 0) return std::nullopt;
  return static_cast<double>(before.step_ns) / static_cast<double>(after.step_ns);
}

Diff compare_runs(const Traces& before_traces, const Traces& after_traces) {
  const Run before = measure(before_traces), after = measure(after_traces);
  Diff diff;
  diff.before = before.side;
  diff.after = after.side;
  double scale = 1;
  const auto &samples = before.side.samples_per_step, &later = after.side.samples_per_step;
  if (samples && later && *samples != *later) {
    diff.basis_samples = samples;
    scale = *samples / *later;
  }
  for (size_t i = 0; i < kStepPartCount; ++i) {
    DiffRow row;
    row.name = kStepPartNames[i];
    row.before_ns = std::llround(before.part_ns[i]);
    row.after_ns = std::llround(after.part_ns[i] * scale);
    diff.breakdown.push_back(std::move(row));
  }
  diff.operators = compare(before.operators, after.operators, scale);
  diff.kernels = compare(before.kernels, after.kernels, scale);
  return diff;
}

}  // namespace redline::trace

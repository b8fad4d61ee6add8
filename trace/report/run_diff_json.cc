#include <cmath>

#include "base/json_values.h"
#include "trace/report/diff_words.h"
#include "trace/report/run_diff.h"
#include "trace/report/run_words.h"

namespace redline::trace {
namespace {

using json = nlohmann::ordered_json;

json interval_json(const ValueInterval& interval) {
  return {{"value", interval.value}, {"low", interval.low}, {"high", interval.high}};
}

json run_side_json(const std::vector<RunFigures>& runs) {
  return list_json(runs, [](const RunFigures& run) {
    return json{{"path", run.path},
                {"ranks", run.ranks},
                {"world_size", run.world_size > 0 ? json(run.world_size) : json()},
                {"steps", run.steps},
                {"step_ns", std::llround(run.all_steps.step.ns)},
                {"error_ns", std::llround(run.all_steps.step.error_ns)},
                {"samples_per_step", run.samples}};
  });
}

json memory_change_json(const std::optional<MemoryChange>& memory) {
  if (!memory) return nullptr;
  return {{"before_bytes", std::llround(memory->before_bytes)},
          {"after_bytes", std::llround(memory->after_bytes)},
          {"ratio", interval_json(memory->ratio)}};
}

json outcome_json(const std::optional<GateOutcome>& outcome) {
  return outcome ? json(gate_outcome_key(*outcome)) : json();
}

std::string part_key(const PartChange& part) {
  return part.part ? std::string(log_part_key(*part.part)) : "other";
}

// A kernel or an operator.
json cause_json(const std::optional<ChangedRow>& changed) {
  if (!changed) return nullptr;
  return {{"name", changed->row->name},
          {"before_ns", changed->row->before_ns},
          {"after_ns", changed->row->after_ns},
          {"delta_ns", changed->delta_ns}};
}

}  // namespace

json run_diff_json(const RunDiff& diff) {
  const RunComparison& runs = diff.runs;
  const StepChange& step = runs.step();
  const json parts = list_json(step.parts, [](const PartChange& part) {
    return json{{"part", part_key(part)},
                {"before_ns", std::llround(part.before_ns)},
                {"after_ns", std::llround(part.after_ns)},
                {"delta_ns", interval_json(part.delta_ns)},
                {"clear", part.is_clear()}};
  });
  return {{"before", run_side_json(runs.before)},
          {"after", run_side_json(runs.after)},
          {"basis_samples", runs.basis_samples},
          {"by", runs.is_by_undisturbed() ? "undisturbed_steps" : "all_steps"},
          {"before_ns", std::llround(step.before_ns)},
          {"after_ns", std::llround(step.after_ns)},
          {"ratio", interval_json(step.ratio)},
          {"all_steps_ratio", interval_json(runs.all_steps.ratio)},
          {"undisturbed_ratio", runs.undisturbed ? interval_json(runs.undisturbed->ratio) : json()},
          {"spread", step.spread},
          {"spread_assumed", step.is_spread_assumed},
          {"paired", runs.is_paired},
          {"parts", parts},
          {"host_memory", memory_change_json(runs.host_memory)},
          {"device_memory", memory_change_json(runs.device_memory)},
          {"kernel", cause_json(changed_kernel(diff))},
          {"operator", cause_json(changed_operator(diff))},
          {"gate",
           {{"fail_slower", diff.limits.slower},
            {"fail_memory", diff.limits.memory},
            {"time", outcome_json(diff.gate.time)},
            {"memory", outcome_json(diff.gate.memory)},
            {"more_runs", diff.gate.more_runs}}}};
}

}  // namespace redline::trace

#include <cmath>

#include "base/json_values.h"
#include "trace/report/diff.h"
#include "trace/report/run_diff.h"
#include "trace/report/tree_diff.h"

namespace redline::trace {
namespace {

using json = nlohmann::ordered_json;

json side_json(const DiffSide& side) {
  return {
      {"paths", side.paths},
      {"gpu", text_or_null(side.gpu)},
      {"ranks", side.rank_count},
      {"steps",
       {{"marked", side.has_marked_steps}, {"count", side.step_count}, {"mean_ns", side.step_ns}}},
      {"samples_per_step", side.samples_per_step},
      {"samples_per_s", side.samples_per_second}};
}

json row_json(const DiffRow& row) {
  return {{"name", row.name},
          {"before_count", row.before_count},
          {"after_count", row.after_count},
          {"before_ns", row.before_ns},
          {"after_ns", row.after_ns},
          {"delta_ns", row.delta_ns()},
          {"verdict", verdict_name(row.verdict)},
          {"p", row.p}};
}

// The difference of the time for the basis.
json step_json(const std::optional<MeanDifference>& step) {
  if (!step) return nullptr;
  return {{"delta_ns", std::llround(step->difference)},
          {"low_ns", std::llround(step->low)},
          {"high_ns", std::llround(step->high)},
          {"p", step->p},
          {"verdict", verdict_name(!step->is_clear()      ? Verdict::kUnclear
                                   : step->difference < 0 ? Verdict::kFaster
                                                          : Verdict::kSlower)}};
}

}  // namespace

std::string diff_json(const Diff* diff, const RunDiff* run, const TreeDiff* tree) {
  json object;
  object["schema"] = "redline.diff/1";
  object["run"] = run == nullptr ? json() : run_diff_json(*run);
  if (diff == nullptr) return json_text(object, 2) + "\n";
  object["before"] = side_json(diff->before);
  object["after"] = side_json(diff->after);
  object["speedup"] = diff->speedup();
  object["basis_samples"] = diff->basis_samples;
  object["step"] = step_json(diff->step);
  json& parts = object["step_breakdown_ns"] = json::object();
  for (const DiffRow& row : diff->breakdown) {
    parts[row.name] = {
        {"before", row.before_ns}, {"after", row.after_ns}, {"delta", row.delta_ns()}};
  }
  object["operators"] = list_json(diff->operators, row_json);
  object["kernels"] = list_json(diff->kernels, row_json);
  object["collectives"] = list_json(diff->collectives, row_json);
  object["copies"] = list_json(diff->copies, row_json);
  object["tree"] = tree == nullptr ? json() : tree_diff_json(*tree);
  return json_text(object, 2) + "\n";
}

}  // namespace redline::trace

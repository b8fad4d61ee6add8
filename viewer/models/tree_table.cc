#include "viewer/models/tree_table.h"

#include <cmath>

#include "base/format.h"
#include "viewer/models/format.h"

namespace redline::viewer {
namespace {

// "mm, gelu", or "mm, gelu → triton_poi_fused_gelu" where they differ.
std::string names_text(const std::vector<std::string>& before,
                       const std::vector<std::string>& after) {
  if (before == after || after.empty()) return redline::joined(before, ", ");
  if (before.empty()) return redline::joined(after, ", ");
  return redline::joined(before, ", ") + " → " + redline::joined(after, ", ");
}

// "…attn.q_proj, backward": the innermost modules tell most.
std::string innermost(trace::TreeDiffRow row) {
  size_t begin = row.place.rfind('.');
  if (begin != std::string::npos && begin > 0) begin = row.place.rfind('.', begin - 1);
  if (begin != std::string::npos) row.place.replace(0, begin + 1, "…");
  return trace::place_text(row);
}

}  // namespace

Table tree_rows(const trace::TreeDiff& diff) {
  Table table{"Call tree",
              {{"Module", Unit::kText},
               {"Change", Unit::kText, "What became of the work that the operators launch"},
               {"Operators", Unit::kText},
               {"Before", Unit::kDuration},
               {"After", Unit::kDuration},
               {"Difference", Unit::kChange},
               {"Work before", Unit::kCount, "Pieces of work in a step"},
               {"Work after", Unit::kCount, "Pieces of work in a step"},
               {diff.has_gpu ? "Kernels" : "Work", Unit::kText},
               {"Where", Unit::kText}},
              {}};
  for (const trace::TreeDiffRow& row : diff.rows) {
    const auto& kernels = row.after.kernels.empty() ? row.before.kernels : row.after.kernels;
    table.rows.push_back(
        {{innermost(row), std::string(trace::change_name(row.change)),
          names_text(row.before.names, row.after.names),
          static_cast<int64_t>(std::llround(row.before.work.ns)),
          static_cast<int64_t>(std::llround(row.after.work.ns)),
          static_cast<int64_t>(std::llround(row.delta_ns())), row.before.work.count,
          row.after.work.count, names_text(row.before.kernels, row.after.kernels),
          trace::place_text(row)},
         {},
         kernels.empty() ? std::string() : kernels.front()});
  }
  return table;
}

std::string tree_note(const trace::TreeDiff& diff) {
  std::string note = trace::time_words(diff);
  note += diff.has_modules ? " by module and operator" : " by operator";
  note += ": " + typeset(trace::change_sums_text(diff));
  for (const std::string& warning : diff.warnings) note += "; " + warning;
  return note;
}

}  // namespace redline::viewer

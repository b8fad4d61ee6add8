#include <cmath>

#include "base/json_values.h"
#include "trace/report/tree_diff.h"

namespace redline::trace {
namespace {

using json = nlohmann::ordered_json;

json tree_side_json(const TreeSide& side) {
  return {{"names", side.names},
          {"kernels", side.kernels},
          {"count", side.work.count},
          {"ns", std::llround(side.work.ns)}};
}

}  // namespace

json tree_diff_json(const TreeDiff& diff) {
  const json rows = list_json(diff.rows, [](const TreeDiffRow& row) {
    return json{{"place", row.place},
                {"pass", kModulePassNames[static_cast<size_t>(row.pass)]},
                {"change", change_name(row.change)},
                {"before", tree_side_json(row.before)},
                {"after", tree_side_json(row.after)},
                {"delta_ns", std::llround(row.delta_ns())}};
  });
  return {{"has_gpu", diff.has_gpu}, {"has_modules", diff.has_modules}, {"rows", rows}};
}

}  // namespace redline::trace

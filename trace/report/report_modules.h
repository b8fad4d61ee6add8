// The parts of a report that say what modules took.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trace/analysis/module_rows.h"

namespace redline::trace {

/// "layers.* (12 x Block)"
[[nodiscard]] std::string module_title(const ModuleRow& row);

/// What stands below the table: recomputation, what belongs to no module, names that are not known.
[[nodiscard]] std::vector<std::string> module_notes(const ModuleRows& modules);

/// traces[].modules[]
[[nodiscard]] nlohmann::ordered_json modules_json(const RankSummary& summary);

}  // namespace redline::trace

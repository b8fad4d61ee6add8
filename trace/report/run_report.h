// The part of a report that speaks of a whole run, by its step logs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/terminal.h"
#include "trace/report/report.h"

namespace redline::trace {

/// The first part of `redline report`: at most 80 columns.
[[nodiscard]] std::string run_text(const RunVerdict& verdict, const TextStyle& style,
                                   const TextScope& scope = {});

/// What `redline run --log` prints at the end: the rate and the first findings.
[[nodiscard]] std::string run_summary(const RunVerdict& verdict, const TextStyle& style);

/// The value of the key "run" in the report's JSON.
[[nodiscard]] nlohmann::ordered_json run_json(const RunVerdict& verdict);

/// The figures of a run as one flat JSON object of numbers, which trackers of experiments take as
/// it is. A figure that is unknown is absent.
[[nodiscard]] std::string run_figures_json(const RunVerdict& verdict);

/// A chart over the whole job, and the findings.
[[nodiscard]] std::string run_html(const RunVerdict& verdict);

}  // namespace redline::trace

// Two runs in one window: their timelines on aligned steps, and what became faster or slower.
#pragma once

#include "trace/report/diff.h"
#include "viewer/models/table.h"

namespace redline::viewer {

/// Parts of the step first, then kernels, collectives, copies and operators, each by its change; a
/// row leads to the slices of its name.
[[nodiscard]] Table diff_rows(const trace::Diff& diff);

/// "177.6 ms → 118.2 ms a step, 1.50 × faster".
[[nodiscard]] std::string diff_headline(const trace::Diff& diff);

}  // namespace redline::viewer

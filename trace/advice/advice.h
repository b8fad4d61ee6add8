// Advice: what slows the training down, and which knob may help.
//
// A finding is reported only where the trace shows its condition, with the figures and the slices
// that it follows from. Each estimate is an upper bound: the speed-up if all of that time went
// away. Only exposed time counts (no useful work ran at the same time), and each instant only once.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trace/analysis/analysis.h"
#include "trace/analysis/ranks.h"

namespace redline::trace {

[[nodiscard]] const char* severity_name(Severity severity);

/// What to try, "autotune --knob amp=off,bf16"; empty if no knob helps.
[[nodiscard]] std::string trial_of(const Finding& finding);
/// What that needs besides: "with {batch_size} in the command"; empty if nothing.
[[nodiscard]] std::string needs_of(const Finding& finding);

/// The possible gain, "1.53"; "150" where two more digits say nothing.
[[nodiscard]] std::string gain_number(double speedup);

/// Findings of one rank, the largest possible gain first.
[[nodiscard]] std::vector<Finding> advise(const Analysis& analysis, unsigned threads = 2);

/// The analysis with its findings, and the longest steps, which are the evidence if the others wait
/// for this rank.
[[nodiscard]] Analysis advised(Analysis analysis, unsigned threads = 2);

/// Findings of all ranks together: those of the rank that the others wait for, and those that only
/// the comparison shows.
[[nodiscard]] std::vector<Finding> advise(std::span<const RankSummary* const> ranks,
                                          const std::optional<RankComparison>& comparison);

}  // namespace redline::trace

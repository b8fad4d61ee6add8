// What the search by a model says for people: what a trial changes, which bottleneck it tests, and
// why nothing more is tried.
#pragma once

#include <string>
#include <string_view>

#include "tuner/search/outlook.h"

namespace redline::tuner {

/// The knobs that differ from the best so far: "amp bf16, num_workers 8".
[[nodiscard]] std::string changes_of(const Outlook& outlook, const Config& effective);

/// Which bottleneck a trial tests, and by which knobs: "loader hides amp: amp bf16, num_workers 8".
[[nodiscard]] std::string bottleneck_tested(const Outlook& outlook, const Config& config);

inline constexpr std::string_view kSpaceIsUsedUp = "Every configuration was tried.";

/// Why the untried configurations were not tried, where none was expected to gain `least_gain`.
[[nodiscard]] std::string why_nothing_is_worth_a_trial(Outlook& outlook, double least_gain);

}  // namespace redline::tuner

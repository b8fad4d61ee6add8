// The two drawings of the study's page, as SVG that takes its colours from the page's style.
#pragma once

#include <string>

#include "tuner/search/history.h"

namespace redline::tuner {

/// Throughput against batch size, one line a stratum (the knobs that move memory and speed most),
/// with a cross where a trial ran out of memory. Empty where no trial has a batch size.
[[nodiscard]] std::string batch_chart(const History& history);

/// Every trial's throughput in the order of the search, and the best so far.
[[nodiscard]] std::string convergence_chart(const History& history);

}  // namespace redline::tuner

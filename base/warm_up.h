// How much of a series of measurements is warm-up.
#pragma once

#include <cstddef>
#include <limits>
#include <span>

#include "base/statistics.h"

namespace redline {

/// MSER (White 1997): how many leading values to drop, so that the mean of the others has the
/// smallest standard error; at most half.
[[nodiscard]] inline size_t warm_up_values(std::span<const double> values) {
  size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (size_t cut = 0; cut <= values.size() / 2; ++cut) {
    const auto kept = values.subspan(cut);
    const double left = static_cast<double>(kept.size());
    const double squares = squares_about_mean(kept);
    if (squares / (left * left) >= least) continue;
    least = squares / (left * left);
    best = cut;
  }
  return best;
}

}  // namespace redline

// How long a step would take if something were otherwise: a free DataLoader, faster collectives or
// kernels, 16 bits, another batch size, no straggler. The change is put on the slices that it
// concerns, and the recording is replayed (replay.h).
//
// The interval holds what the recording leaves open: how much its steps differ, and what a change
// may mean (a collective may have waited for other ranks instead of the network). It also has the
// error that bench/what_if.py measured between predictions and runs. It ends where all that becomes
// shorter would take no time, but for that error, and, for a knob that can only help, at no gain.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "trace/analysis/analysis.h"
#include "trace/analysis/ranks.h"

namespace redline::trace {

enum class WhatIfKind : uint8_t {
  kLoader,
  kCollectives,
  kKernels,
  kAmp,
  kBatchSize,
  kStraggler,
};

struct WhatIfKnob {
  WhatIfKind kind = WhatIfKind::kLoader;
  std::string text;     ///< as it was given
  std::string pattern;  ///< of kKernels: a regular expression
  double times = 1;     ///< so many times as fast, or as large; infinity: takes no time
};

/// Reads "loader=free", "loader=2x", "collectives=2x", "kernels:REGEX=1.5x", "amp=bf16",
/// "batch_size=2x" or "straggler=cured". The error says what is wrong.
[[nodiscard]] tl::expected<WhatIfKnob, std::string> read_what_if_knob(const std::string& text);

/// The mean length of a step.
struct Prediction {
  int64_t steps = 0;
  double step_ns = 0;  ///< as it was recorded
  double new_ns = 0;
  double low_ns = 0, high_ns = 0;  ///< of the 90 % interval
  double samples = 1;              ///< in a step, by those that were recorded
  std::vector<std::string> notes;  ///< what the figures rest on

  /// How many times as many samples a second.
  [[nodiscard]] double speedup(double of_ns) const { return samples * step_ns / of_ns; }
};

/// Of one trace of each rank, and what compare_ranks() says of these; a straggler needs it. The
/// error says why nothing can be said.
[[nodiscard]] tl::expected<Prediction, std::string> what_if(
    std::span<const Analysis* const> ranks, std::span<const WhatIfKnob> knobs,
    const std::optional<RankComparison>& comparison = {});

}  // namespace redline::trace

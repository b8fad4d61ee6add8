// The batch sizes that fit in memory and those that do not, as far as trials have shown, and how
// much of the host's memory a loader fills.
//
// Memory depends on the batch size and on what makes a stratum (precision, layout, anything
// unknown), not on how data is loaded; so trials with other worker counts count as well.
#pragma once

#include <cstdint>
#include <optional>

#include "tuner/search/history.h"

namespace redline::tuner {

struct Frontier {
  std::optional<int64_t> largest_ok;
  std::optional<int64_t> smallest_failed;  ///< out of memory, or no step in time

  /// The geometric mean of what fits and what does not; nullopt before both are known.
  [[nodiscard]] std::optional<double> middle() const;
};

/// The knobs of `config` that change a rank's peak memory, except the batch size.
[[nodiscard]] Config memory_stratum(const History& history, const Config& config);

/// The frontier of the stratum that `config` lies in.
[[nodiscard]] Frontier find_frontier(const History& history, const Config& config);

/// nullopt if too little is known, or if a configuration that needs at least as much has run
/// already.
[[nodiscard]] std::optional<HostUse> predict_host_use(const History& history, const Config& config);

/// How many batches wait in /dev/shm: workers x prefetch; nullopt if the number of workers is not
/// known.
[[nodiscard]] std::optional<double> batches_in_flight(const History& history, const Config& config);

}  // namespace redline::tuner

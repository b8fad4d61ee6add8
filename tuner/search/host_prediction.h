// How much host memory and /dev/shm a configuration will take, by what trials so far took.
//
// Each DataLoader worker keeps `prefetch_factor` batches in /dev/shm, and is a process with a copy
// of what it touches. So shared memory grows with workers x prefetch x batch, and host memory is
// a fixed part, one a worker, one a sample of the batch, and the shared memory.
#pragma once

#include <optional>

#include "tuner/search/history.h"

namespace redline::tuner {

/// Nothing where too little is known, or where as much ran already.
[[nodiscard]] std::optional<HostUse> predict_host_use(const History& history, const Config& config);

/// Workers x prefetch: batches that wait in /dev/shm; nothing where the workers are not known.
[[nodiscard]] std::optional<double> batches_in_flight(const History& history, const Config& config);

}  // namespace redline::tuner

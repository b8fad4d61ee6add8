// What a worker of a DataLoader costs: each batch crosses to the training process.
#pragma once

#include <cstdint>

namespace redline::trace {

/// A batch that is made in less costs about as much if a worker makes it.
inline constexpr int64_t kHandOverNs = 500'000;

}  // namespace redline::trace

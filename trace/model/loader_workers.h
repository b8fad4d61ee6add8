// Worker processes of a DataLoader, from which each batch crosses to the training process.
#pragma once

#include <cstdint>
#include <string_view>

namespace redline::trace {

/// A batch that is made in less costs about as much if a worker makes it.
inline constexpr int64_t kHandOverNs = 500'000;

/// Of the annotation around fetching one batch (kDataLoaderName): whether a worker makes it.
[[nodiscard]] inline bool is_of_workers(std::string_view name) {
  return name.find("MultiProcessing") != std::string_view::npos;
}

}  // namespace redline::trace

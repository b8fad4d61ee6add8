// The names that a program gives its streams (nvtxNameCudaStreamA and the like), for their rows in
// the trace. Given once, mostly before any window, and kept as long as the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "profiler/cupti/cupti_library.h"

namespace redline::cupti {

class StreamNames {
 public:
  static constexpr size_t kMost = 1024;

  /// A handle of CUDA's means something only as long as the stream lives, so CUPTI is asked now
  /// for its number. Without effect where it does not tell.
  void add(void* stream, const std::string& name);
  /// All are delivered as records of the window.
  void deliver_all();

 private:
  [[nodiscard]] const Library* library();

  std::mutex mutex_;  ///< for all below
  std::optional<Library> library_;
  std::map<std::pair<uint32_t, uint32_t>, std::string> names_;  ///< by device and number
};

/// Of this process.
[[nodiscard]] StreamNames& stream_names();

}  // namespace redline::cupti

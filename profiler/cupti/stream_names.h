// The names that a program gives its streams (nvtxNameCudaStreamA and the like), for their rows in
// the trace. A program gives them once, mostly before any window, so they are kept until the
// process ends.
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

  /// Asks CUPTI for the stream's number at once, because `stream` is a valid handle only as long as
  /// the stream exists. Does nothing if CUPTI does not tell.
  void add(void* stream, const std::string& name);
  /// Delivers all names as records of the window.
  void deliver_all();

 private:
  [[nodiscard]] const Library* library();

  std::mutex mutex_;  ///< for all below
  std::optional<Library> library_;
  std::map<std::pair<uint32_t, uint32_t>, std::string> names_;  ///< by device and number
};

/// The names in this process.
[[nodiscard]] StreamNames& stream_names();

}  // namespace redline::cupti

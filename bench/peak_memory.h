// The most anonymous memory that this process had at once: what it allocated, without mapped files.
#pragma once

#include <cstdint>
#include <thread>

namespace redline::bench {

/// Resident pages that no file backs, in bytes.
[[nodiscard]] int64_t anonymous_bytes();

/// Looks every 2 ms: the kernel keeps a high-water mark only of all pages together.
class PeakMemory {
 public:
  PeakMemory();
  [[nodiscard]] int64_t stop();  ///< the peak since construction, in bytes

 private:
  int64_t peak_ = 0;
  std::jthread sampler_;
};

}  // namespace redline::bench

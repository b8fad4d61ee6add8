#include "trace/emit/write_pace.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.h"

namespace redline::trace {
namespace {

constexpr auto kLook = std::chrono::milliseconds(20);

}  // namespace

void WritePace::set(uint64_t bytes_per_s) {
  bytes_per_s_ = bytes_per_s;
  is_lifted_ = false;
}

size_t WritePace::take(size_t wanted, int64_t now_ns) {
  const auto rate = static_cast<double>(bytes_per_s_.load());
  if (rate == 0 || is_lifted_) return wanted;
  const double seconds = static_cast<double>(now_ns - counted_to_ns_) * 1e-9;
  free_bytes_ = std::min(rate, free_bytes_ + seconds * rate);
  counted_to_ns_ = now_ns;
  const size_t taken = std::min(wanted, static_cast<size_t>(free_bytes_));
  free_bytes_ -= static_cast<double>(taken);
  return taken;
}

size_t WritePace::take(size_t wanted) { return take(wanted, monotonic_ns()); }

size_t WritePace::wait_and_take(size_t wanted) {
  size_t taken = take(wanted);
  while (taken == 0 && wanted > 0) {
    std::this_thread::sleep_for(kLook);
    taken = take(wanted);
  }
  return taken;
}

}  // namespace redline::trace

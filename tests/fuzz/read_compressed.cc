// Any bytes as a file, which mostly begins as gz or zst: damaged streams give what came out of
// them.
#include <cstdint>

#include "tests/fuzz/check_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto trace = redline::fuzz::read_bytes({reinterpret_cast<const char*>(data), size});
  if (trace) redline::fuzz::require_none(redline::fuzz::broken_promise(*trace));
  return 0;
}

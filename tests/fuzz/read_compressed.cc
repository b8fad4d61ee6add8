// Reads any bytes as a file that mostly begins as gz or zst. A damaged stream must give the text
// before the damage.
#include <cstdint>

#include "tests/fuzz/check_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto trace = redline::fuzz::read_bytes({reinterpret_cast<const char*>(data), size});
  if (trace) redline::fuzz::require_none(redline::fuzz::broken_promise(*trace));
  return 0;
}

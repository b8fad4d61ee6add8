// Reads any bytes as a step log: as they are, and as the payloads of sound blocks. They must be
// refused, or give a log that keeps its promises and can be reported on.
#include <cstdint>

#include "tests/fuzz/check_step_log.h"
#include "tests/fuzz/check_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace redline::fuzz;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  require_none(broken_step_log(bytes));
  require_none(broken_step_log(in_sound_blocks(bytes)));
  return 0;
}

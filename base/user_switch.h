// Environment variables by which users switch something on or off.
#pragma once

#include <cstdlib>
#include <string_view>

namespace redline {

/// Whether the user has set `variable` to `value`. A set-uid program takes no switch from its user.
[[nodiscard]] inline bool is_set_to(const char* variable, std::string_view value) {
  const char* text = ::secure_getenv(variable);
  return text != nullptr && text == value;
}

/// Whether CUPTI shall end after each window (docs/gpu.md).
[[nodiscard]] inline bool wants_gpu_teardown() { return is_set_to("REDLINE_GPU_TEARDOWN", "on"); }

}  // namespace redline

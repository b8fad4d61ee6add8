// Environment variables of users. A set-uid program takes none from its user.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

namespace redline {

/// Whether the user has set `variable` to `value`.
[[nodiscard]] inline bool is_set_to(const char* variable, std::string_view value) {
  const char* text = ::secure_getenv(variable);
  return text != nullptr && text == value;
}

/// Its value; empty if it is not set.
[[nodiscard]] inline std::string user_variable(const char* variable) {
  const char* text = ::secure_getenv(variable);
  return text != nullptr ? text : "";
}

/// Whether CUPTI shall end after each window (docs/gpu.md).
[[nodiscard]] inline bool wants_gpu_teardown() { return is_set_to("REDLINE_GPU_TEARDOWN", "on"); }

}  // namespace redline

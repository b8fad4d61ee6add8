// A name for what one command records.
#pragma once

#include <unistd.h>

#include <chrono>
#include <string>

namespace redline::launch {

/// No two are equal, and that of a later command comes later in the alphabet.
[[nodiscard]] inline std::string new_run_name() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::to_string(std::chrono::nanoseconds(now).count()) + "." + std::to_string(getpid());
}

}  // namespace redline::launch

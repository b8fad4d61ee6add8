// A name for what one command records.
#pragma once

#include <unistd.h>

#include <string>

#include "base/clock.h"

namespace redline {

/// No two are equal, and that of a later command comes later in the alphabet.
[[nodiscard]] inline std::string new_run_name() {
  return std::to_string(unix_ns()) + "." + std::to_string(getpid());
}

}  // namespace redline

// Asks the processes of a command for a step log each.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "machine/launch/environment.h"

namespace redline::launch {

/// Python processes (start-up hook) and programs with a redline::Profiler or redline::Trial
/// (LD_PRELOAD) then log their steps in `folder`, which is made absolute, since the command may
/// change its own. All of them know that they belong to one run. The error is add_libraries()'s.
[[nodiscard]] tl::expected<void, std::string> add_step_log(const std::string& folder,
                                                           Environment& environment);

}  // namespace redline::launch

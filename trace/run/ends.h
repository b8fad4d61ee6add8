// What the end of a command tells of ranks whose logs have no end.
#pragma once

#include <vector>

#include "trace/run/verdict.h"

namespace redline::trace {

/// The command of the run ended with status 0. So a rank whose log lacks its end need not have
/// died: drops that finding, and gives the ranks without an end if there was one.
[[nodiscard]] std::vector<int> take_back_deaths(RunVerdict& verdict);

}  // namespace redline::trace

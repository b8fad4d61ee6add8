// Looks for values that run where the first trial ran out of memory.
//
// Any model of the step needs one trial that ran. Until there is one, the only question is which
// values take less memory. So those that are known to save some are set together, and a knob of
// which nobody knows what it does, as of the script's own, is tried by itself. Trying every value
// was rejected: of a model that is too large for this machine it would use up the whole budget.
#pragma once

#include "tuner/search/walk.h"

namespace redline::tuner {

/// If the incumbent does not run, looks for values that do, by few trials, and makes them the
/// incumbent; if it finds none, the incumbent's rate stays 0. False: the walk wants a trial now.
[[nodiscard]] bool find_what_runs(Walk& walk);

}  // namespace redline::tuner

// What `--dry-run` prints: the space, the plan, every default, and the first command.
#pragma once

#include <string>

#include "tuner/options.h"
#include "tuner/search/strategy.h"
#include "tuner/space/space.h"

namespace redline::tuner {

[[nodiscard]] std::string dry_run_text(const Options& options, const Space& space,
                                       const Strategy& strategy, const Machine& machine,
                                       const std::vector<Share>& shares);

}  // namespace redline::tuner

// What the report on a trace advises to turn, for --from-trace.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "tuner/space/space.h"

namespace redline::tuner {

/// "num_workers=0..16", …: the knobs of the report's findings, the most promising first, each once.
/// The error begins with the path.
[[nodiscard]] tl::expected<std::vector<std::string>, std::string> advised_knobs(
    const std::string& path);

/// The knobs that are advised come first, in the order of the advice. Where the user named no knob,
/// those that `space` lacks and that can matter on this machine are added.
void put_advised_first(Space& space, const std::vector<std::string>& advised, bool may_add,
                       const Machine& machine);

}  // namespace redline::tuner

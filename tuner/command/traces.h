// What autotune does with traces: before a search it takes a report's advice, after one it records
// the default and the best configuration to show what differs.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "tuner/command/command_line.h"
#include "tuner/space/space.h"
#include "tuner/study/best_config.h"

namespace redline::tuner {

/// For --from-trace: "num_workers=0..16", …, the knobs that the findings of the report on `path`
/// name, the most promising first, each once. The error begins with the path.
[[nodiscard]] tl::expected<std::vector<std::string>, std::string> advised_knobs(
    const std::string& path);

/// Moves the advised knobs to the front, in the order of the advice. With `may_add` (the user named
/// no knob) advised knobs that `space` lacks and that can matter on this machine are added.
void put_advised_first(Space& space, const std::vector<std::string>& advised, bool may_add,
                       const Machine& machine);

/// Where --profile-best puts its traces, beside the study: FILE without ".db", ".profile".
[[nodiscard]] std::string profile_folder(const std::string& study);

/// For --profile-best: runs the defaults and `best` once more, recorded as `redline record` does,
/// each until its ranks have written their traces; `say` is told what runs. The error is one line.
/// A set `stop` ends it with the error that it was stopped.
[[nodiscard]] Result<BestProfile> profile_best(const History& history, const Best& best,
                                               const Options& options, const Share& share,
                                               const std::atomic<StopRequest>& stop,
                                               const std::function<void(const std::string&)>& say);

}  // namespace redline::tuner

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

/// For --from-trace: the knobs, such as "num_workers=0..16", that the findings of the report on
/// `path` name; the most promising first, each once. The error begins with the path.
[[nodiscard]] tl::expected<std::vector<std::string>, std::string> advised_knobs(
    const std::string& path);

/// Moves the advised knobs to the front, in the order of the advice. With `may_add` (the user named
/// no knob) it also adds advised knobs that `space` lacks and that can matter on this machine.
void put_advised_first(Space& space, const std::vector<std::string>& advised, bool may_add,
                       const Machine& machine);

/// The folder beside the study into which --profile-best puts its traces: the study's name with
/// ".profile" for ".db".
[[nodiscard]] std::string profile_folder(const std::string& study);

/// For --profile-best: runs the defaults and `best` once more and records them like `redline
/// record`, each until its ranks have written their traces. Calls `say` with what runs now. The
/// error is one line. If `stop` is set, it ends with the error that it was stopped.
[[nodiscard]] Result<BestProfile> profile_best(const History& history, const Best& best,
                                               const Options& options, const Share& share,
                                               const std::atomic<StopRequest>& stop,
                                               const std::function<void(const std::string&)>& say);

}  // namespace redline::tuner

// --profile-best: traces of the defaults and of the winner, and what became faster between them.
#pragma once

#include <atomic>
#include <string>

#include "tuner/options.h"
#include "tuner/study/best_config.h"

namespace redline::tuner {

/// Folder of the traces beside the study: FILE without ".db", ".profile".
[[nodiscard]] std::string profile_folder(const std::string& study);

/// Runs the defaults and `best` once more, recorded as `redline record` does, each until its ranks
/// have written their traces; `say` is told what runs. The error is one line. A set `stop` ends it
/// with the error that it was stopped.
[[nodiscard]] Result<BestProfile> profile_best(const History& history, const Best& best,
                                               const Options& options, const Share& share,
                                               const std::atomic<StopRequest>& stop,
                                               const std::function<void(const std::string&)>& say);

}  // namespace redline::tuner

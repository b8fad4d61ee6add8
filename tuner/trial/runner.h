// Runs one trial: the command under one configuration, in a process tree of its own, until enough
// is measured or something ends it; then nothing of it is left.
//
// Trials are separate process trees because no in-process way survives: a rank that catches its own
// out-of-memory leaves the others waiting in a collective, and what it allocated is never all given
// back.
#pragma once

#include <atomic>
#include <functional>

#include "tuner/trial/trial.h"

namespace redline::tuner {

/// Runs `spec.command` and waits until no process of it is left, whatever it did. Set `stop`
/// from a signal handler or another thread to end the trial (kCancelled). Never throws; a trial
/// that cannot even start is a result too (kInvalid with the reason in `message`).
///
/// The calling process becomes a child subreaper (prctl 2) and stays one. A SIGKILL of it ends the
/// trial's processes as well: a guard process watches.
[[nodiscard]] TrialResult run_trial(const TrialSpec& spec, const std::atomic<StopRequest>& stop,
                                    const std::function<void(const TrialProgress&)>& on_progress);

}  // namespace redline::tuner

"""Steps of a script that has a torch.profiler.profile of its own: they are the better boundaries, and
their `ProfilerStep#n` annotations reach our trace as they are."""

import functools

import torch


def watch_script_profiler(started, step_ended, stopped):
    """Calls `started()` before the first annotation of a step, `step_ended()` between those of two
    steps, and `stopped()` after the last."""
    profile_class = torch.profiler.profile
    start, step, stop = profile_class.start, profile_class.step, profile_class.stop

    @functools.wraps(start)
    def watched_start(profile):
        if profile.record_steps:
            started()
        start(profile)

    @functools.wraps(step)
    def watched_step(profile):
        if profile.record_steps:
            # Closed here as step() would do it, so that our window ends between two annotations.
            if profile.step_rec_fn:
                profile.step_rec_fn.__exit__(None, None, None)
                profile.step_rec_fn = None
            step_ended()
        step(profile)

    @functools.wraps(stop)
    def watched_stop(profile):
        stop(profile)
        stopped()

    profile_class.start, profile_class.step, profile_class.stop = (
        watched_start, watched_step, watched_stop
    )

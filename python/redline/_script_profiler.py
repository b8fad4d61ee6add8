"""Steps of a script that has a torch.profiler.profile of its own: they are the better boundaries, and
their `ProfilerStep#n` annotations reach our trace as they are."""

import functools

import torch


def watch_script_profiler(step_ended, stopped):
    """Calls `step_ended()` between the annotations of two steps, and `stopped()` after the last."""
    profile_class = torch.profiler.profile
    step, stop = profile_class.step, profile_class.stop

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

    profile_class.step, profile_class.stop = watched_step, watched_stop

"""Watches the steps of a script that uses torch.profiler.profile itself. Its calls of step() are better boundaries
than the optimizer's steps, and its `ProfilerStep#n` annotations reach our trace as they are."""

import functools

import torch


def watch_script_profiler(started, step_ended, stopped):
    """Calls `started()` before the script's profiler opens its first `ProfilerStep#n`, `step_ended()` between two of
    them, and `stopped()` after the last one."""
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
            # We close the annotation as step() would, so that our window ends between two annotations.
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

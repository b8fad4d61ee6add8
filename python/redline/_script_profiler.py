"""Watches the steps of a script that uses torch.profiler.profile itself. Its calls of step() are better boundaries
than the optimizer's steps, and its `ProfilerStep#n` annotations reach our trace as they are."""

import torch

from redline._stand_in import replace


def watch_script_profiler(started, step_ended, stopped):
    """Calls `started()` before the script's profiler opens its first `ProfilerStep#n`, `step_ended()` between two of
    them, and `stopped()` after the last one."""
    profile_class = torch.profiler.profile

    def watched_start(start, profile):
        if profile.record_steps:
            started()
        start(profile)

    def watched_step(step, profile):
        if profile.record_steps:
            # We close the annotation as step() would, so that our window ends between two annotations.
            if profile.step_rec_fn:
                profile.step_rec_fn.__exit__(None, None, None)
                profile.step_rec_fn = None
            step_ended()
        step(profile)

    def watched_stop(stop, profile):
        stop(profile)
        stopped()

    replace(profile_class, "start", watched_start)
    replace(profile_class, "step", watched_step)
    replace(profile_class, "stop", watched_stop)

"""Says what must happen to the window between two steps of a schedule, as in torch.profiler.

A window is prepared (warm-up), started, stopped, and then handed to the user as ready.
"""

import warnings

from torch.profiler import ProfilerAction

_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def records(action):
    """Whether events of a step with this action are in the trace."""
    return action in _RECORDING


def operations(previous, current):
    """Names of the window's operations between the step before and this one, in order.

    `current` is None if recording ends after a step whose action was `previous`.
    """
    if previous is ProfilerAction.NONE:
        return _opening(current)
    if previous is ProfilerAction.RECORD_AND_SAVE:
        return ["stop", "ready", *_opening(current)]
    if previous is ProfilerAction.RECORD:
        if current is None:
            return ["stop", "ready"]
        return [] if records(current) else ["stop", *_opening(current)]
    if current is ProfilerAction.WARMUP:
        return []
    return ["start"] if current is not None and records(current) else ["start", "stop"]


def warn_if_incorrect(previous, current, stacklevel):
    """Warns if a schedule that the user wrote drops what was recorded or prepared, as torch.profiler does."""
    lost = previous is ProfilerAction.RECORD and current is not None and not records(current)
    if lost or (previous, current) == (ProfilerAction.WARMUP, ProfilerAction.NONE):
        warnings.warn(
            f"Incorrect schedule: {previous.name} followed by {current.name}",
            stacklevel=stacklevel + 1,
        )


def _opening(current):
    if current is ProfilerAction.WARMUP:
        return ["prepare"]
    return ["prepare", "start"] if current is not None and records(current) else []

"""torch.profiler.schedule. The rule is that of the C++ recorder, so that C++ and Python cannot differ."""

import contextlib
import operator
import warnings

from torch.profiler import ProfilerAction

from redline._library import recorder

_MOST = 10**15  # Schedule::kMost


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """A callable that gives the ProfilerAction of a step (from 0), for `profile(schedule=…)`.

    After `skip_first` steps each cycle waits `wait` steps, warms up for `warmup` steps and records
    `active` steps. There are `repeat` cycles, or cycles without end if `repeat` is 0. If `skip_first_wait`
    is not 0, the first cycle does not wait. Raises ValueError if a number makes no sense.
    """
    given = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat,
             "skip_first": skip_first, "skip_first_wait": skip_first_wait}
    numbers = [_whole(number) for number in given.values()]
    if None in numbers or not numbers[2] or not all(0 <= number <= _MOST for number in numbers):
        said = ", ".join(f"{name}={number!r}" for name, number in given.items())
        raise ValueError(
            f"schedule: active must be above 0 and the others not below, all whole and at most 10^15, got {said}"
        )
    wait, warmup, active, repeat, skip_first, skip_first_wait = numbers
    if warmup == 0:
        warnings.warn(
            "schedule: without warmup the first recorded step also pays for the recorder's start",
            stacklevel=2,
        )
    action_of = action_rule(skip_first, wait, warmup, active, repeat)
    if not skip_first_wait:
        return action_of
    return lambda step: action_of(step + wait if step >= skip_first else step)


def _whole(number):
    """The number as an int; None if it is not whole. Scripts give len(loader) / 2, or numbers of NumPy or torch."""
    if isinstance(number, float) and number.is_integer():
        return int(number)
    with contextlib.suppress(TypeError):
        return operator.index(number)
    return None


def action_rule(skip_first, wait, warmup, active, repeat):
    """Like schedule(), but without checks of the numbers."""
    rule = recorder().schedule_action

    def action_of(step):
        if step < 0:
            raise ValueError(f"schedule: steps count from 0, got {step}")
        return ProfilerAction(rule(skip_first, wait, warmup, active, repeat, step))

    return action_of

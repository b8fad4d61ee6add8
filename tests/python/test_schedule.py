"""Compares the recorder's schedule with torch.profiler.schedule, state by state."""

import ctypes
import itertools
import warnings

STEPS = 64


def test_every_state_equals_torchs(library):
    import torch.profiler

    action = ctypes.CDLL(str(library("libredline.so"))).redline_schedule_action
    action.argtypes = [ctypes.c_int64] * 6
    cases = list(itertools.product(range(4), range(5), range(4), range(1, 5), range(4)))
    assert len(cases) == 1280
    for skip_first, wait, warmup, active, repeat in cases:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns of warmup == 0
            theirs = torch.profiler.schedule(
                skip_first=skip_first, wait=wait, warmup=warmup, active=active, repeat=repeat
            )
        case = (skip_first, wait, warmup, active, repeat)
        ours = [action(*case, step) for step in range(STEPS)]
        assert ours == [int(theirs(step).value) for step in range(STEPS)], case

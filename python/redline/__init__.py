"""Redline: records PyTorch training, torch.profiler-shaped.

    from redline import profile, schedule, tensorboard_trace_handler

    with profile(schedule=schedule(wait=1, warmup=1, active=3),
                 on_trace_ready=tensorboard_trace_handler("traces")) as recorder:
        for batch in loader:
            train(batch)
            recorder.step()

The names are loaded when they are first used: the start-up hook imports this package in every
Python process of a recorded command, and most of them never record.
"""

import importlib

_HOMES = {
    "profile": "redline._profile",
    "tensorboard_trace_handler": "redline._handlers",
    "schedule": "redline._schedule",
    "RecorderError": "redline._library",
    "ProfilerAction": "torch.profiler",
    "ProfilerActivity": "torch.profiler",
    "record_function": "torch.profiler",
    "supported_activities": "torch.profiler",
    "ExecutionTraceObserver": "torch.profiler",
    "DeviceType": "torch.profiler",
    "kineto_available": "torch.profiler",
}

__all__ = sorted(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_HOMES})

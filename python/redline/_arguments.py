"""Which arguments of torch.profiler.profile are served. None is accepted in silence."""

import warnings

from torch.profiler import ProfilerActivity

_SERVED = ("record_shapes", "profile_memory", "with_flops", "with_stack", "with_modules")
_UNSERVED = {
    "experimental_config": None,
    "post_processing_timeout_s": None,
    "use_cuda": None,
}
# Members of _ExperimentalConfig, by their place in its state, that ask for what we always do:
# stacks in events(), and all threads.
_SERVED_EXPERIMENTS = (2, 7)


def check_arguments(activities, named):
    """Warns of what is not served; raises TypeError where torch.profiler would, and ValueError where
    nothing would be recorded."""
    _check_activities(activities)
    for name, value in named.items():
        if name in _SERVED:
            continue
        if name not in _UNSERVED:
            raise TypeError(f"profile() got an unexpected keyword argument {name!r}")
        if name == "experimental_config" and not _asks_for_more(value):
            continue
        if value != _UNSERVED[name]:
            _warn_unserved(f"{name}={value!r}")


def _check_activities(activities):
    if activities is None:
        return
    asked = set(activities)
    if ProfilerActivity.CPU not in asked:
        raise ValueError(
            "profile: activities must hold ProfilerActivity.CPU, which this version always records"
        )
    for other in sorted(asked - {ProfilerActivity.CPU, ProfilerActivity.CUDA}, key=str):
        _warn_unserved(f"activity {other.name}", stacklevel=5)


def _asks_for_more(experiments):
    """Whether an _ExperimentalConfig differs from the default in what we do not do anyway."""
    if experiments is None:
        return False
    pairs = zip(experiments.__getstate__(), type(experiments)().__getstate__())
    return any(
        asked != default and place not in _SERVED_EXPERIMENTS
        for place, (asked, default) in enumerate(pairs)
    )


def _warn_unserved(what, stacklevel=4):
    warnings.warn(
        f"redline.profile does not serve {what} in this version: it is left out of the trace",
        stacklevel=stacklevel,
    )

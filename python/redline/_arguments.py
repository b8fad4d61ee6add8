"""Checks the arguments of torch.profiler.profile, and warns of each one that Redline does not support."""

import contextlib
import warnings

from torch.profiler import ProfilerActivity

_SERVED = ("record_shapes", "profile_memory", "with_flops", "with_stack", "with_modules")
_UNSERVED = {
    "experimental_config": None,
    "post_processing_timeout_s": None,
}
# Arguments that export_chrome_trace has since torch 2.15.
_UNSERVED_BY_EXPORT = {"cuda_graph_annotations": None, "graph_lanes": "none", "default_stream": 7}
# Arguments of _ExperimentalConfig that need no warning, because we always do what they ask for: events() have stacks,
# and all threads are recorded.
_SERVED_EXPERIMENTS = ("verbose", "profile_all_threads")


def check_arguments(named):
    """Warns of arguments that profile() does not support. Raises TypeError for those that torch.profiler has not."""
    experiments = named.get("experimental_config")
    unserved = {name: value for name, value in named.items() if name not in _SERVED}
    if not _asks_for_more(experiments):
        unserved.pop("experimental_config", None)
    _warn_of("profile", unserved, _UNSERVED)


def check_export_arguments(named):
    """The same for export_chrome_trace()."""
    _warn_of("export_chrome_trace", named, _UNSERVED_BY_EXPORT)


def chosen_activities(activities, use_cuda=None):
    """The members of ProfilerActivity to record; None or an empty list asks for all. As with torch 2.15, an item may
    be a dict from a member to a list of activity types, or to a ProfilerActivityConfig. An empty
    list asks for nothing of that member; any other list draws a warning, because we record all types.
    torch's older `use_cuda` adds CUDA, or leaves it out. Raises ValueError if nothing would be recorded."""
    if not activities:
        activities = (ProfilerActivity.CPU, ProfilerActivity.CUDA)
    chosen = set()
    for item in activities:
        for activity, wanted in item.items() if isinstance(item, dict) else [(item, None)]:
            if not _is_empty(wanted):
                chosen.add(activity)
                if wanted is not None:
                    _warn_unserved(f"a choice among the events of activity {activity.name}")
    if use_cuda is not None:
        chosen = chosen | {ProfilerActivity.CUDA} if use_cuda else chosen - {ProfilerActivity.CUDA}
    served = chosen & {ProfilerActivity.CPU, ProfilerActivity.CUDA}
    if not served:
        raise ValueError("profile: activities must hold ProfilerActivity.CPU or ProfilerActivity.CUDA")
    for other in sorted(chosen - served, key=str):
        _warn_unserved(f"activity {other.name}")
    return served


def _is_empty(wanted):
    """Whether a choice of activity types leaves nothing."""
    types = getattr(wanted, "activity_types", wanted)
    return types is not None and not types and not getattr(wanted, "profiler_configs", None)


def _asks_for_more(experiments):
    """Whether an _ExperimentalConfig asks for more than the default and _SERVED_EXPERIMENTS. Only its pickled state
    can be read. The order of values in there differs between versions of torch, so it is found by trying."""
    if experiments is None:
        return False
    kind = type(experiments)
    default = kind().__getstate__()
    served = set()
    for name in _SERVED_EXPERIMENTS:
        with contextlib.suppress(TypeError):  # this torch does not know the argument
            served |= _differing_places(kind(**{name: True}).__getstate__(), default)
    return not _differing_places(experiments.__getstate__(), default) <= served


def _differing_places(left, right):
    return {place for place, pair in enumerate(zip(left, right)) if pair[0] != pair[1]}


def _warn_of(call, named, defaults):
    for name, value in named.items():
        if name not in defaults:
            raise TypeError(f"{call}() got an unexpected keyword argument {name!r}")
        if value != defaults[name]:
            _warn_unserved(f"{name}={value!r}", stacklevel=5)


def _warn_unserved(what, stacklevel=4):
    warnings.warn(
        f"redline.profile does not support {what} in this version: it has no effect",
        stacklevel=stacklevel,
    )

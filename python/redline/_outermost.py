"""Watches the calls of models. A model is a module with parameters that the script calls, not another module.

It replaces torch.nn.Module.__call__, which costs a tenth of a microsecond per layer. Global hooks of torch cost ten
times that. Hooks on the model itself would be copied with it, also into files that torch.save writes, and such a file
could then not be read without Redline.
"""

import functools
import weakref

import torch
from torch import nn

_watchers = []
_is_model = {}  # by id, since modules may define equality
_entered = []  # the outermost call that is running; not thread-local, so that threads that the model starts see it too


def inside_a_model():
    """Whether a model's forward is running."""
    return bool(_entered)


def _within_backward():
    """Whether a backward pass runs: checkpointing calls a part of the model again there."""
    return torch._C._current_graph_task_id() != -1


def watch_models(enter, leave):
    """Calls `enter(module, args, kwargs)` before a model's forward, which then gets the (args, kwargs) that it returns.
    Calls `leave(module)` after the forward, even if this raised. Who came first is the outer one."""
    _watchers.append((enter, leave))
    if len(_watchers) > 1:
        return
    original = nn.Module.__call__

    @functools.wraps(original)
    def call(module, *args, **kwargs):
        if _entered or not _has_parameters(module) or _within_backward():
            return original(module, *args, **kwargs)
        _entered.append(module)
        try:
            for enter, _ in _watchers:
                args, kwargs = enter(module, args, kwargs)
            return original(module, *args, **kwargs)
        finally:
            _entered.pop()
            for _, leave in reversed(_watchers):
                leave(module)

    nn.Module.__call__ = call


def _has_parameters(module):
    """Found once for a module: the search takes longer than all else here."""
    known = _is_model.get(id(module))
    if known is None:
        known = next(module.parameters(), None) is not None
        _is_model[id(module)] = known
        weakref.finalize(module, _is_model.pop, id(module), None).atexit = False
    return known

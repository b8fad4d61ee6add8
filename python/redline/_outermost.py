"""Watches the calls of models. A model is a module with parameters that the script calls, not another module.

It replaces torch.nn.Module.__call__, which costs some ten nanoseconds per layer: libredline_python.so passes on the
calls within a model. Where that library is for another Python, a layer costs a tenth of a microsecond. Global hooks of
torch cost ten times that. Hooks on the model itself would be copied with it, also into files that torch.save writes,
and such a file could then not be read without Redline.
"""

import functools
import weakref

import torch
from torch import nn

from redline._stand_in import call_through

models = {}  # whether each is one, by id, since modules may define equality
# Not empty while an outermost call is running. It is not thread-local, so that threads that the model starts see it,
# too. It does not hold the model: Dynamo, which traces through `call`, would meet that twice and refuse to compile it.
_entered = []
_graph_task = torch._C._current_graph_task_id  # gives -1 outside of backward passes


def inside_a_model():
    """Whether a model's forward is running."""
    return bool(_entered)


def watch_models(enter, leave):
    """Calls `enter(module, args, kwargs)` before a model's forward, which then gets the (args, kwargs) that it returns.
    Calls `leave(module)` after the forward, even if this raised. Once a process."""
    original = nn.Module.__call__

    @functools.wraps(original)
    def call(module, /, *args, **kwargs):
        # In a backward pass, checkpointing calls a part of the model again.
        if _entered or not (models.get(id(module)) or is_model(module)) or _graph_task() != -1:
            return original(module, *args, **kwargs)
        _entered.append(True)
        try:
            args, kwargs = enter(module, args, kwargs)
            return original(module, *args, **kwargs)
        finally:
            _entered.pop()
            leave(module)

    call_through(call, original, _entered)
    nn.Module.__call__ = call


def remember(module, ids):
    """Adds the module's id for as long as the module lives: a later module may have the same one."""
    ids.add(id(module))
    weakref.finalize(module, ids.discard, id(module)).atexit = False


def is_model(module):
    """Found once for a module: the search takes longer than all else here."""
    known = models.get(id(module))
    if known is None:
        known = next(module.parameters(), None) is not None
        models[id(module)] = known
        weakref.finalize(module, models.pop, id(module), None).atexit = False
    return known

"""Sees calls of models by a hook on all modules. The hook is taken away as soon as it has seen one call, so that
further calls cost the job nothing.

torch.compile warns if there is such a hook, and would compile it in. So from the first torch.compile on, no hook is
added: calls of compiled modules and starts of compilations are watched instead. Both precede torch's look for hooks.
"""

import functools
import sys
import types

import torch
from torch.nn.modules.module import register_module_forward_pre_hook

from redline._stand_in import known_to_torchscript


class ModelCalls:
    """Calls `called(module)` before the next call of a module, once for each await_next(), until stop(). The module
    is None where only a compilation is seen."""

    def __init__(self, called):
        self._called = called
        self._awaits = False
        self._is_over = False
        self._watches_dynamo = False
        self._hook = None
        self._restore = [replace(torch, "compile", self._after_compile)]

    def await_next(self):
        if self._is_over:
            return
        self._awaits = True
        if self._hook is None and not self._watches_dynamo:
            self._hook = register_module_forward_pre_hook(self._before_forward)

    def stop(self):
        self._is_over = True
        self._stop_waiting()
        for restore in self._restore:
            restore()

    def _stop_waiting(self):
        self._awaits = False
        if self._hook is not None:
            self._hook.remove()
            self._hook = None

    def _met(self, module):
        if self._awaits:
            self._stop_waiting()
            self._called(module)

    def _before_forward(self, module, inputs):
        # A compiler that traces this must see nothing. The hook returns None: torch would take a value as new inputs.
        if not torch.compiler.is_compiling():
            self._met(module)

    def _after_compile(self, torch_compile, *arguments, **named):
        compiled = torch_compile(*arguments, **named)
        if not (self._is_over or self._watches_dynamo) and "torch._dynamo.eval_frame" in sys.modules:
            self._watches_dynamo = True
            torch._dynamo.callback.on_compile_start(self._compilation_starts)
            module_class = torch._dynamo.eval_frame.OptimizedModule
            self._restore.append(replace(module_class, "__call__", self._call_compiled))
        return compiled

    def _call_compiled(self, call, module, /, *arguments, **named):
        self._met(module)
        return call(module, *arguments, **named)

    def _compilation_starts(self, *_):
        # We cannot leave torch's list of callbacks here, because torch walks through it during this call.
        self._met(None)


def replace(owner, name, replacement):
    """From now on owner.name(…) calls replacement(original, …). Gives a function that restores the original, unless
    somebody else has replaced owner.name since."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def own(*arguments, **named):
        return replacement(original, *arguments, **named)

    if isinstance(owner, types.ModuleType):  # torch.save is torch.serialization.save, which a pickle would look for
        own.__module__, own.__qualname__ = owner.__name__, name
        known_to_torchscript(own, original)

    def restore():
        if getattr(owner, name) is own:
            setattr(owner, name, original)

    setattr(owner, name, own)
    return restore

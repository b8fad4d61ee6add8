"""Sees calls of models by a hook on all modules. The hook is taken away as soon as it has seen one call, so that
further calls cost the job nothing.

torch.compile warns if there is such a hook, and would compile it in. So from the first torch.compile on, no hook is
added: calls of compiled modules and starts of compilations are watched instead. Both precede torch's look for hooks.
"""

import sys

import torch
from torch.nn.modules.module import register_module_forward_pre_hook

from redline._stand_in import replace


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

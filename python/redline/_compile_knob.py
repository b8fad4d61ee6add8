"""Knob compile = off | on | a mode of torch.compile: models that train, or all in a job of inference, are compiled."""

import torch

from redline._knob_values import on_or_off
from redline._outermost import remember

MODES = ("default", "reduce-overhead", "max-autotune")  # besides off and on; on means "default"


def compile_mode(name, value):
    return value if value in MODES else on_or_off(name, value)


class CompileKnob:
    """`mode` is False if the knob is off or not set. Call enter_model() before each outermost forward of a model that is
    to be compiled, and see_model() before one whose state counts for the job."""

    def __init__(self, mode):
        self.mode = "default" if mode is True else mode
        self.effective = mode
        self.script_compiles = False
        self._compiled = set()  # ids of models that were given to torch.compile
        self._seen = set()  # ids of models

    def enter_model(self, model):
        if self.mode and not _is_compiled(model):
            remember(model, self._compiled)
            _compile_whole(model, self.mode)

    def see_model(self, model):
        """The script may compile blocks of the model, or what DistributedDataParallel holds."""
        if id(model) in self._compiled or id(model) in self._seen:
            return
        remember(model, self._seen)
        if any(map(_is_compiled, model.modules())):
            self.effective = self.script_compiles = True


def _is_compiled(module):
    """By torch.compile() or by its method compile()."""
    return type(module).__name__ == "OptimizedModule" or getattr(module, "_compiled_call_impl", None) is not None


def _compile_whole(module, mode):
    """Compiles the module in place, but whole, as torch.compile(module) does. module.compile() would make one graph of
    each child of a container such as nn.Sequential, because Dynamo never begins in the container's forward, which is
    torch's own code."""
    call_whole = module._call_impl

    def call(*args, **kwargs):
        return call_whole(*args, **kwargs)

    module._compiled_call_impl = _Compiled(torch.compile(call, mode=mode))


class _Compiled:
    """What torch.compile gave. It calls the module that it was made of, so a copy of the module has None in its place:
    not every module leaves it out of its state as torch.nn.Module does (Lightning's do not)."""

    def __init__(self, call):
        self._call = call

    def __call__(self, *args, **kwargs):
        return self._call(*args, **kwargs)

    def __reduce__(self):
        return type(None), ()

"""Signs that a process trains: it makes an optimizer, and later it takes gradients.

An optimizer alone proves nothing: a script with an option to evaluate only often makes an optimizer before it looks at
that option.
"""

import torch
from torch import nn

from redline._hidden_code import hide_from_compiler
from redline._stand_in import replace

# After so many backward passes without an optimizer step, each backward pass counts as a step. Few scripts accumulate
# over more; they are counted rightly once their optimizer steps. profiler/python/training_loop.cc has the same.
BACKWARDS_WITHOUT_STEP = 64
# The same while an optimizer steps: L-BFGS makes as many backward passes in a step as the script asks for.
BACKWARDS_WITHIN_STEP = 10000


class TrainingSigns:
    """Calls `made()` after each optimizer is made and, until stop(), `trains()` before a backward pass and before
    gradients of parameters are taken."""

    def __init__(self, made, trains):
        self._made, self._trains = made, trains
        replace(torch.optim.Optimizer, "__init__", self._make)
        self._restore = [
            replace(torch.autograd, "backward", self._backward),
            replace(torch.autograd, "grad", self._grad),
        ]
        hide_from_compiler(torch.autograd.backward)

    def stop(self):
        # If somebody has wrapped our functions meanwhile, they stay in place, and must do nothing.
        self._trains = lambda: None
        for restore in self._restore:
            restore()

    def _make(self, make, *arguments, **named):
        make(*arguments, **named)
        self._made()

    def _backward(self, backward, *arguments, **named):
        self._trains()
        return backward(*arguments, **named)

    def _grad(self, grad, outputs, inputs, *arguments, **named):
        if not torch.compiler.is_compiling():
            inputs = readable_twice(inputs)
            if holds_parameter(inputs):
                self._trains()
        return grad(outputs, inputs, *arguments, **named)


def is_on_meta(values):
    """Whether there is a tensor without data: with those a script counts a model's operations, and trains nothing."""
    values = values if isinstance(values, (tuple, list)) else (values,)
    return any(isinstance(value, torch.Tensor) and value.is_meta for value in values)


def readable_twice(tensors):
    """torch takes an iterator, too, such as model.parameters(): who looks into it first takes its tensors away."""
    return tensors if isinstance(tensors, (torch.Tensor, tuple, list)) else tuple(tensors)


def holds_parameter(tensors):
    tensors = (tensors,) if isinstance(tensors, torch.Tensor) else tensors
    return any(isinstance(tensor, nn.Parameter) for tensor in tensors)

"""Functions of Python that scripts see in place of torch's, and ways past their frames."""

import contextlib
import functools
import types

import torch
from torch.compiler import is_dynamo_compiling

from redline._library import RecorderError, core_path
from redline._python_library import python_library


def stand_in(original, hook):
    """What scripts see in place of `original`, whose calls go through the hook. A compiler that traces it sees nothing
    but the original."""

    @functools.wraps(original)
    def call(*arguments, **named):
        if is_dynamo_compiling():
            return original(*arguments, **named)
        return hook(*arguments, **named)

    return call


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


def known_to_torchscript(wrapper, original):
    """Gives `wrapper`. TorchScript has operators of its own in place of some functions, such as torch.autograd.grad, and
    knows these functions by their ids: what stands in their place would be compiled, which fails."""
    with contextlib.suppress(Exception):  # inner names of torch
        operator = torch.jit._builtins._find_builtin(original)
        if operator is not None:
            torch.jit._builtins._register_builtin(wrapper, operator)
    return wrapper


def call_through(wrapper, original, inside):
    """From now on a call of `wrapper` may be one of `original` while the list `inside` is not empty. The body of `wrapper`
    must do the same, more slowly."""
    with contextlib.suppress(OSError, RecorderError):
        python_library(core_path()).redline_python_call_through(wrapper, original, inside)

"""Keeps torch.compile away from this package's own functions, which run within what a script compiles."""

import contextlib

import torch


def hide_from_compiler(function):
    """From now on the frames of `function` and of what it calls run as they are: Dynamo neither traces nor compiles them.
    Where Dynamo traces through a caller, the function itself must ask torch.compiler.is_compiling()."""
    with contextlib.suppress(AttributeError):  # another torch lacks these and compiles the frames; that is only slower
        dynamo = torch._C._dynamo.eval_frame
        skip = dynamo._FrameAction.SKIP
        function.__code__ = function.__code__.replace()  # a copy, because functions made at one line share their code
        dynamo.set_code_exec_strategy(function.__code__, dynamo._FrameExecStrategy(skip, skip))
    return function

"""Guesses whether a script that has only evaluated so far may train later, from the names that its code uses.

It looks at the main module and at modules in its folder. Installed packages do not count, because a library that can
train is also used by scripts that only evaluate.
"""

import os
import sys
import types

import torch

_WORDS = {"backward", "fit", "train", "zero_grad"}


def may_train():
    words = _WORDS | {optimizer for optimizer in dir(torch.optim) if optimizer[0].isupper()}
    return any(not words.isdisjoint(_names_in(code)) for code in _own_code())


def _own_code():
    main = sys.modules.get("__main__")
    folder = os.path.dirname(os.path.abspath(getattr(main, "__file__", None) or ""))
    for name, module in list(sys.modules.items()):
        path = os.path.abspath(getattr(module, "__file__", None) or os.sep)
        if module is not main and (not path.startswith(folder + os.sep) or "-packages" + os.sep in path):
            continue
        try:
            yield module.__loader__.get_code(name)
        except Exception:  # a loader may raise anything; a module that cannot be read shows nothing
            continue


def _names_in(code):
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names_in(constant)

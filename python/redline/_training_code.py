"""Guesses whether a script that has only evaluated so far may train later, from the names that its code uses.

It looks at the main module and at modules in its folder, or with `python -m` in its whole package. Installed packages
do not count, because a library that can train is also used by scripts that only evaluate.
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
    folder = _folder_of(main)
    for name, module in list(sys.modules.items()):
        path = os.path.abspath(getattr(module, "__file__", None) or os.sep)
        if module is not main and (not path.startswith(folder + os.sep) or "-packages" + os.sep in path):
            continue
        try:
            spec = module.__spec__  # with -m, the loader does not know the main module as __main__
            yield module.__loader__.get_code(name if spec is None else spec.name)
        except Exception:  # a loader may raise anything; a module that cannot be read shows nothing
            continue


def _folder_of(main):
    path = os.path.abspath(getattr(main, "__file__", None) or "")
    spec = getattr(main, "__spec__", None)  # None of a script
    above = 1 if spec is None else 1 + spec.parent.count(".")
    return os.path.normpath(os.path.join(path, *[os.pardir] * above))


def _names_in(code):
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names_in(constant)

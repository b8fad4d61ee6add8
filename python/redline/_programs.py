"""The programs of an installed wheel: `redline` and `autotune` become the binaries beside this file."""

import os
import pathlib
import sys

_PROGRAMS = pathlib.Path(__file__).resolve().parent / "bin"


def redline():
    _become("redline")


def autotune():
    _become("autotune")


def _become(name):
    os.execv(_PROGRAMS / name, [name, *sys.argv[1:]])

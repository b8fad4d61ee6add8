"""Loads libredline_python.so, which calls functions of the interpreter and so is built for one version of Python."""

import ctypes
import functools
import pathlib
import sys
import types

NAME = "libredline_python.so"


@functools.cache
def python_library(core_path):
    """The library beside libredline.so. Its functions need the interpreter lock, hence PyDLL. Raises OSError where it
    is absent or built for another Python."""
    if "t" in sys.abiflags:
        raise OSError(f"{NAME} needs a Python with an interpreter lock")
    library = ctypes.PyDLL(str(pathlib.Path(core_path).with_name(NAME)))
    library.redline_python_version.restype = ctypes.c_char_p
    built_for = library.redline_python_version().decode()
    if built_for != f"{sys.version_info.major}.{sys.version_info.minor}":
        raise OSError(f"{NAME} was built for Python {built_for}")
    library.redline_python_start.restype = ctypes.py_object
    library.redline_python_start.argtypes = [ctypes.py_object] * 3
    library.redline_python_start_modules.argtypes = [ctypes.py_object]
    library.redline_python_step_functions.restype = ctypes.py_object
    library.redline_python_call_through.restype = ctypes.py_object
    library.redline_python_call_through.argtypes = [ctypes.py_object] * 3
    return library


@functools.cache
def step_functions(core_path):
    """The functions of the hooks (profiler/python/step_hooks.cc). Raises OSError as python_library() does."""
    return types.SimpleNamespace(**python_library(core_path).redline_python_step_functions())


def next_step(core_path):
    """redline_next_step() of the C ABI, which runs at every step."""
    try:
        return step_functions(core_path).next_step
    except OSError:  # for another Python: ctypes calls the same function, and takes ten times as long
        function = ctypes.PyDLL(core_path).redline_next_step
        function.argtypes = [ctypes.c_int64]
        return function

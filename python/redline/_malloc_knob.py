"""Knob malloc = default | keep: whether the C library keeps memory that the program frees.

By default it gives large blocks back to the kernel and takes them again in the next step. The kernel clears each page
anew, which may take a good part of a step on the CPU.
"""

import ctypes
import os

VALUES = ("default", "keep")

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # parameters of mallopt, <malloc.h>
_VARIABLES = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_MMAP_MAX_", "MALLOC_TOP_PAD_")


def why_not():
    """Why the knob can do nothing in this process; None if it can."""
    library = _library_of_malloc()
    if library != "libc.so.6":
        return f"malloc is not the GNU C library's here but that of {library or 'another library'}"
    if any(os.environ.get(name) for name in _VARIABLES) or "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", ""):
        return "the environment sets malloc already"
    return None


def keep_freed_memory():
    """Holds from now on for the process and for what it forks. What malloc has given to mmap stays there until it is
    freed."""
    mallopt = ctypes.CDLL(None).mallopt
    mallopt(_TRIM_THRESHOLD, 2**31 - 1)
    # glibc before 2.35 refuses more than 32 MiB, and then maps each block of 128 KiB by itself.
    if not mallopt(_MMAP_THRESHOLD, 2**30):
        mallopt(_MMAP_THRESHOLD, 2**25)


class _Symbol(ctypes.Structure):
    _fields_ = [("path", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p),
                ("address", ctypes.c_void_p)]


def _library_of_malloc():
    program, symbol = ctypes.CDLL(None), _Symbol()
    found = program.dladdr(ctypes.cast(program.malloc, ctypes.c_void_p), ctypes.byref(symbol))
    return os.path.basename(os.fsdecode(symbol.path)) if found and symbol.path else ""

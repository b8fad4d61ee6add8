"""Records what torch.compile's code calls: its Triton kernels, with their inputs and files, and its graphs.

Compiled code puts such a call into torch._C._profiler._RecordFunctionFast, if torch.autograd.profiler says by a variable
that a profiler runs. That class records only for torch.profiler, so in a window a class of ours stands in its place.
"""

import array
import ctypes
import functools
import json
import math
import struct

import torch
from torch.autograd import _profiler_enabled, profiler

_INFINITE = (math.inf, -math.inf)  # JSON has neither these nor NaN, which equals nothing
_TENSOR, _INT, _BOOL, _DOUBLE, _OTHER = 1, 2, 3, 4, 0  # redline_torch_input_kind


class CompiledCode:
    """Does nothing where this torch has no such class or variable."""

    def __init__(self, adapter):
        library = ctypes.PyDLL(adapter)  # keeps the interpreter lock, which would cost more than the call
        self._begin = library.redline_torch_begin_call
        self._begin.restype = ctypes.c_void_p
        self._begin.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_char_p]
        self._end = library.redline_torch_end_call
        self._end.argtypes = [ctypes.c_void_p]
        self._end.restype = None
        self._original = getattr(torch._C._profiler, "_RecordFunctionFast", None)
        self._is_served = self._original is not None and hasattr(profiler, "_is_profiler_enabled")

    def start(self, with_inputs):
        if self._is_served:
            torch._C._profiler._RecordFunctionFast = functools.partial(
                _recorded_call, self._original, functools.partial(_Call, self._begin, self._end, with_inputs))
            profiler._is_profiler_enabled = True

    def stop(self):
        if self._is_served:
            torch._C._profiler._RecordFunctionFast = self._original
            profiler._is_profiler_enabled = _profiler_enabled()  # a torch.profiler may run on


def _recorded_call(original, ours, *arguments, **named):
    # What torch.profiler records, we see, too.
    return (original if _profiler_enabled() else ours)(*arguments, **named)


class _Call:
    """A context manager with the arguments of torch's _RecordFunctionFast, behind three of ours."""

    __slots__ = ("_begin", "_end", "_with_inputs", "_name", "_inputs", "_named", "_call")

    def __init__(self, begin, end, with_inputs, name, input_values=None, keyword_values=None):
        self._begin, self._end, self._with_inputs = begin, end, with_inputs
        self._name, self._inputs, self._named = name, input_values or (), keyword_values or {}

    def __enter__(self):
        try:
            is_user_scope = self._named.get("scope") == "user_scope"
            inputs, members = b"", b""
            if self._with_inputs:
                inputs = array.array("q", [word for value in self._inputs for word in _input(value)]).tobytes()
                told = [item for item in self._named.items() if isinstance(item[1], (str, int, float))]
                members = _members(tuple(told))
            self._call = self._begin(self._name.encode(), is_user_scope, inputs, len(inputs) // 16, members)
        except Exception:  # the job must not end because its call cannot be described
            self._call = None

    def __exit__(self, *exception):
        self._end(self._call)


def _input(value):
    if isinstance(value, torch.Tensor):
        return _TENSOR, value._cdata
    if isinstance(value, bool):
        return _BOOL, value
    if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
        return _INT, value
    if isinstance(value, float):
        return _DOUBLE, struct.unpack("q", struct.pack("d", value))[0]
    return _OTHER, 0


@functools.lru_cache(4096)  # each step makes the same calls
def _members(named):
    """The members of a JSON object, without its braces. As Kineto, only of numbers and texts."""
    kept = {name: value for name, value in named if name != "scope" and value == value and value not in _INFINITE}
    return json.dumps(kept)[1:-1].encode()

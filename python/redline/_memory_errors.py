"""Sees that a rank runs out of memory when the exception is raised, because a script may catch it, print a line and
exit with status 0.

The LibTorch adapter sees the exceptions that torch raises, with every version of Python. Other exceptions, and all of
them if the adapter cannot be loaded, are seen when they pass through a module's call, a backward pass, an optimizer's
step or a DataLoader.
"""

import contextlib
import ctypes
import functools
import re
import sys

import torch
from torch.optim.optimizer import Optimizer
from torch.utils.data.dataloader import _BaseDataLoaderIter

from redline._library import RecorderError, libraries

# outcome.cc of the tuner looks for the same texts on stderr.
_DEVICE = re.compile(
    r"(CUDA|HIP|XPU|MPS)( error:)? (backend )?out of memory"
    r"|((Triton Error \[(CUDA|HIP)\]|(CUDA|HIP) driver error):|[Cc]uda failure).*out of memory"
    r"|((CU|HIP)BLAS|CUDNN)_STATUS_ALLOC_FAILED|miopenStatusAllocFailed"
    r"|^Out of memory allocating|RESOURCE_EXHAUSTED: Out of memory while"
)
_HOST = re.compile(r"DefaultCPUAllocator: (can't allocate|not enough) memory|could not create a primitive$")
_COMPILERS = ("torch._inductor", "torch._dynamo", "triton")
_SEEN = ctypes.PYFUNCTYPE(None, ctypes.py_object, ctypes.c_char_p)


def outcome_of(error):
    """gpu_oom, host_oom, or None for any other exception."""
    if isinstance(error, torch.OutOfMemoryError):
        return "gpu_oom"
    if not isinstance(error, (RuntimeError, MemoryError)):
        return None
    text = str(error)
    if _DEVICE.search(text):  # CuPy's is a MemoryError
        return "gpu_oom"
    return "host_oom" if isinstance(error, MemoryError) or _HOST.search(text) else None


class MemoryErrors:
    """Calls failed(kind, error) for the first exception of that kind, or for each."""

    def __init__(self, failed, only_first=True):
        self._failed = failed
        self._only_first = only_first
        self._is_over = False

    def install(self):
        self.watch_torch()
        self._watch_what_allocates()

    def watch_torch(self):
        """What torch itself raises, which costs a step nothing."""
        with contextlib.suppress(RecorderError, AttributeError):
            self._on_error = _SEEN(self._raised_by_torch)  # an attribute, because the library holds only its address
            _, adapter = libraries()
            adapter.redline_torch_watch_errors(self._on_error)

    def see(self, error):
        kind = None if self._is_over else outcome_of(error)
        if kind is not None:
            self._is_over = self._only_first
            self._failed(kind, error)

    def _raised_by_torch(self, error_type, text):
        if not self._is_over and issubclass(error_type, RuntimeError) and not _a_compiler_tries():
            self.see(error_type(text.decode(errors="replace")))

    def _watch_what_allocates(self):
        torch.autograd.backward = self._seen_through(torch.autograd.backward)
        torch.nn.Module.__call__ = self._seen_through(torch.nn.Module.__call__)
        _BaseDataLoaderIter.__next__ = self._seen_through(_BaseDataLoaderIter.__next__)
        add_hooks = Optimizer.profile_hook_step
        Optimizer.profile_hook_step = staticmethod(lambda step: self._seen_through(add_hooks(step)))

    def _seen_through(self, function):
        @functools.wraps(function)
        def watched(*args, **kwargs):
            try:
                return function(*args, **kwargs)
            except (RuntimeError, MemoryError) as error:
                self.see(error)
                raise

        return watched


def _a_compiler_tries():
    """Whether a compiler of torch runs. It tries several kernels, and catches the error of one that does not fit. If it
    does not catch an error, this is seen later."""
    frame = sys._getframe()
    while frame is not None and not str(frame.f_globals.get("__name__")).startswith(_COMPILERS):
        frame = frame.f_back
    return frame is not None

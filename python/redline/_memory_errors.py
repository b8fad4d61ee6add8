"""Sees a rank run out of memory where the exception is raised: scripts may catch it, print a line and end well.

From Python 3.12 on each raise is seen (sys.monitoring). Before that an exception is seen that passes through a module's
call, a backward pass, an optimizer's step or a DataLoader, which is where training allocates.
"""

import functools
import re
import sys

import torch
from torch.optim.optimizer import Optimizer
from torch.utils.data.dataloader import _BaseDataLoaderIter

# As in outcome.cc, which reads them on stderr.
_DEVICE = re.compile(r"(CUDA|HIP|XPU|MPS)( error:)? (backend )?out of memory|CU(BLAS|DNN)_STATUS_ALLOC_FAILED")
_HOST = re.compile(r"DefaultCPUAllocator: (can't allocate|not enough) memory|could not create a primitive$")
_TOOL = 4  # of sys.monitoring's ids one that no debugger, profiler or coverage tool has by convention


def outcome_of(error):
    """gpu_oom, host_oom, or None for any other exception."""
    if isinstance(error, torch.OutOfMemoryError):
        return "gpu_oom"
    if isinstance(error, MemoryError):
        return "host_oom"
    if not isinstance(error, RuntimeError):
        return None
    text = str(error)
    if _DEVICE.search(text):
        return "gpu_oom"
    return "host_oom" if _HOST.search(text) else None


class MemoryErrors:
    """Calls failed(kind, error) for the first exception of that kind."""

    def __init__(self, failed):
        self._failed = failed
        self._is_over = False

    def install(self):
        if not self._watch_every_raise():
            self._watch_what_allocates()

    def see(self, error):
        kind = None if self._is_over else outcome_of(error)
        if kind is not None:
            self._is_over = True
            self._failed(kind, error)

    def _watch_every_raise(self):
        monitoring = getattr(sys, "monitoring", None)
        if monitoring is None or monitoring.get_tool(_TOOL) is not None:
            return False
        monitoring.use_tool_id(_TOOL, "redline")
        monitoring.register_callback(_TOOL, monitoring.events.RAISE, lambda code, offset, error: self.see(error))
        monitoring.set_events(_TOOL, monitoring.events.RAISE)
        return True

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

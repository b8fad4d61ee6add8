"""Measures how long torch.compile compiles, because this is neither training nor a hang."""

import time

import torch

from redline._stand_in import replace


class CompilationTime:
    """Calls `report(running, total_ns)` when a compilation begins and when it ends."""

    def __init__(self, report):
        self.total_ns = 0
        self._report = report
        self._since = None
        self._is_watching = False

    def install(self):
        replace(torch, "compile", self._compile)

    def _compile(self, torch_compile, *args, **kwargs):
        self._watch()
        return torch_compile(*args, **kwargs)

    def _watch(self):
        if self._is_watching:
            return
        self._is_watching = True
        from torch._dynamo import callback  # only now, because the import takes seconds

        callback.on_compile_start(self._begin)
        callback.on_compile_end(self._end)

    def _begin(self, *_):  # torch before 2.8 gives no argument
        self._since = time.monotonic_ns()
        self._report(True, self.total_ns)

    def _end(self, *_):
        if self._since is not None:
            self.total_ns += time.monotonic_ns() - self._since
            self._since = None
        self._report(False, self.total_ns)

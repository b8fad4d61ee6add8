"""Records Python calls with libredline_python.so: all of them (with_stack) or those of modules (with_modules).

For all calls it walks the frames of all threads and sets their profile functions. A profile function that the user had
set is still called, and is restored at the end. For calls of modules it stands before torch.nn.Module.__call__.
"""

import contextlib
import inspect
import os
import site
import sys
import threading
import warnings
import weakref

import torch

from redline._python_library import python_library


class PythonFrames:
    """Records Python calls during the window of a Recorder. Raises OSError if the library cannot be loaded."""

    def __init__(self, core_path):
        self._library = python_library(core_path)
        self._users_hook = None
        self._own_hook = None
        _forget_after_fork(self)

    def start(self):
        """Records all threads until stop(). The window must have begun. While it records, another call does nothing."""
        if self._own_hook is not None:
            return
        # Knobs of `redline run` and libraries of the job may have wrapped Module.__call__.
        call = getattr(inspect.unwrap(torch.nn.Module.__call__), "__code__", None)
        self._users_hook = threading.getprofile()
        self._own_hook = self._library.redline_python_start(call, path_prefixes(), self._users_hook)
        threading.setprofile(self._own_hook)

    def stop(self):
        """Call it before the window ends. Gives the number of threads that were not recorded to the end, because the
        job set a profile function of its own there."""
        if self._own_hook is None:
            return 0
        self._restore_thread_hook()
        return self._library.redline_python_stop()

    def forget(self):
        """For a forked child, which is not recorded: removes our hook there."""
        if self._own_hook is not None:
            self._restore_thread_hook()
            self._library.redline_python_forget()

    def _restore_thread_hook(self):
        if threading.getprofile() is self._own_hook:
            threading.setprofile(self._users_hook)
        self._own_hook = self._users_hook = None


class ModuleFrames:
    """Records the calls of modules alone. Raises OSError if the library cannot be loaded."""

    def __init__(self, core_path):
        self._library = python_library(core_path)
        self._records = False

    def start(self):
        """Records all threads until stop(). The window must have begun. While it records, another call does nothing."""
        if not self._records:
            self._records = bool(self._library.redline_python_start_modules(torch.nn.Module.__call__))

    def stop(self):
        """Call it before the window ends."""
        if self._records:
            self._records = False
            self._library.redline_python_stop_modules()
        return 0


def load_python_calls(core_path, with_stack):
    """PythonFrames, which hold calls of modules, or ModuleFrames; None with a warning if they cannot be recorded."""
    try:
        return (PythonFrames if with_stack else ModuleFrames)(core_path)
    except OSError as error:
        what = "Python stacks" if with_stack else "modules"
        warnings.warn(f"redline: no {what}: {error}. Build Redline for this Python.")
        return None


def path_prefixes():
    """Folders that are cut off from the beginning of file names, as in torch.profiler."""
    folders = [*site.getsitepackages(), *sys.path, site.getuserbase(), site.getusersitepackages(),
               os.path.dirname(os.path.dirname(torch.__file__))]
    return [folder + os.sep for folder in sorted({os.path.abspath(f) for f in folders}, reverse=True)]


def _forget_after_fork(frames):
    alive = weakref.ref(frames)

    def forget():
        if (in_parent := alive()) is not None:
            with contextlib.suppress(Exception):
                in_parent.forget()

    os.register_at_fork(after_in_child=forget)

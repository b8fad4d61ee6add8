"""Records Python calls (with_stack) with libredline_python.so, through ctypes.

The library's functions need the interpreter lock (hence PyDLL), because they walk the frames of all threads and set
their profile functions. A profile function that the user had set is still called, and is restored at the end.
"""

import contextlib
import ctypes
import inspect
import os
import pathlib
import site
import sys
import threading
import warnings
import weakref

import torch

NAME = "libredline_python.so"


class PythonFrames:
    """Records Python calls during the window of a Recorder. Raises OSError if the adapter cannot be loaded, because it
    is built for one version of Python."""

    def __init__(self, core_path):
        self._library = ctypes.PyDLL(str(pathlib.Path(core_path).with_name(NAME)))
        self._library.redline_python_version.restype = ctypes.c_char_p
        self._library.redline_python_start.restype = ctypes.py_object
        self._library.redline_python_start.argtypes = [ctypes.py_object] * 3
        built_for = self._library.redline_python_version().decode()
        if built_for != f"{sys.version_info.major}.{sys.version_info.minor}":
            raise OSError(f"{NAME} was built for Python {built_for}")
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


def load_python_frames(core_path):
    """PythonFrames, or None with a warning if Python calls cannot be recorded."""
    try:
        return PythonFrames(core_path)
    except OSError as error:
        warnings.warn(f"redline: no Python stacks: {error}. Build Redline for this Python.")
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

"""Start-up hook: Python imports this module by itself because `redline record`, `redline run` and
`autotune` put its folder first in PYTHONPATH. It must cost nothing and change nothing in processes that
do not train. So it only waits for `import torch`, and then calls redline/_startup.py. In a trial it also lets print()
write whole lines at once, as on a terminal: --metric reads them, and a trial may be ended at any time.

A job may call helpers of a Python that is older than any that Redline records, even 2.7. So all of this file must
parse there, and there it only runs the next sitecustomize.
"""

import os
import sys


def _run_the_users_sitecustomize():
    """Finds the next sitecustomize, of the user or the system, and runs it, because PYTHONPATH hides it."""
    here = os.path.dirname(os.path.abspath(__file__))
    rest = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    if sys.version_info < (3, 5):
        _run_the_next_by_imp(rest)
        return
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    spec = PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module_from_spec(spec))


def _run_the_next_by_imp(folders):
    """As long as importlib could not do it alone."""
    import imp

    try:
        found = imp.find_module("sitecustomize", folders)
    except ImportError:
        return
    imp.load_module("sitecustomize", *found)


class _OwnPackage:
    """Finds `redline` beside this file. The recorded script may run in another Python than the one that
    has Redline installed, and must not see other packages of that Python."""

    def find_spec(self, name, path=None, target=None):
        if name != "redline":
            return None
        from importlib.util import spec_from_file_location

        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        return spec_from_file_location(name, os.path.join(folder, "__init__.py"))


def _wait_for_torch():
    from redline._after_import import after_import

    after_import("torch", lambda _: _attempt(_start))


def _start():
    from redline import _startup

    _startup.after_torch_import()


def _attempt(action):
    try:
        action()
    except Exception as error:  # the training must go on without us
        if sys.stderr is not None:
            sys.stderr.write("redline: the start-up hook failed, nothing is recorded or tuned: " + repr(error) + "\n")


# The one that this one runs may run the next one in its turn, as that of ddtrace does: this one again.
_is_first = not any(type(finder).__name__ == "_OwnPackage" for finder in sys.meta_path)
_is_known = sys.version_info >= (3, 8)  # as the hook's other files need
_is_asked = any(name in os.environ for name in ("REDLINE_RECORD", "REDLINE_KNOBS", "REDLINE_LOG"))
if _is_first and _is_known and _is_asked:
    sys.meta_path.insert(0, _OwnPackage())
    _attempt(_wait_for_torch)
if "REDLINE_TRIAL" in os.environ and hasattr(sys.stdout, "reconfigure"):
    sys.stdout.reconfigure(line_buffering=True)
_run_the_users_sitecustomize()

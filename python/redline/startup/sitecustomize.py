"""Start-up hook: Python imports this module by itself because `redline record`, `redline run` and
`autotune` put its folder first in PYTHONPATH. It must cost nothing and change nothing in processes that
do not train. So it only waits for `import torch`, and then calls redline/_startup.py. In a trial it also lets print()
write whole lines at once, as on a terminal: --metric reads them, and a trial may be ended at any time.
"""

import importlib.machinery
import importlib.util
import os
import sys


def _run_the_users_sitecustomize():
    """Finds the next sitecustomize, of the user or the system, and runs it, because PYTHONPATH hides it."""
    here = os.path.dirname(os.path.abspath(__file__))
    rest = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


class _OwnPackage:
    """Finds `redline` beside this file. The recorded script may run in another Python than the one that
    has Redline installed, and must not see other packages of that Python."""

    def find_spec(self, name, path=None, target=None):
        if name != "redline":
            return None
        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        return importlib.util.spec_from_file_location(name, os.path.join(folder, "__init__.py"))


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
        print(f"redline: the start-up hook failed, nothing is recorded or tuned: {error!r}", file=sys.stderr)


# The one that this one runs may run the next one in its turn, as that of ddtrace does: this one again.
_is_first = not any(type(finder).__name__ == "_OwnPackage" for finder in sys.meta_path)
if _is_first and any(name in os.environ for name in ("REDLINE_RECORD", "REDLINE_KNOBS", "REDLINE_LOG")):
    sys.meta_path.insert(0, _OwnPackage())
    _attempt(_wait_for_torch)
if "REDLINE_TRIAL" in os.environ and sys.stdout is not None:
    sys.stdout.reconfigure(line_buffering=True)
_run_the_users_sitecustomize()

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


class _TorchWatcher:
    """A meta-path finder that lets the finders behind it find `torch`, and calls the hook when torch is
    loaded. It stays until then, because libraries may ask only for the spec, to see whether torch is installed."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch" or self not in sys.meta_path:
            return None
        spec = self._find_behind(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                _after_torch_import()

        spec.loader.exec_module = exec_module
        return spec

    def _find_behind(self, *what):
        behind = sys.meta_path[sys.meta_path.index(self) + 1:]
        found = (finder.find_spec(*what) for finder in behind if hasattr(finder, "find_spec"))
        return next((spec for spec in found if spec is not None), None)


def _after_torch_import():
    try:
        from redline import _startup

        _startup.after_torch_import()
    except Exception as error:  # the training must go on without us
        print(f"redline: the start-up hook failed, nothing is recorded or tuned: {error!r}", file=sys.stderr)


if any(name in os.environ for name in ("REDLINE_RECORD", "REDLINE_KNOBS", "REDLINE_LOG")):
    sys.meta_path[:0] = [_TorchWatcher(), _OwnPackage()]
if "REDLINE_TRIAL" in os.environ and sys.stdout is not None:
    sys.stdout.reconfigure(line_buffering=True)
_run_the_users_sitecustomize()

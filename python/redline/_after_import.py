"""Calls a function right after a module has been imported, whoever imports it and when."""

import sys


def after_import(name, action):
    """Calls action(module) once the module is loaded; at once if it is already. An action must not raise."""
    if (module := sys.modules.get(name)) is not None:
        action(module)
    else:
        sys.meta_path.insert(0, _Watcher(name, action))


class _Watcher:
    """A meta-path finder that lets the finders behind it find the module. It stays until that is loaded, because
    libraries may ask only for the spec, to see whether the module is installed."""

    def __init__(self, name, action):
        self._name, self._action = name, action

    def find_spec(self, name, path=None, target=None):
        if name != self._name or self not in sys.meta_path:
            return None
        behind = sys.meta_path[sys.meta_path.index(self) + 1:]
        found = (finder.find_spec(name, path, target) for finder in behind if hasattr(finder, "find_spec"))
        spec = next((spec for spec in found if spec is not None), None)
        if spec is not None and spec.loader is not None:
            self._call_after_load(spec.loader)
        return spec

    def _call_after_load(self, loader):
        load = loader.exec_module

        def exec_module(module):
            load(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self._action(module)

        loader.exec_module = exec_module

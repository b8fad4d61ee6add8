"""The version of a wheel: the project's, and the torch that the wheel is built for, as in 0.1.0+torch2.11.

pip may build in an environment of its own, which hides the packages of the Python that runs it. The torch of that
Python counts: the wheel is for it.
"""

import os
import pathlib
import re
import subprocess
import sys

_HIDING = ("PYTHONPATH", "PYTHONNOUSERSITE")
_QUESTION = "import importlib.metadata as m; print(m.version('torch'))"


def dynamic_metadata(field, settings=None):
    """scikit-build-core asks for `field` = "version"."""
    lists = (pathlib.Path(__file__).parents[1] / "CMakeLists.txt").read_text()
    version = re.search(r"project\(redline VERSION ([0-9.]+)", lists)[1]
    torch = _torch_version()
    return f"{version}+torch{torch}" if torch else version


def _torch_version():
    """ "2.11"; nothing where there is no torch, as where only the sources are packed."""
    for hiding in ((), _HIDING):
        environment = {name: value for name, value in os.environ.items() if name not in hiding}
        answer = subprocess.run([sys.executable, "-c", _QUESTION], env=environment, capture_output=True, text=True)
        if release := re.match(r"\d+\.\d+", answer.stdout):
            return release[0]
    return None

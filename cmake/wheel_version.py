"""Gives the version of a wheel: that of the project and of the torch that it is built for, such as 0.1.0+torch2.11.

pip may build in a separate environment, which hides the packages of the Python that runs pip. The wheel is for that
Python, so its torch counts.
"""

import os
import pathlib
import re
import subprocess
import sys

_HIDING = ("PYTHONPATH", "PYTHONNOUSERSITE")
_QUESTION = "import importlib.metadata as m; print(m.version('torch'))"


def dynamic_metadata(field, settings=None):
    """scikit-build-core calls this with `field` = "version"."""
    lists = (pathlib.Path(__file__).parents[1] / "CMakeLists.txt").read_text()
    version = re.search(r"project\(redline VERSION ([0-9.]+)", lists)[1]
    torch = _torch_version()
    return f"{version}+torch{torch}" if torch else version


def _torch_version():
    """The minor version of torch, such as "2.11"; None if there is no torch, as when only the sources are packed."""
    for hiding in ((), _HIDING):
        environment = {name: value for name, value in os.environ.items() if name not in hiding}
        answer = subprocess.run([sys.executable, "-c", _QUESTION], env=environment, capture_output=True, text=True)
        if release := re.match(r"\d+\.\d+", answer.stdout):
            return release[0]
    return None

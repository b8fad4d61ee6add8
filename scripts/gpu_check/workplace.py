"""The surroundings of one run of the checks: the bundle, its programs, the results, and the time left."""

import json
import os
import pathlib
import shutil
import subprocess
import time

from gpu_check import machine

MOST_KEPT_BYTES = 8 << 20  # of a trace in which something is wrong
NO_GPU = 3  # exit status of programs and checks on a machine without one


class Failed(Exception):
    """A part cannot go on. The message goes into the results."""


class NoGpu(Failed):
    """There is no GPU; a program found out at its first call of CUDA."""


class TooLong(Failed):
    """There was no time for it."""


class Workplace:
    def __init__(self, bundle, scratch, out, python):
        self.package = bundle / "redline"
        self.sources = bundle / "gpu_check"
        self.scratch = pathlib.Path(scratch)
        self.out = out
        self.python = python
        self.earlier = {}  # what the present part found in an earlier run
        self._deadline = time.monotonic() + 3600
        self._cupti = machine.cupti_folders(python)

    def set_seconds(self, seconds):
        self._deadline = time.monotonic() + seconds

    def seconds_left(self):
        return self._deadline - time.monotonic()

    def keep(self, *paths):
        """Keeps traces in which something is wrong beside the results, to be looked at where there is no GPU."""
        for path in paths:
            if path.exists() and path.stat().st_size <= MOST_KEPT_BYTES:
                shutil.copy(path, self.out)

    def environment(self, with_cupti):
        redline = self.package / "share/redline/python"
        values = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, [str(redline), os.environ.get("PYTHONPATH")])),
            "REDLINE_LIBRARY": str(self.package / "lib/libredline.so"),
            "REDLINE_TORCH_LIBRARY": str(self.package / "lib/libredline_torch.so"),
            "TORCHINDUCTOR_CACHE_DIR": str(self.scratch / "inductor"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        if with_cupti:  # PyTorch finds its own
            folders = [*self._cupti, os.environ.get("LD_LIBRARY_PATH")]
            values["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, folders))
        return values

    def start(self, command, with_cupti=False, **more):
        """Runs a command and returns the ended process. A command that takes longer than the part's time is killed."""
        try:
            return subprocess.run(
                [str(word) for word in command], capture_output=True, text=True, cwd=self.scratch,
                env={**self.environment(with_cupti), **more}, timeout=max(1, self.seconds_left()),
            )
        except subprocess.TimeoutExpired:
            raise TooLong(f"{_short(command)}: not done in its time") from None
        except OSError as error:
            raise Failed(f"{_short(command)}: {error}") from None

    def run(self, command, with_cupti=False, **more):
        """The standard output of a command. Raises Failed unless it ends well."""
        return self.output_of(self.start(command, with_cupti, **more), command)

    @staticmethod
    def output_of(done, command):
        if done.returncode != 0:
            last = (done.stderr or done.stdout).strip().splitlines()[-6:]
            raise Failed(f"{_short(command)}: status {done.returncode}: {' | '.join(last)}")
        return done.stdout

    def run_program(self, program, *arguments):
        """Runs a test program and returns what it says it did."""
        done = self.start([self.package / "bin" / program, *arguments], with_cupti=True)
        if done.returncode == NO_GPU:
            raise NoGpu(done.stderr.strip())
        return json.loads(self.output_of(done, [program, *arguments]).splitlines()[-1])

    def run_python(self, script, *arguments, **more):
        """Runs a training script and returns the last line that it prints, as JSON; None if it prints nothing. `more`
        are variables of its environment."""
        text = self.run([self.python, self.sources / "training" / script, *arguments], **more)
        return json.loads(text.splitlines()[-1]) if text.strip() else None


def _short(command):
    return " ".join(pathlib.Path(str(word)).name for word in command[:4])

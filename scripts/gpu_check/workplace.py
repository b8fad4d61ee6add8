"""Where one run of the checks works: the bundle, its programs, the results, and the time left."""

import json
import os
import pathlib
import subprocess
import time

from gpu_check import machine

PROGRAMS = ("gpu_work", "save_raw_buffers")


class Failed(Exception):
    """A part cannot go on; the message is for the results."""


class TooLong(Failed):
    """There was no time for it."""


class Workplace:
    def __init__(self, bundle, scratch, out, python):
        self.package = bundle / "redline"
        self.sources = bundle / "gpu_check"
        self.scratch = pathlib.Path(scratch)
        self.out = out
        self.python = python
        self.earlier = {}  # what the part that runs now found in a run before
        self._deadline = time.monotonic() + 3600
        self._cupti = machine.cupti_folders(python)

    def set_seconds(self, seconds):
        self._deadline = time.monotonic() + seconds

    def seconds_left(self):
        return self._deadline - time.monotonic()

    def build(self, program):
        """Seconds that nvcc took."""
        compiler = machine.nvcc()
        if compiler is None:
            raise Failed("nvcc is not found: set CUDA_HOME")
        begin = time.monotonic()
        library = self.package / "lib"
        self.run([
            compiler, "-std=c++20", "-O2", "-o", self.scratch / program,
            self.sources / "programs" / f"{program}.cu", f"-I{self.package}/include/redline",
            f"-L{library}", "-lredline", "-Xlinker", f"-rpath={library}",
            "-Xlinker", "--allow-shlib-undefined",
        ])
        return time.monotonic() - begin

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
        """The ended process; what takes longer than the part's time is killed."""
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
        """Standard output of a command that must end well."""
        done = self.start(command, with_cupti, **more)
        if done.returncode != 0:
            last = (done.stderr or done.stdout).strip().splitlines()[-6:]
            raise Failed(f"{_short(command)}: status {done.returncode}: {' | '.join(last)}")
        return done.stdout

    def run_program(self, program, *arguments):
        """What a test program says it did."""
        text = self.run([self.scratch / program, *arguments], with_cupti=True)
        return json.loads(text.splitlines()[-1])

    def run_python(self, script, *arguments):
        return self.run([self.python, self.sources / "training" / script, *arguments])


def _short(command):
    return " ".join(pathlib.Path(str(word)).name for word in command[:4])

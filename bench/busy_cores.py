"""Other work on the machine, for what must hold beside it, too."""

import contextlib
import subprocess
import sys


@contextlib.contextmanager
def computing(count):
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()

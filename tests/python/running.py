"""How tests run a program: in a process group of its own, which is killed as a whole when the time is up."""

import contextlib
import os
import pathlib
import signal
import subprocess

import pytest


def descendants(pid):
    found = []
    with contextlib.suppress(OSError):
        for listed in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
            for child in listed.read_text().split():
                found += [int(child), *descendants(child)]
    return found


def kill_group(process):
    """Kills the process with its group and, if it still runs, with its descendants in other groups."""
    # torchrun starts each rank in a session of its own.
    others = descendants(process.pid) if process.poll() is None else []
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for other in others:
        with contextlib.suppress(ProcessLookupError):
            os.kill(other, signal.SIGKILL)
    process.wait()


@contextlib.contextmanager
def started(command, environment=None, **options):
    """A running process in its own group. The whole group is killed at the end of the block."""
    process = subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
        start_new_session=True,
        **options,
    )
    try:
        yield process
    finally:
        kill_group(process)
        process.stdout.close()
        process.stderr.close()


def run_to_end(command, timeout=300, environment=None, check=False, **options):
    """Returns a CompletedProcess with stdout and stderr.

    `environment` is added to the present one. A command that is not done in `timeout` seconds is killed with all that
    it has started, and the test fails with what the command had printed. With `check` the test also fails if the
    command ends with another status than 0.
    """
    with started(command, environment, **options) as process:
        try:
            stdout, stderr = process.communicate(timeout=timeout)
            failed = f"ended with {process.returncode}" if check and process.returncode != 0 else None
        except subprocess.TimeoutExpired:
            kill_group(process)
            stdout, stderr = process.communicate()
            failed = f"ran over {timeout} s"
        if failed:
            pytest.fail(f"{command} {failed}\n{stdout[-4000:]}\n{stderr[-4000:]}")
        return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)

"""What the Python tests share: where things lie, and how a command is run and watched.

Tests start programs only through `run`, `succeed` or `start`: see running.py. `no_process_left` fails a test that
leaves processes behind.
"""

import contextlib
import functools
import gc
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time

import pytest
import step_logs
from knob_runs import run_with_knobs
from running import run_to_end, started

# A shell that starts the tests in the background ignores SIGINT, and the programs that they start would inherit this.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("REDLINE_BUILD", ROOT / "build" / "release"))
# Tests must not touch the cache and the recorded jobs of the user or of other tests.
os.environ["REDLINE_CACHE"] = "off"
_RUNTIME = tempfile.TemporaryDirectory(prefix="redline-tests-")
os.environ["XDG_RUNTIME_DIR"] = _RUNTIME.name
PYTHON = pathlib.Path(os.environ.get("REDLINE_PYTHON", ROOT / ".venv" / "bin" / "python"))


def need(path, cure):
    """Skips the test if `path` does not exist, and says how to get it."""
    if not path.exists():
        pytest.skip(f"{path} is absent: {cure}")
    return path


def stub(name):
    """The path of a stub of one of the GPU's libraries, such as libcuda.so.1."""
    return need(BUILD / "tests" / "stubs" / name, "build with -DREDLINE_TESTS=ON")


DAEMONS_PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"  # a user's PATH may lack the folders of daemons


def need_programs(*names):
    """Skips the test if a program of scripts/test-packages.txt is not installed. In CI, where all of them must be,
    the test fails."""
    if absent := [name for name in names if shutil.which(name, path=DAEMONS_PATH) is None]:
        complain = pytest.fail if os.environ.get("CI") else pytest.skip
        complain(f"no {', '.join(absent)}: ./scripts/setup --tests installs what tests need")


def wait_until(condition, missed="what the test waited for did not come"):
    """Waits until `condition()` is true, and fails the test after a minute, which is long on a busy machine."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, missed
        time.sleep(0.02)


@pytest.fixture(scope="session")
def repo_root():
    return ROOT


@pytest.fixture(scope="session")
def shared():
    """The folder of traces, data and oracles beside the repository."""
    return need(ROOT.parent / "shared", "these tests read the project's shared data")


@pytest.fixture(scope="session")
def python():
    """A Python interpreter that has torch."""
    return need(PYTHON, "run ./scripts/setup, or set REDLINE_PYTHON")


@pytest.fixture(scope="session")
def torchrun(python):
    """The words before a script that run it on several ranks of this machine."""
    return [python, "-m", "torch.distributed.run", "--standalone"]


@pytest.fixture(scope="session")
def program():
    """program("redline"): the path of a built program."""
    cure = "build it with `cmake --build --preset release`"
    return lambda name: need(BUILD / "bin" / name, cure)


@pytest.fixture(scope="session")
def library():
    """library("libredline.so"): the path of a built library."""
    cure = "build it with `cmake --build --preset release`"
    return lambda name: need(BUILD / "lib" / name, cure)


@pytest.fixture(scope="session")
def train_cifar():
    return ROOT / "samples" / "python" / "train_cifar.py"


@pytest.fixture
def with_knobs(python, tmp_path):
    """with_knobs(knobs, script, *arguments, trial=False, launcher=()): see knob_runs."""
    startup = ROOT / "python" / "redline" / "startup"

    def run_script(knobs, script, *arguments, trial=False, launcher=(), check=True):
        command = [*launcher, script, *arguments]
        return run_with_knobs(python, startup, tmp_path, knobs, command, trial, check)

    return run_script


@pytest.fixture
def log_of(run, program, python, tmp_path):
    """log_of(*words, check=True): the process of that job in Python under `redline run --log`, and its step log."""

    def run_job(*words, check=True, **options):
        command = [program("redline"), "run", "--log", tmp_path / "logs", "--", python, *words]
        done = run(command, check=check, **options)
        return done, step_logs.read(tmp_path / "logs" / "rank0.steps.redline")

    return run_job


@pytest.fixture
def script(tmp_path):
    """script(text) writes a Python file and returns its path."""

    def write(text):
        path = tmp_path / "job.py"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def record(program, run, tmp_path):
    """record(command, *options, check=True) returns the finished process and its traces."""
    from recording import traces  # which imports this file

    def recorded(command, *options, check=True, **how):
        folder = tmp_path / "traces"
        words = [program("redline"), "record", "-o", folder, *options, "--", *command]
        end = run(words, cwd=tmp_path, check=check, **how)
        assert not list(folder.glob(".*")), "hidden files are left behind"
        return end, traces(folder)

    return recorded


def pytest_configure(config):
    config.addinivalue_line("markers", "long: only ./scripts/test --long runs it")


@pytest.fixture(scope="session")
def start():
    """start(command, environment={}, cwd=…) returns a context manager around a Popen with text pipes."""
    return started


@pytest.fixture(scope="session")
def run():
    """run(command, timeout=300, environment={}, check=False, cwd=…): see running.run_to_end."""
    return run_to_end


@pytest.fixture(scope="session")
def succeed():
    """succeed(command, …) is run(command, …) of a command that must end with status 0."""
    return functools.partial(run_to_end, check=True)


def marked_processes(mark):
    """Ids and command lines of the living processes with `mark` in their environment."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z" and mark in (folder / "environ").read_bytes():
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                found[int(folder.name)] = words
    found.pop(os.getpid(), None)
    return found


@pytest.fixture
def no_process_left(monkeypatch, request):
    """Fails the test if a process that descends from it outlives it by two minutes, which is long on a busy machine.

    Every process inherits the environment, so a mark in it also finds processes that changed their session or lost
    their parents.
    """
    name = "REDLINE_TEST_MARK"
    mark = f"{request.node.name}-{os.getpid()}-{time.monotonic_ns()}"
    monkeypatch.setenv(name, mark)
    needle = f"{name}={mark}".encode()
    yield
    deadline = time.monotonic() + 120
    while (left := marked_processes(needle)) and time.monotonic() < deadline:
        time.sleep(0.05)
    for process in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    assert not left, f"processes left behind: {left}"


@pytest.fixture
def no_garbage_collection():
    """What other tests left is released before the test, not within what it records or counts."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


CTYPES_JOB = """
import ctypes, os, resource, signal, sys, threading, time
library = ctypes.CDLL(sys.argv[1])
library.redline_last_error.restype = ctypes.c_char_p
folder = sys.argv[2]

def call(name, *arguments):
    if getattr(library, name)(*arguments) != 0:
        raise SystemExit("redline: " + library.redline_last_error().decode())

def begin():
    call("redline_prepare", b'{"directory": "%s", "host_samples_hz": 0}' % folder.encode())
    call("redline_start")

def record(count=1000, name=b"work"):
    for _ in range(count):
        library.redline_range_push(name)
        library.redline_range_pop()

def limit_file_size(size):
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it; other programs die of it
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

def wait_for_partial(size):
    while not any(entry.stat().st_size > size for entry in os.scandir(folder)):
        record(100)
"""


@pytest.fixture
def ctypes_job(run, library, tmp_path):
    """ctypes_job(text, check=True) runs `text` after the lines above. Returns the process and its folder of traces."""

    def run_job(text, check=True):
        script = tmp_path / "job.py"
        script.write_text(CTYPES_JOB + text)
        folder = tmp_path / "traces"
        folder.mkdir(exist_ok=True)
        library_path = library("libredline.so")
        return run([sys.executable, script, library_path, folder], check=check), folder

    return run_job

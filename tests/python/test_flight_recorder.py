"""What the flight recorder (`--ring`) writes when a job ends badly, slows down, or is asked.

Most jobs are small Python programs without torch that call libredline.so through ctypes.
"""

import pathlib
import shutil
import signal
import sys
import time

import pytest
from recording import import_redline, load, names, slices, step_numbers, traces

pytestmark = pytest.mark.usefixtures("no_process_left")

JOB = """
import ctypes, os, signal, sys, threading
library = ctypes.CDLL(sys.argv[1])
library.redline_last_error.restype = ctypes.c_char_p
library.redline_begin_step.argtypes = [ctypes.c_int64]

def call(name, *arguments):
    if getattr(library, name)(*arguments) != 0:
        raise SystemExit("redline: " + library.redline_last_error().decode())

def record(count, name=b"work"):
    for _ in range(count):
        library.redline_range_push(name)
        library.redline_range_pop()

call("redline_prepare", b'{"directory": "traces", "ring_seconds": 60, "slow_step": 0}')
call("redline_start")
record(1000)
print("ready", flush=True)
"""


@pytest.fixture
def job(run, library, tmp_path):
    def run_job(text):
        script = tmp_path / "job.py"
        script.write_text(JOB + text)
        shutil.rmtree(tmp_path / "traces", ignore_errors=True)  # of an earlier run
        done = run([sys.executable, script, library("libredline.so")], cwd=tmp_path)
        assert done.stdout.startswith("ready\n"), done.stderr
        return done, [load(path) for path in sorted((tmp_path / "traces").glob("*"))]

    return run_job


CRASHES = {
    "ctypes.string_at(0)": "SIGSEGV",
    "os.abort()": "SIGABRT",
    "os.kill(os.getpid(), signal.SIGBUS)": "SIGBUS",
    "os.kill(os.getpid(), signal.SIGFPE)": "SIGFPE",
    "os.kill(os.getpid(), signal.SIGTERM); signal.pause()": "SIGTERM",
    "threading.Thread(target=lambda: ctypes.string_at(0)).start(); signal.pause()": "SIGSEGV",
}


@pytest.mark.parametrize("crash", CRASHES)
def test_a_crash_writes_the_last_seconds_and_ends_as_ever(job, crash):
    done, (trace,) = job("library.redline_range_push(b'ends badly')\n" + crash)
    assert done.returncode == -getattr(signal, CRASHES[crash])
    assert trace["redline"]["reason"] == CRASHES[crash]
    assert names(trace, "user_annotation") == {"work": 1000, "ends badly": 1}
    assert trace["redline"]["unfinished"] == 1
    assert trace["redline"]["ring"]["limited_by"] == "begin of recording"


def test_the_jobs_own_crash_handler_runs_afterwards(job):
    handler = """
HANDLER = ctypes.CFUNCTYPE(None, ctypes.c_int)
@HANDLER
def own(number):
    os.write(1, b"mine\\n")
    os._exit(9)
"""
    text = """
call("redline_discard")
ctypes.CDLL(None).signal(signal.SIGABRT, own)
"""
    # The recorder installed its handler first, so the job's own handler gets the signal.
    done, none = job(handler + text + "os.abort()")
    assert (done.returncode, none) == (9, [])
    assert done.stdout == "ready\nmine\n"


RECORD_AGAIN = '''
call("redline_prepare", b'{"directory": "traces", "ring_seconds": 60, "slow_step": 0}')
call("redline_start")
record(5)
'''


def test_a_job_that_handles_sigterm_goes_on_and_its_last_seconds_are_written(job):
    done, (trace,) = job("""
import time
call("redline_discard")
signal.signal(signal.SIGTERM, lambda *_: print("told", flush=True))
""" + RECORD_AGAIN + """
os.kill(os.getpid(), signal.SIGTERM)
while not (os.path.exists("traces") and any(name.endswith(".gz") for name in os.listdir("traces"))):
    time.sleep(0.01)
os.kill(os.getpid(), signal.SIGTERM)  # is not written again
call("redline_discard")
print("goes on")
""")
    assert (done.returncode, done.stdout) == (0, "ready\ntold\ntold\ngoes on\n"), done.stderr
    assert trace["redline"]["reason"] == "SIGTERM"
    assert names(trace, "user_annotation") == {"work": 5}


def test_a_later_handler_of_sigterm_gets_it_alone(job):
    done, none = job("""
signal.signal(signal.SIGTERM, lambda *_: print("told", flush=True))
os.kill(os.getpid(), signal.SIGTERM)
""")
    assert (done.returncode, done.stdout, none) == (0, "ready\ntold\n", [])


def test_an_ignored_sigterm_stays_ignored(job):
    done, none = job("""
call("redline_discard")
signal.signal(signal.SIGTERM, signal.SIG_IGN)
""" + RECORD_AGAIN + """
os.kill(os.getpid(), signal.SIGTERM)
""")
    assert (done.returncode, none) == (0, [])


def test_the_last_seconds_are_written_where_the_recording_began(job):
    done, (trace,) = job("""
import shutil
os.mkdir("elsewhere")
shutil.rmtree("traces")
os.chdir("elsewhere")
call("redline_write_ring", b"a look", None, 0)
assert os.listdir(".") == []
""")
    assert (done.returncode, trace["redline"]["reason"]) == (0, "a look"), done.stderr


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), signal.SIGTERM); signal.pause()", "os.abort()"])
def test_last_seconds_that_cannot_be_written_are_told_of(job, end):
    done, none = job("""
os.rmdir("traces")
open("traces", "w")
""" + end)
    assert done.returncode < 0
    assert none == []
    assert "redline: trace not written: cannot create " in done.stderr
    assert ".partial: Not a directory\n" in done.stderr


def test_faulthandler_still_tells_where_a_job_crashed(job):
    done, (trace,) = job("import faulthandler; faulthandler.enable()\nctypes.string_at(0)")
    assert done.returncode == -signal.SIGSEGV
    assert "Fatal Python error: Segmentation fault" in done.stderr
    assert trace["redline"]["reason"] == "SIGSEGV"


def test_a_normal_end_writes_nothing(job):
    assert job("")[1] == []


def test_a_forked_childs_crash_is_its_own(job):
    done, traces = job("""
child = os.fork()
if child == 0:
    os.abort()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""")
    assert done.stdout == f"ready\n{-signal.SIGABRT}\n"
    assert traces == []


def test_memory_stays_within_its_budget(job):
    done, (trace,) = job("""
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20
call("redline_discard")
call("redline_prepare", b'{"directory": "traces", "ring_seconds": 60, "memory_budget_bytes": 16777216}')
call("redline_start")
before = resident()
for number in range(20):
    record(20000)
    record(100, b"name %d" % number * 100)
print(resident() - before)
call("redline_write_ring", b"a test", None, 0)
""")
    assert int(done.stdout.split()[1]) <= 16
    assert trace["redline"]["events"] > 125_000
    assert trace["redline"]["ring"]["limited_by"] == "memory_budget_bytes"
    assert trace["redline"]["dropped_names"] == 0


TRAIN = """
import itertools, sys, time, torch
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
ends = []
for step in range(40):
    model(torch.ones(2, 4)).sum().backward()
    before = time.monotonic()
    optimizer.step()
    ends.append(time.monotonic())
    if step == 30:
        lengths = sorted(end - begin for begin, end in itertools.pairwise(ends))
        slow, slow_began = 200 * lengths[15] + 0.5, before  # on a busy machine the others take long, too
    if step == 31 and (ends[-1] - slow_began > slow + 0.25 or lengths[-1] > slow - 0.75):
        print("held up")
    time.sleep(slow if step == 30 else 0.005)
if sys.argv[1] == "fails":
    raise ValueError("the job's own")
"""


def without_stall(run_job):
    """Runs a job until it does not say that it was held up: with a second more, its slow step would hang, and after
    another slow one it would not be told."""
    for _ in range(20):
        done, written = run_job()
        if "held up" not in done.stdout:
            return done, written
    pytest.fail("the job was held up in each of 20 runs")


@pytest.mark.parametrize("end, status", [("returns", 0), ("fails", 1)])
def test_a_recorded_job_writes_its_slow_step_and_how_it_failed(
    run, program, python, tmp_path, end, status
):
    command = [program("redline"), "record", "-o", "traces", "--ring", "30s", "--slow-step", "200",
               "--", python, "-c", TRAIN, end]

    def run_job():
        shutil.rmtree(tmp_path / "traces", ignore_errors=True)
        return run(command, cwd=tmp_path), traces(tmp_path / "traces")

    done, written = without_stall(run_job)
    assert done.returncode == status, done.stderr
    reasons = {trace["redline"]["reason"]: trace for trace in written}
    slow = next(reason for reason in reasons if reason.startswith("step 31 took "))
    assert float(slow.split()[3]) > 200 * 5 + 500
    assert 31 in step_numbers(reasons[slow])
    assert names(reasons[slow], "cpu_op")["aten::linear"] >= 31
    assert ("uncaught ValueError" in reasons) == (end == "fails")


LEAVES = """
import os, signal, sys, time, torch
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3000):
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(0.02)
sys.exit()
"""


def test_a_job_that_leaves_while_sigterm_is_written_is_told_of_no_failure(run, program, python, tmp_path):
    done = run([program("redline"), "record", "-o", "traces", "--ring", "30s", "--slow-step", "0", "--",
                python, "-c", LEAVES], cwd=tmp_path)
    assert done.returncode == 128 + signal.SIGTERM
    assert [trace["redline"]["reason"] for trace in traces(tmp_path / "traces")] == ["SIGTERM"]
    assert "ended early" not in done.stderr


HANG = """
import threading, torch
class Hangs(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x.clone()
    @staticmethod
    def backward(context, gradient):
        if step == 20:
            with torch.profiler.record_function("waits for the others"):
                threading.Event().wait()
        return gradient
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(23):
    Hangs.apply(model(torch.ones(2, 4)).sum()).backward()
    optimizer.step()
"""


def test_a_hang_is_written_by_itself_and_names_what_hangs(start, program, python, tmp_path):
    # A stall of a second makes another step hang. The recorder then tells of no further hang for as long as the ring
    # is. So the job runs again.
    for attempt in range(20):
        folder = tmp_path / f"traces{attempt}"
        command = [program("redline"), "record", "-o", folder, "--ring", "30s", "--slow-step", "1000",
                   "--", python, "-c", HANG]
        with start(command, cwd=tmp_path) as process:
            hangs = []
            while not hangs:
                assert process.poll() is None, process.stderr.read()
                time.sleep(0.05)
                hangs = [each for each in traces(folder) if "has not ended" in each["redline"]["reason"]]
        if hangs[0]["redline"]["reason"].startswith("step 20 has not ended after "):
            break
    (trace,) = hangs
    assert trace["redline"]["reason"].startswith("step 20 has not ended after ")
    open_now = [event for event in slices(trace) if event["args"].get("finished") is False]
    assert trace["redline"]["unfinished"] == len(open_now)
    assert {"unfinished ProfilerStep#20", "waits for the others", "HangsBackward",
            "autograd::engine::evaluate_function: HangsBackward"} <= {each["name"] for each in open_now}
    assert 20 not in step_numbers(trace)


@pytest.mark.parametrize("end", ["", 'call("redline_discard")', "sys.exit(0)"])
def test_a_slow_last_step_is_written_however_soon_the_job_ends(job, end):
    steps = """
import time
call("redline_discard")
call("redline_prepare", b'{"directory": "traces", "ring_seconds": 60, "slow_step": 1000}')
call("redline_start")
lengths = []
for step in range(21):
    begin = time.monotonic()
    library.redline_begin_step(step)
    if step == 20:
        slow = 1000 * sorted(lengths)[10] + 0.5  # on a busy machine the others take long, too
    time.sleep(slow if step == 20 else 0.001)
    library.redline_end_step()
    lengths.append(time.monotonic() - begin)
if lengths[-1] > slow + 0.25 or max(lengths[:-1]) > slow - 0.75:
    print("held up", flush=True)
"""
    done, written = without_stall(lambda: job(steps + end))
    assert done.returncode == 0
    assert [trace["redline"]["reason"].split(" took ")[0] for trace in written] == ["step 20"]


def test_profile_keeps_a_ring(tmp_path):
    redline = import_redline()
    import torch

    handler = redline.tensorboard_trace_handler(str(tmp_path))
    with redline.profile(ring_seconds=30, slow_step=0, on_trace_ready=handler) as profile:
        for _ in range(3):
            torch.ones(2) + 1
            profile.step()
        path = profile.write_ring("a look")
        profile.step()
    assert list(tmp_path.iterdir()) == [pathlib.Path(path)]
    trace = load(path)
    assert step_numbers(trace) == [0, 1, 2]
    assert trace["redline"]["reason"] == "a look"
    assert names(trace, "cpu_op")["aten::add"] == 3


def test_an_exception_that_leaves_the_profile_writes_the_ring(tmp_path):
    redline = import_redline()
    import torch

    handler = redline.tensorboard_trace_handler(str(tmp_path))
    with pytest.raises(KeyError), redline.profile(ring_seconds=30, slow_step=0, on_trace_ready=handler) as profile:
        torch.ones(2) + 1
        profile.step()
        raise KeyError("lost")
    (path,) = tmp_path.iterdir()
    trace = load(path)
    assert trace["redline"]["reason"] == "uncaught KeyError"
    assert names(trace, "cpu_op")["aten::add"] == 1


def test_trigger_writes_the_ring(start, succeed, program, library, tmp_path):
    script = tmp_path / "job.py"
    text = JOB.replace('print("ready"', 'call("redline_listen", None, 3)\nprint("ready"')
    script.write_text(text + "signal.pause()")
    with start([sys.executable, script, library("libredline.so")], cwd=tmp_path) as process:
        assert process.stdout.readline() == "ready\n"
        words = [program("redline"), "trigger", str(process.pid)]
        done, own = succeed(words, cwd=tmp_path), succeed([*words, "-o", "elsewhere"], cwd=tmp_path)
    path = pathlib.Path(own.stdout.strip())
    assert path.parent == tmp_path / "elsewhere" and path.is_file()
    trace = load(tmp_path / done.stdout.strip())
    assert trace["redline"]["reason"] == "redline trigger"
    assert names(trace, "user_annotation") == {"work": 1000}


def test_ring_and_schedule_exclude_each_other(run, program, tmp_path):
    redline = program("redline")
    for words in (["--ring", "30s", "--schedule", "active=1"], ["--ring", "30h"], ["--slow-step", "2"],
                  ["--ring", "30s", "--slow-step", "0.5"]):
        wrong = run([redline, "record", *words, "--", "true"], cwd=tmp_path)
        assert wrong.returncode == 2, words

"""redline trigger and SIGUSR2 capture running jobs, or say why there is no capture.

Most jobs here are small Python programs without torch that call libredline.so through ctypes and step until their
standard input ends.
"""

import contextlib
import os
import pathlib
import signal
import socket
import stat
import subprocess
import sys

import pytest
from conftest import ROOT
from recording import load, step_numbers

pytestmark = pytest.mark.usefixtures("no_process_left")

JOB = """
import ctypes, os, select, signal, sys
library = ctypes.CDLL(sys.argv[1])
library.redline_last_error.restype = ctypes.c_char_p
library.redline_begin_step.argtypes = [ctypes.c_int64]
library.redline_listen.argtypes = [ctypes.c_char_p, ctypes.c_int64]

def call(name, *arguments):
    if getattr(library, name)(*arguments) != 0:
        raise SystemExit("redline: " + library.redline_last_error().decode())

def train(step=lambda number: None):
    number = 0
    while not select.select([sys.stdin], [], [], 0.001)[0]:
        library.redline_begin_step(number)
        library.redline_range_push(b"work")
        library.redline_range_pop()
        step(number)
        library.redline_end_step()
        number += 1
    print(number, "steps", flush=True)
"""
LISTEN = "call('redline_listen', b'{\"directory\": \"traces\"}', 2)\nprint('ready', flush=True)\n"


@pytest.fixture
def job(start, library, tmp_path):
    """job(text) runs `text` after the lines above and returns the process once it has said that it is ready."""

    def start_job(text, **environment):
        script = tmp_path / "job.py"
        script.write_text(JOB + text)
        return start([sys.executable, script, library("libredline.so")], cwd=tmp_path,
                     environment=environment, stdin=-1)

    return start_job


@pytest.fixture
def trigger(run, program, tmp_path):
    """trigger(process id, *options, check=True)"""
    return lambda *words, check=True: run([program("redline"), "trigger", *words], cwd=tmp_path, check=check)


def end(process):
    process.stdin.close()
    assert process.wait(timeout=60) == 0, process.stderr.read()


def socket_of(process, folder):
    """The number of a process holds in its namespace, which containers that share the folder have each."""
    return pathlib.Path(folder, f"{process.pid}.{os.stat('/proc/self/ns/pid').st_ino}.sock")


def test_a_capture_holds_as_many_whole_steps_as_were_asked_for(job, trigger, tmp_path):
    with job(LISTEN + "train()") as process:
        assert process.stdout.readline() == "ready\n"
        done = trigger(str(process.pid), "--steps", "4")
        own = trigger(str(process.pid), "-o", "elsewhere")
        end(process)
    path = pathlib.Path(done.stdout.strip())
    assert path.parent == tmp_path / "traces"
    trace = load(path)
    first, *_ = numbers = step_numbers(trace)
    assert numbers == list(range(first, first + 4))
    assert trace["redline"]["reason"] == "redline trigger"
    assert sum(event.get("name") == "work" for event in trace["traceEvents"]) == 4
    assert "waiting for the next step" in done.stderr and "writing" in done.stderr
    path = pathlib.Path(own.stdout.strip())
    assert path.parent == tmp_path / "elsewhere"
    assert len(step_numbers(load(path))) == 2  # as many as the job was told to record


def test_the_socket_is_its_users_alone_and_goes_with_its_process(job):
    with job(LISTEN + "train()", XDG_RUNTIME_DIR="") as process:
        assert process.stdout.readline() == "ready\n"
        path = socket_of(process, f"/tmp/redline-{os.geteuid()}")
        assert path.is_socket()
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        end(process)
    assert not path.exists()


def test_the_runtime_directory_is_used_where_there_is_one(job, trigger, tmp_path, monkeypatch):
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    with job(LISTEN + "train()") as process:
        assert process.stdout.readline() == "ready\n"
        assert socket_of(process, runtime / "redline").is_socket()
        trigger(str(process.pid))
        end(process)


def test_a_folder_that_others_can_enter_is_refused(job, tmp_path):
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    (runtime / "redline").mkdir(mode=0o755)
    with job(LISTEN, XDG_RUNTIME_DIR=str(runtime)) as process:
        _, stderr = process.communicate(timeout=60)
    assert "not a folder that only this user can enter" in stderr


def test_stale_sockets_are_removed(trigger, start):
    """A dead process with this id left one. The test does not use `all`, which would wait for other recorded jobs."""
    with start(["cat"], stdin=subprocess.PIPE) as unrecorded:
        path = socket_of(unrecorded, pathlib.Path(os.environ["XDG_RUNTIME_DIR"], "redline"))
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with socket.socket(socket.AF_UNIX) as left_behind:
            left_behind.bind(str(path))
        assert path.is_socket()
        done = trigger(str(unrecorded.pid), check=False)
        unrecorded.stdin.close()
    assert done.returncode == 1 and "is not recorded" in done.stderr
    assert not path.exists()


def test_errors_say_what_is_wrong(job, trigger, tmp_path):
    with job("print('ready', flush=True)\ntrain()") as process:
        assert process.stdout.readline() == "ready\n"
        done = trigger(str(process.pid), check=False)
        assert done.returncode == 1
        assert f"process {process.pid} is not recorded. Start it under" in done.stderr
        end(process)
    assert trigger(str(process.pid), check=False).stderr == f"redline: no process {process.pid}\n"
    assert "neither a process id nor 'all'" in trigger("everything", check=False).stderr
    assert trigger("1", "--steps", "0", check=False).returncode == 2


def test_a_job_that_is_being_recorded_says_so(job, trigger):
    record = "call('redline_prepare', None)\ncall('redline_start')\n"
    with job(record + LISTEN + "train()") as process:
        assert process.stdout.readline() == "ready\n"
        done = trigger(str(process.pid), check=False)
        assert done.returncode == 1
        assert "the job is being recorded already" in done.stderr
        end(process)


def test_one_capture_at_a_time(job, trigger, start, program):
    with job(LISTEN + "train()") as process:
        assert process.stdout.readline() == "ready\n"
        with start([program("redline"), "trigger", str(process.pid), "--steps", "100000"]) as first:
            assert "waiting" in first.stderr.readline()
            assert "a capture is under way already" in trigger(str(process.pid), check=False).stderr
            process.kill()
            _, said = first.communicate(timeout=60)
            assert first.returncode == 1 and "the process ended before its trace" in said


def test_sigusr2_leaves_the_client_that_waits_alone(job, start, program):
    with job(LISTEN + "sys.stdin.readline()\ntrain()") as process:
        assert process.stdout.readline() == "ready\n"
        with start([program("redline"), "trigger", str(process.pid)]) as first:
            assert "waiting for the next step" in first.stderr.readline()
            process.send_signal(signal.SIGUSR2)
            # The job answers the first caller before the next.
            with start([program("redline"), "trigger", str(process.pid)]) as second:
                assert second.wait(timeout=60) == 1
            process.stdin.write("go\n")
            process.stdin.flush()
            assert first.wait(timeout=60) == 0, first.stderr.read()
            assert first.stdout.read().strip().endswith(".pt.trace.json.gz")
        end(process)


def test_who_waits_may_leave_and_another_may_ask(job, start, program):
    text = LISTEN + "sys.stdin.readline()\ntrain()"
    with job(text) as process:
        assert process.stdout.readline() == "ready\n"
        with start([program("redline"), "trigger", str(process.pid)]) as first:
            assert "waiting" in first.stderr.readline()
            first.send_signal(signal.SIGINT)
            assert first.wait(timeout=60) == 1
        with start([program("redline"), "trigger", str(process.pid)]) as second:
            assert "waiting" in second.stderr.readline()
            process.stdin.write("go\n")
            process.stdin.flush()
            assert second.wait(timeout=60) == 0, second.stderr.read()
        end(process)


@pytest.fixture
def long_capture(start, program, tmp_path):
    """long_capture(process): a capture of more steps than the job makes, of which it has two already."""

    @contextlib.contextmanager
    def begun(process):
        words = [program("redline"), "trigger", str(process.pid), "--steps", "1000000"]
        with start(words, cwd=tmp_path) as trigger:
            while "2 of 1000000 steps" not in trigger.stderr.readline():
                assert trigger.poll() is None
            yield trigger

    return begun


@pytest.fixture
def captured_to_the_last_step(long_capture, tmp_path):
    """Gives the path of a capture of a job that trains until its standard input ends, and then serves until it may end."""

    def capture(process):
        with long_capture(process) as trigger:
            process.stdin.close()
            path, said = trigger.communicate(timeout=60)
            assert trigger.returncode == 0, said
        (tmp_path / "served").touch()
        assert process.wait(timeout=60) == 0, process.stderr.read()
        return tmp_path / path.strip()

    return capture


def test_the_jobs_own_window_cuts_a_capture_short(job, long_capture, tmp_path):
    text = LISTEN + """
def step(number):
    if os.path.exists("record"):
        os.remove("record")
        call("redline_prepare", b'{"directory": "own"}')
        call("redline_start")
        print("records", flush=True)
train(step)
"""
    with job(text) as process:
        assert process.stdout.readline() == "ready\n"
        with long_capture(process) as trigger:
            (tmp_path / "record").touch()
            path, said = trigger.communicate(timeout=60)
            assert trigger.returncode == 0, said
        assert process.stdout.readline() == "records\n"
        end(process)
    assert 2 <= len(step_numbers(load(path.strip()))) < 1000000
    (own,) = (tmp_path / "own").glob("*.gz")
    assert load(own)["redline"]["dropped"] == 0


def test_a_capture_ends_with_the_last_step_of_the_job(job, captured_to_the_last_step):
    text = LISTEN + """
train()
library.redline_end_steps()
while not os.path.exists("served"):
    library.redline_range_push(b"serve")
    library.redline_range_pop()
"""
    with job(text) as process:
        assert process.stdout.readline() == "ready\n"
        path = captured_to_the_last_step(process)
    trace = load(path)
    assert 2 <= len(step_numbers(trace)) < 1000000
    assert not any(event.get("name") == "serve" for event in trace["traceEvents"])


def test_a_capture_ends_with_the_profile_of_a_script(start, python, library, captured_to_the_last_step, tmp_path):
    (tmp_path / "job.py").write_text("""
import os, select, sys, torch
from redline.profiler import profile, schedule
with profile(schedule=schedule(wait=1000000000, warmup=0, active=1)) as profiler:
    while not select.select([sys.stdin], [], [], 0.001)[0]:
        torch.ones(2).add(1)
        profiler.step()
        if profiler.step_num == 2:
            print("ready", flush=True)
while not os.path.exists("served"):
    torch.ones(2).mul(1)
""")
    environment = {"REDLINE_LIBRARY": str(library("libredline.so")), "PYTHONPATH": str(ROOT / "python")}
    with start([python, "job.py"], cwd=tmp_path, environment=environment, stdin=-1) as process:
        assert process.stdout.readline() == "ready\n", process.stderr.read()
        path = captured_to_the_last_step(process)
    trace = load(path)
    assert 2 <= len(step_numbers(trace)) < 1000000
    names = {event.get("name") for event in trace["traceEvents"]}
    assert "aten::add" in names and "aten::mul" not in names


def test_a_capture_that_waits_fails_when_no_step_follows(job, start, program):
    with job(LISTEN + "sys.stdin.readline()\nlibrary.redline_end_steps()\nsys.stdin.readline()") as process:
        assert process.stdout.readline() == "ready\n"
        with start([program("redline"), "trigger", str(process.pid)]) as trigger:
            assert "waiting" in trigger.stderr.readline()
            process.stdin.write("go\n")
            process.stdin.flush()
            _, said = trigger.communicate(timeout=60)
            assert trigger.returncode == 1 and "no step follows" in said
        end(process)


def test_sigusr2_captures_unless_the_job_handles_it(job, tmp_path):
    with job(LISTEN + "os.kill(os.getpid(), signal.SIGUSR2)\ntrain()") as process:
        assert process.stdout.readline() == "ready\n"
        folder = tmp_path / "traces"
        while not list(folder.glob("*.gz")):
            assert process.poll() is None, process.stderr.read()
        end(process)
    (path,) = folder.glob("*.gz")
    assert load(path)["redline"]["reason"] == "SIGUSR2"
    assert len(step_numbers(load(path))) == 2
    text = "signal.signal(signal.SIGUSR2, lambda *_: print('mine', flush=True))\n" + LISTEN
    with job(text + "os.kill(os.getpid(), signal.SIGUSR2)\ntrain()") as process:
        assert process.stdout.readline() == "ready\n"
        assert process.stdout.readline() == "mine\n"
        end(process)
    assert len(list(folder.glob("*"))) == 1


def test_a_forked_child_has_neither_thread_nor_files_nor_socket(job):
    text = """
def files(): return sorted(os.listdir("/proc/self/fd"))
before = files()
""" + LISTEN + """
child = os.fork()
if child == 0:
    assert files() == before, files()
    assert len(os.listdir("/proc/self/task")) == 1
    assert library.redline_listen(b"{}", 1) == -1
    library.redline_begin_step(0)
    library.redline_end_step()
    os.kill(os.getpid(), signal.SIGUSR2)
status = os.waitpid(child, 0)[1]
print(os.waitstatus_to_exitcode(status), flush=True)
train()
"""
    with job(text) as process:
        assert process.stdout.readline() == "ready\n"
        assert process.stdout.readline() == f"{-signal.SIGUSR2}\n"
        end(process)


TRAIN = """
import os, sys, torch
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
step = 0
while not os.path.exists("end"):
    model(torch.full((2, 4), float(step))).square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    step += 1
    if step == 2:
        print("ready", flush=True)
"""


def test_a_recorded_job_is_captured_whatever_its_schedule(start, program, python, trigger, tmp_path):
    """The trigger names the process id of `redline record` itself, and the job's schedule never begins."""
    command = [program("redline"), "record", "-o", "traces", "--shapes", "--stacks", "--schedule",
               "skip_first=1000000000", "--", python, "-c", TRAIN]
    ranks = {"RANK": "3", "WORLD_SIZE": "8"}
    with start(command, cwd=tmp_path, environment=ranks) as process:
        assert process.stdout.readline() == "ready\n", process.stderr.read()
        done = trigger(str(process.pid), "--steps", "2")
        (tmp_path / "end").touch()
        assert process.wait(timeout=60) == 0
    trace = load(done.stdout.strip())
    assert len(step_numbers(trace)) == 2
    assert trace["record_shapes"] == 1 and "torch_version" in trace
    assert trace["distributedInfo"] == {"rank": 3, "world_size": 8}
    operators = [event["name"] for event in trace["traceEvents"] if event.get("cat") == "cpu_op"]
    assert operators.count("aten::linear") == 2
    calls = [event["name"] for event in trace["traceEvents"] if event.get("cat") == "python_function"]
    assert calls.count("nn.Module: Linear_0") == 2
    assert any(call.endswith(": <module>") for call in calls)  # it is open all the time


def test_a_job_that_sets_a_profile_function_within_a_captured_step_goes_on(
    start, program, python, trigger, tmp_path
):
    own = TRAIN.replace("    step += 1\n", "    sys.setprofile(lambda *_: None)\n"
                                            "    sys.setprofile(None)\n    step += 1\n")
    command = [program("redline"), "record", "-o", "traces", "--stacks", "--schedule",
               "skip_first=1000000000", "--", python, "-c", own]
    with start(command, cwd=tmp_path) as process:
        assert process.stdout.readline() == "ready\n", process.stderr.read()
        done = trigger(str(process.pid), "--steps", "1")
        (tmp_path / "end").touch()
        assert process.wait(timeout=60) == 0
        assert "recording ended early" not in process.stderr.read()
    assert load(done.stdout.strip())["redline"]["threads_without_python_frames"] == 1


TRAINING = """
import select, sys, torch, torch.utils.data
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader(torch.ones(4096, 4), batch_size=8, shuffle=True)
steps = 0
while True:
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()
        steps += 1
        if steps == 3:
            print("ready", flush=True)
        if select.select([sys.stdin], [], [], 0.001)[0]:
            raise SystemExit
"""


@pytest.mark.parametrize("schedule", ["skip_first=1000000000", "wait=0,warmup=0,active=1,repeat=1"],
                         ids=["before its window", "after its window"])
@pytest.mark.parametrize("steps", [1, 3])
def test_a_capture_knows_the_samples_of_a_step(start, trigger, program, python, tmp_path, schedule, steps):
    (tmp_path / "train.py").write_text(TRAINING)
    command = [program("redline"), "record", "--schedule", schedule, "--", python, "train.py"]
    with start(command, cwd=tmp_path, stdin=-1) as process:
        assert process.stdout.readline() == "ready\n"
        done = trigger(str(process.pid), "--steps", str(steps))
        process.stdin.close()
        process.wait(timeout=60)
    trace = load(tmp_path / done.stdout.strip())
    assert len(step_numbers(trace)) == steps
    assert trace["redline"]["samples_per_step"] == 8

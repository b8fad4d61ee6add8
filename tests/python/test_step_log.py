"""`redline run --log DIR -- CMD`: every step of the whole job, whatever becomes of it."""

import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import time

import pytest
import step_logs
from conftest import BUILD, need, wait_until
from recording import CURE, load

SCRIPTS = pathlib.Path(__file__).with_name("scripts")
JOB = SCRIPTS / "logged_job.py"


@pytest.fixture
def logged(run, program, python, tmp_path):
    """logged(*arguments): the process of that job under `redline run --log`, and its log."""

    def run_job(*arguments, **options):
        done = run([program("redline"), "run", "--log", tmp_path / "logs", "--", python, JOB, *arguments], **options)
        return done, step_logs.read(tmp_path / "logs" / "rank0.steps.redline")

    return run_job


def test_a_plain_training_is_logged_step_by_step(logged, run, python, tmp_path):
    done, log = logged("workers")
    alone = run([python, JOB, "workers"])
    assert done.returncode == 0
    assert done.stdout == alone.stdout  # with the bits of the loss
    assert done.stderr.endswith(f"\nredline: step log of 1 rank: redline report {tmp_path}/logs says more\n")
    assert (log.rank, log.world_size, log.damaged, log.lost_steps) == (0, 1, 0, 0)
    assert log.ended and log.status == 0
    assert str(JOB) in log.command
    assert [step["step"] for step in log.steps] == list(range(12))
    assert [step["samples"] for step in log.steps] == [8] * 12
    assert all(step["tokens"] is None for step in log.steps)
    for before, step in zip(log.steps, log.steps[1:]):
        assert step["begin"] == before["begin"] + before["length"]
    for step in log.steps:
        parts = [step[part] for part in step_logs.PARTS if step[part] is not None]
        assert sum(parts) <= step["length"] + len(parts)
        assert min(step["data_wait"], step["forward"], step["backward"], step["optimizer"]) > 0
        assert step["communication_wait"] is None  # nobody waited for any
        assert step["checkpoint"] == step["compile"] == 0
    assert [mark for mark in log.marks if mark[0] == "epoch"] == [("epoch", "1"), ("epoch", "2"), ("epoch", "3")]
    assert log.memory[0][0] > 1 << 20


def test_a_rank_that_cannot_be_is_none(logged):
    done, log = logged(environment={"RANK": "-1", "WORLD_SIZE": "-1"})
    assert done.returncode == 0
    assert (log.rank, log.world_size, len(log.steps)) == (0, 1, 12)


def test_a_slow_loader_shows_in_the_wait(logged):
    _, log = logged("--delay", "0.01")
    for step in log.steps:
        assert 80_000 <= step["data_wait"] <= step["length"]


def test_evaluation_and_checkpoints_stand_in_the_step_that_follows(logged):
    _, log = logged("evaluate", "save")
    assert len(log.steps) == 12
    for step in log.steps:
        follows = step["step"] in (4, 8)
        assert bool(step["evaluation"]) == follows
        assert bool(step["checkpoint"]) == follows
    files = [pathlib.Path(text).name for kind, text in log.marks if kind == "checkpoint"]
    assert files == [f"epoch{n}.pt" for n in range(3)]


def test_a_closure_of_the_optimizer_has_its_own_parts(logged):
    _, log = logged("closure")
    assert len(log.steps) == 12
    for step in log.steps:
        assert min(step["forward"], step["backward"], step["optimizer"]) > 0


def test_garbage_collection_and_caught_out_of_memory_are_told(logged):
    done, log = logged("collect", "oom")
    assert done.returncode == 0
    assert all(step["garbage_collection"] > 0 for step in log.steps[1:])
    [text] = [text for kind, text in log.marks if kind == "out_of_memory"]
    assert "memory" in text


@pytest.mark.parametrize(("how", "status"), [("raise", 1), ("exit", 7), ("hard", 5)])
def test_the_log_has_the_exit_status(logged, how, status):
    done, log = logged(how)
    assert done.returncode == status
    assert log.ended and log.status == status
    assert len(log.steps) == 12
    assert (("exception", "KeyError: 'three'") in log.marks) == (how == "raise")


@pytest.mark.parametrize("how", ["no_grad", "eval"])
def test_inference_counts_batches(run, program, python, tmp_path, how):
    run([program("redline"), "run", "--log", tmp_path, "--", python, SCRIPTS / "infers.py", how])
    log = step_logs.read(tmp_path / "rank0.steps.redline")
    assert [step["samples"] for step in log.steps] == [10] * 10
    assert all(step["forward"] > 0 and step["backward"] is None for step in log.steps)


def test_what_trains_nothing_has_no_log(run, program, tmp_path):
    done = run([program("redline"), "run", "--log", tmp_path / "logs", "--", "true"])
    assert done.returncode == 0
    assert done.stderr.startswith("redline: no step log: no process of the command made a training step")
    assert done.stderr.count("\n") == 1
    assert list((tmp_path / "logs").iterdir()) == []


def test_a_command_that_sets_pythonpath_anew_learns_why_it_has_no_log(run, program, python, tmp_path):
    job = f"PYTHONPATH=. {python} {JOB}"
    done = run([program("redline"), "run", "--log", tmp_path, "--", "bash", "-c", job])
    assert done.returncode == 0
    assert "made a training step where Redline could see it (a step has backward()" in done.stderr
    assert "PYTHONPATH=src without :$PYTHONPATH" in done.stderr
    assert "PYTHONPATH=src without :$PYTHONPATH" in done.stderr
    kept = job.replace("PYTHONPATH=.", "PYTHONPATH=.:$PYTHONPATH")
    done = run([program("redline"), "run", "--log", tmp_path, "--", "bash", "-c", kept])
    assert "step log of 1 rank" in done.stderr


def test_two_ranks_have_a_log_each(run, program, torchrun, tmp_path):
    command = [*torchrun, "--nproc_per_node", "2", SCRIPTS / "two_ranks.py", "6", "8"]
    done = run([program("redline"), "run", "--log", tmp_path, "--", *command])
    assert done.returncode == 0, done.stderr
    logs = [step_logs.read(tmp_path / f"rank{rank}.steps.redline") for rank in range(2)]
    assert [(log.rank, log.world_size, log.ended) for log in logs] == [(0, 2, True), (1, 2, True)]
    assert logs[0].run == logs[1].run != ""
    for log in logs:
        assert [step["samples"] for step in log.steps] == [8] * 6
        assert all(step["communication_wait"] > 0 for step in log.steps[1:])


def test_killed_the_log_is_there_to_the_last_second(start, program, python, tmp_path):
    job = [python, JOB, "--epochs", "100000", "--delay", "0.001"]
    command = [program("redline"), "run", "--log", tmp_path, "--", *job]
    path = tmp_path / "rank0.steps.redline"
    with start(command) as process:
        while not path.exists() or len(step_logs.read(path).steps) < 50:
            assert process.poll() is None
            time.sleep(0.05)
        signs = set()

        def is_there_to_the_last_second():
            now = time.time()
            log = step_logs.read(path)  # while it is written
            assert not log.ended
            signs.add(log.last_sign / 1e6)
            return sum(now - sign < 3 for sign in signs) > 1  # a second, then another one

        wait_until(is_there_to_the_last_second, "the log lags behind the job")
        process.send_signal(signal.SIGSTOP)
    log = step_logs.read(path)
    assert not log.ended and log.status is None and log.damaged == 0
    assert [step["step"] for step in log.steps] == list(range(len(log.steps)))


def test_a_rank_that_kills_itself_leaves_a_log_without_an_end(logged):
    done, log = logged("--epochs", "40", "--delay", "0.002", "kill")
    assert done.returncode == 128 + signal.SIGKILL
    assert not log.ended
    assert 0 < len(log.steps) <= 160


def test_a_full_disk_stops_the_log_and_not_the_training(run, program, python, tmp_path):
    def limit_file_size():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    command = [program("redline"), "run", "--log", tmp_path, "--", python, JOB]
    done = run(command, preexec_fn=limit_file_size)
    alone = run([python, JOB])
    assert (done.returncode, done.stdout) == (0, alone.stdout)
    assert "redline: the step log cannot be written, training goes on" in done.stderr
    assert "File too large" in done.stderr
    assert "redline: the step log lacks the last 12 steps: " in done.stderr


def test_a_folder_that_cannot_be_made_is_said_before_the_job_starts(run, program, tmp_path):
    (tmp_path / "file").touch()
    done = run([program("redline"), "run", "--log", tmp_path / "file" / "logs", "--", "echo", "started"])
    assert done.returncode == 1
    assert done.stdout == ""
    assert "Choose another folder with --log DIR" in done.stderr


JUMPING_JOB = """
import pathlib, time, torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
before = time.time()
for step in range(40):
    if step == 20:
        pathlib.Path("{jump}").touch()
        assert time.time() < before - 3000
        print("the clock went back")
    model(torch.ones(8, 4)).sum().backward()
    optimizer.step()
"""


def test_a_clock_that_is_set_back_moves_no_step(start, program, python, tmp_path):
    """The wall clock of the job goes back by an hour as soon as the file `jump` exists."""
    source, library, jump = tmp_path / "clock.c", tmp_path / "clock.so", tmp_path / "jump"
    source.write_text(
        """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <time.h>
        #include <unistd.h>
        int clock_gettime(clockid_t clock, struct timespec* time) {
          static int (*real)(clockid_t, struct timespec*);
          if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
          int status = real(clock, time);
          if (clock == CLOCK_REALTIME && access(JUMP, F_OK) == 0) time->tv_sec -= 3600;
          return status;
        }
        """
    )
    subprocess.run(["gcc", "-shared", "-fPIC", f'-DJUMP="{jump}"', source, "-o", library, "-ldl"], check=True)
    job = ["env", f"LD_PRELOAD={library}", python, "-c", JUMPING_JOB.format(jump=jump)]
    log = tmp_path / "rank0.steps.redline"
    with start([program("redline"), "run", "--log", tmp_path, "--", *job]) as process:
        assert process.wait(120) == 0
        assert process.stdout.read().strip() == "the clock went back"
    steps = step_logs.read(log).steps
    assert len(steps) == 40
    for before, step in zip(steps, steps[1:]):
        assert step["begin"] == before["begin"] + before["length"]
        assert 0 < step["length"] < 600e6


def log_until(process, path, is_enough):
    """Waits until the log has steps of which `is_enough` is true."""
    while not path.exists() or not is_enough(step_logs.read(path).steps):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)


def test_traces_of_the_flight_recorder_are_marked_too(start, run, program, python, tmp_path):
    job = [python, JOB, "--epochs", "100000", "--delay", "0.001"]
    with start([program("redline"), "record", "--ring", "30s", "-o", tmp_path, "--", *job]) as process:
        log = tmp_path / "rank0.steps.redline"
        log_until(process, log, lambda steps: steps)
        done = run([program("redline"), "trigger", str(process.pid)])
        written_us = time.time_ns() // 1000
        # What a block holds came before the steps of the next one.
        log_until(process, log, lambda steps: steps[-1]["begin"] > written_us)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM
    assert done.returncode == 0, done.stderr
    marks = [text for kind, text in step_logs.read(log).marks if kind == "window"]
    assert done.stdout.strip() in marks


ENDS_AT_ONCE = """
import runpy, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
runpy.run_path(sys.argv[1], run_name="__main__")
"""


@pytest.mark.parametrize("how", [[], ["-c", ENDS_AT_ONCE]], ids=["Python", "what ends as C++ does"])
def test_who_stops_a_job_by_hand_is_not_told_that_it_failed(start, run, program, python, tmp_path, how):
    """Also right after its end, when its last sign of life is young."""
    job = [python, *how, JOB, "--epochs", "100000", "--delay", "0.001"]
    with start([program("redline"), "run", "--log", tmp_path, "--", *job]) as process:
        log_until(process, tmp_path / "rank0.steps.redline", lambda steps: steps)
        process.send_signal(signal.SIGINT)  # which it passes on; the job must not get two
        assert process.wait(60) == 128 + signal.SIGINT
        report = json.loads(run([program("redline"), "report", tmp_path, "--format", "json"]).stdout)
        assert " · interrupted\n" in process.stderr.read()
    assert (report["run"]["running"], report["run"]["interrupted"]) == (False, True)
    assert {finding["cause"] for finding in report["run"]["findings"]}.isdisjoint({"failed", "died"})


@pytest.mark.parametrize("language", ["python", "c++"])
def test_windows_with_operators_are_recorded_now_and_then(start, run, program, python, tmp_path, language):
    job = [program("mnist")] if language == "c++" else [python, JOB, "--delay", "0.001"]
    command = [program("redline"), "run", "--log", tmp_path, "--every", "1s", "--", *job, "--epochs", "100000"]
    with start(command) as process:
        log = tmp_path / "rank0.steps.redline"
        while not log.exists() or not (marks := [text for kind, text in step_logs.read(log).marks if kind == "window"]):
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM
        said = process.stderr.read()
    assert not list((tmp_path / "windows").glob("*.trace.json*")), "the whole run"
    assert "nothing was recorded" not in said
    assert re.search(rf"redline: \d+ windows? with operators in {tmp_path}/windows\n", said)
    # The end may have cut a later one.
    report = json.loads(run([program("redline"), "report", marks[0], "--format", "json"]).stdout)
    (trace,) = report["traces"]
    assert len(trace["steps"]["durations_ns"]) == 2
    assert not list(tmp_path.glob("**/.redline*"))
    assert marks[0].startswith(f"{tmp_path}/windows/")


@pytest.mark.parametrize("teardown", ["off", "on"])
def test_windows_that_come_by_themselves_leave_no_gpu_slower(start, program, python, tmp_path, teardown):
    stubs = [str(need(BUILD / "tests/stubs" / name, CURE)) for name in ("libcuda.so.1", "libcupti.so.13")]
    job = [python, JOB, "--epochs", "100000", "--delay", "0.001"]
    command = [program("redline"), "run", "--log", tmp_path, "--every", "1s", "--", *job]
    with start(command, environment={"LD_PRELOAD": ":".join(stubs), "REDLINE_GPU_TEARDOWN": teardown}) as process:
        while not (written := list(tmp_path.glob("windows/*Z/*.pt.trace.json.gz"))):
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    why = load(written[0])["redline"]["gpu"].get("off")
    assert why == {"on": None, "off": "GPUs were left out of the recording"}[teardown]


def test_what_trains_nothing_is_not_recorded_though_windows_are_asked_for(run, program, python, tmp_path):
    code = "import torch\nfor _ in range(100): torch.ones(3).sum()"
    done = run([program("redline"), "run", "--log", tmp_path, "--every", "1h", "--", python, "-c", code])
    assert done.returncode == 0
    assert done.stderr.startswith("redline: no step log: no process of the command made a training step")
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.glob("windows/*"))


def test_windows_need_a_log_to_stand_beside(run, program):
    needs_log, too_short = ("--every", "10m"), ("--log", "x", "--every", "0.1s")
    for words, why in [(needs_log, "--every needs --log DIR"), (too_short, "at least 1s")]:
        done = run([program("redline"), "run", *words, "--", "true"])
        assert done.returncode == 2 and why in done.stderr


def test_run_needs_something_to_do(run, program):
    done = run([program("redline"), "run", "--", "true"])
    assert done.returncode == 2
    assert done.stderr == "redline: run needs --config FILE, --log DIR or both\n"


def test_the_end_says_what_held_the_run_back(logged, tmp_path):
    done, _ = logged("--delay", "0.01")
    head, *lines = done.stderr.splitlines()
    assert head.startswith("RUN  1 rank · 12 steps · ")
    assert any(re.match(r"  \d  Waiting for data takes ", line) for line in lines)
    assert max(map(len, lines)) <= 80 + len(str(tmp_path))
    assert "\x1b" not in done.stderr  # colours are for terminals
    assert done.stdout.startswith("loss bits ")


def test_the_end_names_a_job_that_failed_and_a_rank_that_was_killed(logged):
    raised, _ = logged("raise")
    assert "Rank 0 ended with status 1" in raised.stderr
    assert "KeyError: 'three'" in raised.stderr
    killed, _ = logged("--epochs", "40", "--delay", "0.002", "kill")
    assert killed.returncode == 128 + signal.SIGKILL
    logged_steps = re.match(r"RUN  1 rank · (\d+) steps", killed.stderr)[1]  # without those of the last second
    assert re.search(rf"^  1  Rank 0 .*died after step {logged_steps}\b", killed.stderr, re.MULTILINE)


def test_a_recording_has_a_log_of_the_whole_job_beside_the_traces(run, program, python, tmp_path):
    done = run([program("redline"), "record", "-o", tmp_path, "--", python, JOB, "--epochs", "10"])
    assert done.returncode == 0, done.stderr
    [trace] = tmp_path.glob("*.pt.trace.json.gz")
    log = step_logs.read(tmp_path / "rank0.steps.redline")
    assert len(log.steps) == 40 and log.ended
    assert ("window", str(trace)) in log.marks
    report = run([program("redline"), "report", tmp_path]).stdout
    assert report.index("WHAT HOLDS IT BACK") < report.index("RUN  1 rank · 40 steps")
    assert "WHERE AN HOUR OF IT GOES" not in report  # the trace says that of the step


def test_ranks_that_are_not_recorded_have_no_log(run, program, torchrun, tmp_path):
    command = [*torchrun, "--nproc_per_node", "2", SCRIPTS / "two_ranks.py", "8", "8"]
    run([program("redline"), "record", "--ranks", "1", "-o", tmp_path, "--", *command])
    assert [path.name for path in tmp_path.glob("*.steps.redline")] == ["rank1.steps.redline"]


HOOKED_CALLS = """
import inspect, pickle, sys, torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU(), nn.Linear(2, 2)))

    def forward(self, inputs):
        return nn.Module.__call__(self.layers, inputs)

hook, seen = nn.Module.__call__.__code__, []

def see(frame, event, argument):
    if event == "call" and frame.f_code is hook:
        seen.append(type(frame.f_locals["arguments"][0]).__name__)

model, inputs = Model(), torch.ones(1, 2)
sys.setprofile(see)
outputs = model(inputs)
sys.setprofile(None)
assert torch.equal(pickle.loads(pickle.dumps(model))(inputs), outputs)
print(seen, nn.Module.__call__.__name__, inspect.signature(nn.Module.__call__))
compiled = torch.compile(model, backend="eager", fullgraph=True)  # it traces through the hook
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(3):
    compiled(inputs).sum().backward()
    optimizer.step()
"""


def test_calls_within_a_model_pass_the_hook_by(run, program, python, tmp_path):
    command = [program("redline"), "run", "--log", tmp_path, "--", python, "-c", HOOKED_CALLS]
    done = run(command)
    assert done.returncode == 0, done.stderr
    # Only the call that the script itself makes is one that the interpreter hands to the Python that stands in.
    assert done.stdout == "['Sequential'] _wrapped_call_impl (self, *args, **kwargs)\n"
    log = step_logs.read(tmp_path / "rank0.steps.redline")
    assert len(log.steps) == 3
    assert all(step["forward"] > 0 for step in log.steps)


def test_a_distributed_checkpoint_is_one_checkpoint(run, program, python, tmp_path):
    script = """
import sys, torch, torch.distributed.checkpoint as dcp
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(2):
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    dcp.save(model.state_dict(), checkpoint_id=f"{sys.argv[1]}/step{step}")
"""
    run([program("redline"), "run", "--log", tmp_path, "--", python, "-c", script, tmp_path])
    log = step_logs.read(tmp_path / "rank0.steps.redline")
    assert [text for kind, text in log.marks if kind == "checkpoint"] == [f"{tmp_path}/step0", f"{tmp_path}/step1"]
    assert log.steps[1]["checkpoint"] > 0


def test_safetensors_are_checkpoints_whoever_imports_them(run, program, python, tmp_path):
    (tmp_path / "safetensors").mkdir()  # in place of the library, whose own file formats do not matter here
    (tmp_path / "safetensors" / "__init__.py").touch()
    (tmp_path / "safetensors" / "torch.py").write_text("def save_file(tensors, filename): return filename\n")
    script = """
import torch
from safetensors.torch import save_file
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
model(torch.ones(1, 2)).sum().backward()
optimizer.step()
print(save_file(model.state_dict(), "model.safetensors"), save_file.__module__)
"""
    command = [program("redline"), "run", "--log", tmp_path, "--", python, "-c", script]
    done = run(command, environment={"PYTHONPATH": str(tmp_path)})
    assert done.stdout == "model.safetensors safetensors.torch\n"
    log = step_logs.read(tmp_path / "rank0.steps.redline")
    assert ("checkpoint", "model.safetensors") in log.marks


ODD_OBJECTS = """
import torch
from torch import nn
from torch.utils.data import DataLoader

class Odd(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, inputs, raised=None):
        if raised is not None:
            raise raised
        return self.layer(inputs)

    @property
    def training(self):  # nobody but Redline asks this model
        raise RuntimeError("no mode")

    @training.setter
    def training(self, mode):
        pass

class Uncounted(list):
    def __len__(self):
        raise RuntimeError("no length")

def batches():
    yield from ([Uncounted([0]), Uncounted([1])])

class Optimizer(torch.optim.SGD):
    def step(self, closure=None, *, raised=None):
        if raised is not None:
            raise raised
        return super().step(closure)

def outcome(action):
    try:
        return action()
    except BaseException as error:
        return error

model = Odd()
optimizer = Optimizer(model.parameters(), 0.1)
wrong = KeyError("mine")
for batch in DataLoader(torch.ones(2, 2), batch_sampler=list(batches())):
    model(batch).sum().backward()
    assert optimizer.step() is None
assert outcome(lambda: model(batch, raised=wrong)) is wrong
assert outcome(lambda: optimizer.step(raised=wrong)) is wrong
stop = KeyboardInterrupt()
assert outcome(lambda: model(batch, raised=stop)) is stop
assert "does not require grad" in str(outcome(lambda: torch.autograd.backward(torch.ones(1))))
assert isinstance(outcome(lambda: next(iter(DataLoader([])))), StopIteration)
assert isinstance(outcome(nn.Module.__call__), TypeError) and isinstance(outcome(torch.autograd.backward), TypeError)
for _ in range(2):
    torch.autograd.backward(model(torch.ones(1, 2)).sum())
    optimizer.step()
print("as ever")
"""


def test_odd_objects_and_errors_of_the_script_are_as_without_a_log(run, program, python, tmp_path):
    done = run([program("redline"), "run", "--log", tmp_path, "--", python, "-c", ODD_OBJECTS])
    assert (done.returncode, done.stdout) == (0, "as ever\n"), done.stderr
    log = step_logs.read(tmp_path / "rank0.steps.redline")
    assert len(log.steps) == 4
    assert all(step["optimizer"] > 0 and step["backward"] > 0 for step in log.steps)


PINNED = """
import torch
from torch.utils.data import DataLoader
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for batch in DataLoader(torch.ones(8, 2), batch_size=4, pin_memory=True):
    model(batch).sum().backward()
    optimizer.step()
"""


def test_a_warning_of_the_loader_names_the_line_that_it_names_without_a_log(run, program, python, tmp_path):
    without_gpu = {"CUDA_VISIBLE_DEVICES": ""}
    alone = run([python, "-c", PINNED], environment=without_gpu)
    done = run([program("redline"), "run", "--log", tmp_path, "--", python, "-c", PINNED], environment=without_gpu)
    assert "'pin_memory' argument is set as true" in alone.stderr
    assert done.returncode == 0 and done.stderr.startswith(alone.stderr), done.stderr
    assert [step["samples"] for step in step_logs.read(tmp_path / "rank0.steps.redline").steps] == [4, 4]


SAMPLER_WITHOUT_END = """
import itertools, torch
from torch.utils.data import DataLoader, Sampler, TensorDataset

class Endless(Sampler):
    def __iter__(self):
        return itertools.cycle(range(10))

    def __len__(self):  # as that of mmengine: of one turn
        return 10

model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step, (batch,) in enumerate(DataLoader(TensorDataset(torch.ones(10, 2)), batch_size=4, sampler=Endless())):
    model(batch).sum().backward()
    optimizer.step()
    if step == 6:
        break
"""


def test_a_sampler_that_gives_more_than_its_length_is_counted_batch_by_batch(run, program, python, tmp_path):
    done = run([program("redline"), "run", "--log", tmp_path, "--", python, "-c", SAMPLER_WITHOUT_END])
    assert done.returncode == 0, done.stderr
    assert [step["samples"] for step in step_logs.read(tmp_path / "rank0.steps.redline").steps] == [4] * 7


GROUPS_READ_AGAIN = """
import torch
from torch.utils.data import DataLoader, Sampler, TensorDataset

class Repeat(Sampler):  # as trl's for GRPO
    batch_size, repeat_count = 16, 4

    def __iter__(self):
        for begin in range(0, 64, 16):
            for _ in range(self.repeat_count):
                yield from range(begin, begin + 16)

    def __len__(self):
        return 64 * self.repeat_count

model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for number, (batch,) in enumerate(DataLoader(TensorDataset(torch.ones(64, 2)), batch_size=16, sampler=Repeat())):
    model(batch.split(4)[number % 4]).sum().backward()
    if number % 4 == 3:
        optimizer.step()
        optimizer.zero_grad()
"""


def test_groups_that_are_read_again_for_each_part_of_them_count_once(run, program, python, tmp_path):
    done = run([program("redline"), "record", "-o", tmp_path, "--schedule", "active=3", "--", python, "-c",
                GROUPS_READ_AGAIN])
    assert done.returncode == 0, done.stderr
    assert [step["samples"] for step in step_logs.read(tmp_path / "rank0.steps.redline").steps] == [16] * 4
    (trace,) = tmp_path.glob("*.json.gz")
    assert load(trace)["redline"]["samples_per_step"] == 16


WAYS_TO_READ = """
import itertools, torch
from torch.utils.data import DataLoader, TensorDataset

def loader(samples):
    return DataLoader(TensorDataset(torch.ones(samples, 2)), batch_size=4)

def one_ahead(batches):  # as accelerate does
    batches = iter(batches)
    batch = next(batches)
    for following in batches:
        yield batch
        batch = following
    yield batch

def steps(batches):
    batches = iter(batches)
    for chunk in iter(lambda: list(itertools.islice(batches, COUNT)), []):  # as transformers does
        for batch in chunk:
            model(batch[0]).sum().backward()
        optimizer.step()

@torch.no_grad()
def evaluate():
    for batch, in one_ahead(loader(7)):
        model(batch)

model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
data, COUNT = loader(14), 1
WAY
"""


@pytest.mark.parametrize(("way", "samples", "epochs"), [
    ("for _ in range(2): steps(one_ahead(data))", [4, 4, 4, 2] * 2, 2),
    ("COUNT = 2; steps(data); steps(data)", [8, 6, 8, 6], 2),
    ("COUNT = 3; steps(one_ahead(data))", [12, 2], 1),
    ("steps(torch.cat([a, b]).unsqueeze(0) for (a,), (b,) in zip(data, loader(11)))", [8, 8, 7], 1),
    ("steps(batch for number, batch in enumerate(loader(16)) if number > 1); steps(data)", [4, 4, 4, 4, 4, 2], 2),
    ("list(loader(30)); steps(data)", [4, 4, 4, 2], 1),
    ("steps(itertools.islice(one_ahead(data), 2)); steps(data)", [4, 4, 4, 4, 4, 2], 2),
    ("ahead = one_ahead(data); steps(itertools.islice(ahead, 2)); evaluate(); steps(ahead)", [4, 4, 4, 2], 1),
], ids=["one ahead", "two at once", "three at once, one ahead", "two loaders", "skipped", "statistics first",
        "broken off", "evaluation between"])
def test_each_step_has_the_samples_that_it_trained_on(run, program, python, tmp_path, way, samples, epochs):
    script = WAYS_TO_READ.replace("WAY", way)
    done = run([program("redline"), "run", "--log", tmp_path, "--", python, "-c", script])
    assert done.returncode == 0, done.stderr
    log = step_logs.read(tmp_path / "rank0.steps.redline")
    assert [step["samples"] for step in log.steps] == samples
    assert [text for kind, text in log.marks if kind == "epoch"] == [str(n + 1) for n in range(epochs)]


BY_HAND = """
import os, torch
model = torch.nn.Linear(4, 2)
{optimizer}
for step in range(9):
    {fork}
    for backward in range(2):
        model(torch.ones(3, 4)).sum().backward()
    {update}
"""


@pytest.mark.parametrize(
    "optimizer, fork, update, steps",
    [
        pytest.param("", "", "", 18, id="no optimizer was made"),
        pytest.param("optimizer = torch.optim.SGD(model.parameters(), 0.1)", "", "optimizer.step()", 9, id="accumulation"),
        pytest.param("optimizer = torch.optim.SGD(model.parameters(), 0.1)", "if step == 0 and os.fork(): os.wait(); break",
                     "optimizer.step()", 9, id="accumulation in a child"),
    ],
)
def test_a_backward_pass_is_a_step_where_no_optimizer_will_step(run, program, python, tmp_path, optimizer, fork, update, steps):
    text = BY_HAND.format(optimizer=optimizer, fork=fork, update=update)
    done = run([program("redline"), "run", "--log", tmp_path, "--", python, "-c", text])
    assert done.returncode == 0, done.stderr
    (log,) = tmp_path.glob("*.steps.redline")
    assert len(step_logs.read(log).steps) == steps


EVALUATED_BEFORE = """
import time
import torch
from torch.utils.data import DataLoader, TensorDataset

data, model = DataLoader(TensorDataset(torch.ones(24, 4)), batch_size=4), torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1) if MADE == "before" else None
with torch.no_grad():
    for number, (batch,) in enumerate(data):
        model(batch)
        if number + 1 == EVALUATED:
            break
print(time.time_ns() // 1000)
optimizer = torch.optim.SGD(model.parameters(), 0.1) if MADE == "after" else optimizer
for _ in range(2):
    for batch, in data:
        model(batch).sum().backward()
        if optimizer is not None:
            optimizer.step()
"""


@pytest.mark.parametrize("evaluated", [1, 4, 6, 0], ids=lambda count: f"{count} batches" if count else "all batches")
@pytest.mark.parametrize("made", ["before", "after", "never"])
def test_an_evaluation_before_the_training_is_no_step(run, program, python, tmp_path, made, evaluated):
    script = f"MADE, EVALUATED = {made!r}, {evaluated}\n{EVALUATED_BEFORE}"
    done = run([program("redline"), "run", "--log", tmp_path, "--", python, "-c", script])
    assert done.returncode == 0, done.stderr
    report = json.loads(run([program("redline"), "report", "--format", "json", tmp_path]).stdout)["run"]
    figures = json.loads(run([program("redline"), "report", "--format", "summary", tmp_path]).stdout)
    assert report["steps"] == figures["redline/steps"] == 12
    assert figures["redline/samples_per_s"] / figures["redline/steps_per_s"] == pytest.approx(4)
    log = step_logs.read(tmp_path / "rank0.steps.redline")
    assert [text for kind, text in log.marks if kind == "epoch"][-2:] == ["1", "2"]
    assert made == "before" or log.steps[-12]["begin"] > int(done.stdout), "what lies between is of no step"


WITHOUT_LOADER = """
import torch
model, teacher = torch.nn.Linear(4, 2), torch.nn.Linear(4, 2).eval()
optimizer = torch.optim.SGD(model.parameters(), 0.1)

@torch.no_grad()
def evaluate(of):
    was_training = of.training
    for _ in range(5):
        of.eval()(torch.ones(3, 4))
    of.train(was_training)

for step in range(12):
    {before}
    for _ in range(2):
        model(torch.ones(3, 4)).sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    "before, evaluated",
    [
        pytest.param("if step % 4 == 0: evaluate(model)", [0, 4, 8], id="the model that trains"),
        pytest.param("evaluate(teacher)", [], id="a teacher in each step"),
        pytest.param("if step % 4 == 0: evaluate(teacher)", [], id="a teacher now and then"),
        pytest.param("if step > 3: evaluate(model)", [4], id="a part of each step"),
        pytest.param("with torch.no_grad(): model(torch.ones(3, 4))", [], id="in training mode"),
        pytest.param("model(torch.ones(3, 4)); step % 4 or evaluate(model)", [], id="within a step"),
    ],
)
def test_an_evaluation_without_a_loader_is_no_forward_of_training(run, program, python, tmp_path, before, evaluated):
    script = WITHOUT_LOADER.format(before=before)
    done = run([program("redline"), "run", "--log", tmp_path, "--", python, "-c", script])
    assert done.returncode == 0, done.stderr
    steps = step_logs.read(tmp_path / "rank0.steps.redline").steps
    assert [step["step"] for step in steps if step["evaluation"]] == evaluated
    assert all(step["forward"] for step in steps)


WORKERS_FOR_EACH_EPOCH = """
import os, time, torch
from torch.utils.data import DataLoader, TensorDataset

loader, model = DataLoader(TensorDataset(torch.ones(16, 4)), batch_size=4, num_workers=1), torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
os.register_at_fork(before=lambda: time.sleep(1))
for _ in range(2):
    for batch, in loader:
        model(batch).sum().backward()
        optimizer.step()
"""


def test_the_start_of_a_loaders_workers_is_a_wait_for_data(run, program, python, tmp_path):
    done = run([program("redline"), "run", "--log", tmp_path, "--", python, "-c", WORKERS_FOR_EACH_EPOCH])
    assert done.returncode == 0, done.stderr
    steps = step_logs.read(tmp_path / "rank0.steps.redline").steps
    assert [step["samples"] for step in steps] == [4] * 8
    assert steps[4]["data_wait"] >= 1_000_000

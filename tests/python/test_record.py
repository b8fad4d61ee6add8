"""redline record makes traces of unmodified programs, which otherwise behave as without it."""

import json
import signal
import subprocess

import pytest
from recording import names, step_numbers, without_speed

pytestmark = pytest.mark.usefixtures("no_process_left")

# A training loop of a few steps; its arguments say how many steps, and how it ends.
TRAIN = """
import os, signal, sys, torch
steps, end = int(sys.argv[1]), sys.argv[2]
torch.manual_seed(0)
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(steps):
    optimizer.zero_grad()
    loss = model(torch.full((2, 4), float(step))).square().sum()
    loss.backward()
    optimizer.step()
print(loss.item().hex(), flush=True)
if end == "status":
    sys.exit(3)
if end == "hard":
    os._exit(5)
if end == "exec":
    os.execlp("sh", "sh", "-c", "exit 6")
if end == "exception":
    raise ValueError("the job's own")
if end.startswith("SIG"):
    os.kill(os.getpid(), signal.Signals[end])
    signal.pause()
"""


@pytest.fixture(scope="module")
def loss_of_four_steps(python):
    """What TRAIN prints after four steps if nothing records it."""
    command = [python, "-c", TRAIN, "4", "return"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("end, status", [
    ("return", 0), ("status", 3), ("hard", 5), ("exec", 6), ("exception", 1), ("SIGINT", 130), ("SIGTERM", 143),
])
def test_however_a_job_ends_it_ends_as_ever_and_its_trace_is_written(
    record, python, script, loss_of_four_steps, end, status
):
    recorded, (trace,) = record([python, script(TRAIN), "4", end], check=False)
    assert (recorded.returncode, recorded.stdout) == (status, loss_of_four_steps)
    # The end cut the window after two of three steps, and a part of a step is not called a step.
    assert step_numbers(trace) == [2, 3]
    if end != "SIGTERM":
        assert "the command ended within the window" in recorded.stderr


def test_a_killed_job_leaves_what_had_reached_the_disk_and_says_so(record, succeed, program, python, script, tmp_path):
    waits = "while not any(path.stat().st_size for path in pathlib.Path('traces').glob('*.partial')): pass"
    text = TRAIN.replace("import os", "import pathlib, os").replace("print(loss", waits + "\nprint(loss")
    recorded, whole = record([python, script(text), "4", "SIGKILL"], check=False)
    assert recorded.returncode == 128 + signal.SIGKILL
    assert whole == []
    assert "1 unfinished trace (.partial)" in recorded.stderr
    # What it says next works.
    read = succeed([program("redline"), "report", tmp_path / "traces"])
    assert "gzip_cut" in read.stdout


def test_a_job_that_ends_before_the_window_says_so(record, python, script):
    recorded, none = record([python, script(TRAIN), "1", "return"])
    assert none == []
    assert "made 1 step, the schedule leaves out the first 2. Give a shorter --schedule" in recorded.stderr


def test_a_window_that_the_end_cuts_needs_no_further_thread(record, python, script):
    """Python 3.12.0 to 3.12.2 start no thread while the interpreter ends."""
    ends = """
import atexit, threading
def start(self):
    raise RuntimeError("can't create new thread at interpreter shutdown")
atexit.register(setattr, threading.Thread, "start", start)
"""
    _, traces = record([python, script(TRAIN + ends), "3", "return"], "--schedule", "active=100")
    assert len(traces) == 1


def test_each_cycle_is_a_trace(record, python, script):
    schedule = "skip_first=1,wait=1,warmup=0,active=2,repeat=2"
    _, cycles = record([python, script(TRAIN), "8", "return"], "--schedule", schedule)
    assert sorted(map(step_numbers, cycles)) == [[2, 3], [5, 6]]


def test_the_cycles_of_a_process_are_no_ranks(record, run, program, python, script, tmp_path):
    record([python, script(TRAIN), "8", "return"], "--schedule", "wait=1,warmup=0,active=2,repeat=2")
    report = run([program("redline"), "report", tmp_path / "traces", "--format", "json"])
    said = json.loads(report.stdout)
    assert (len(said["traces"]), said["ranks"]) == (2, None)


@pytest.mark.parametrize(("schedule", "steps"), [
    ("wait=0,warmup=0,active=1,repeat=0", [[0], [1], [2], [3]]),
    ("wait=1,warmup=1,active=2,repeat=0", [[2, 3]]),
    ("wait=0,warmup=0,active=3,repeat=0", [[0, 1, 2], [3]]),
])
def test_what_follows_the_last_step_is_no_trace_of_its_own(record, python, script, schedule, steps):
    _, recorded = record([python, script(TRAIN), "4", ""], "--schedule", schedule)
    assert sorted(step_numbers(trace) for trace in recorded) == steps


def test_without_wait_the_first_step_is_recorded(record, python, script):
    schedule = "wait=0,warmup=0,active=2"
    _, (trace,) = record([python, script(TRAIN), "4", "return"], "--schedule", schedule, "--shapes")
    assert step_numbers(trace) == [0, 1]
    assert trace["record_shapes"] == 1


def test_a_recording_does_not_claim_what_another_wrote_meanwhile(start, succeed, program, python, script, tmp_path):
    command = [program("redline"), "record", "-o", tmp_path / "traces"]
    waits = [*command, "--", python, "-c", "print('runs', flush=True); input()"]
    with start(waits, cwd=tmp_path, stdin=subprocess.PIPE) as other:
        assert other.stdout.readline() == "runs\n"
        schedule = ["--schedule", "wait=1,warmup=1,active=1,repeat=2"]
        recorded = succeed([*command, *schedule, "--", python, script(TRAIN), "8", "return"], cwd=tmp_path)
        assert "2 traces in" in recorded.stderr
        _, said = other.communicate("\n", timeout=60)
    assert other.returncode == 0 and "no trace in" in said


def test_a_folder_with_two_recordings_stands_for_the_latest(record, run, program, python, script, tmp_path):
    for schedule in ("wait=1,warmup=1,active=3", "wait=1,warmup=1,active=2"):
        _, found = record([python, script(TRAIN), "8", "return"], "--schedule", schedule)
    assert len(found) == 2
    assert len({trace["run"]["recording"] for trace in found}) == 2
    report = run([program("redline"), "report", tmp_path / "traces"])
    assert "1 rank · 2 steps" in report.stdout
    assert report.stderr.endswith("traces: the latest recording; 1 trace of earlier ones left out\n")
    diff = run([program("redline"), "diff", tmp_path / "traces", tmp_path / "traces"])
    assert diff.stdout.count("1 rank · 2 steps") == 2 and diff.stderr.count("left out") == 2


def test_the_step_log_of_an_earlier_recording_does_not_count_either(record, run, program, python, script, tmp_path):
    for steps in ("60", "40"):
        record([python, script(TRAIN), steps, "return"])
    traces = tmp_path / "traces"
    diff = run([program("redline"), "diff", "--format", "json", traces, traces])
    assert diff.returncode == 0, diff.stderr
    for side in ("before", "after"):
        (latest,) = json.loads(diff.stdout)["run"][side]
        assert 8 <= latest["steps"] <= 40


def test_the_next_command_can_be_pasted(run, program, python, script, tmp_path):
    train = ["--", python, script(TRAIN), "8", "return"]
    done = run([program("redline"), "record", "-o", "my traces", *train], cwd=tmp_path)
    assert done.stderr.endswith("redline: next: redline report 'my traces'\n")
    done = run([program("redline"), "run", "--log", "my logs", *train], cwd=tmp_path)
    assert done.stderr.endswith("redline: 1 step log: redline report 'my logs' says more\n")
    empty = tmp_path / "no traces"
    empty.mkdir()
    done = run([program("redline"), "report", empty])
    assert f"Record some: redline record -o '{empty}' -- CMD" in done.stderr


def test_a_full_disk_ends_the_recording_and_not_the_job(
    record, python, script, loss_of_four_steps
):
    text = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n" + TRAIN
    recorded, none = record([python, script(text), "4", "status"], check=False)
    assert (recorded.returncode, recorded.stdout) == (3, loss_of_four_steps)
    assert none == []
    assert recorded.stderr.count("recording ended early, training went on") == 1
    assert "File too large" in recorded.stderr


def test_a_libtorch_program_is_recorded(record, succeed, program):
    """The program has a redline::Profiler, which follows the schedule of the command line."""
    command = [program("mnist"), "--steps", "6", "--print-loss-bits"]
    plain = succeed(command)
    recorded, (trace,) = record(command)
    assert without_speed(recorded.stdout) == without_speed(plain.stdout) != ""
    assert step_numbers(trace) == [2, 3, 4]
    assert names(trace, "cpu_op")["aten::conv2d"] > 0


def test_a_script_that_first_looks_whether_torch_is_there_is_recorded(record, python, script):
    """transformers, Lightning and many others do this: they ask for the spec and throw it away."""
    looks = "import importlib.util\nassert importlib.util.find_spec('torch')"
    _, (trace,) = record([python, script(looks + TRAIN), "6", "return"])
    assert step_numbers(trace) == [2, 3, 4]


def test_compiled_models_are_compiled_as_ever_and_without_a_warning(record, run, python, script):
    """torch.compile must not see our hooks: it would warn of them and compile again without them."""
    compiled = """
import torch
graphs = []
def backend(graph, inputs):
    graphs.append(graph)
    return graph
model, called = torch.nn.Linear(4, 3), torch.nn.Linear(4, 3)
@torch.compile(backend=backend)
def function(x):
    return called(x).sum()
function(torch.ones(2, 4))
called(torch.ones(2, 4))
function(torch.ones(2, 4))
whole = torch.compile(model, backend=backend)
whole(torch.ones(2, 4))
with torch.no_grad():
    for batch in torch.utils.data.DataLoader(torch.ones(10, 4), batch_size=2):
        function(batch)
        whole(batch)
print(len(graphs))
"""
    command = [python, "-W", "error:.*global hooks", script(compiled)]
    plain = run(command)
    recorded, (trace,) = record(command)
    assert (recorded.returncode, recorded.stdout) == (plain.returncode, plain.stdout) == (0, "4\n")
    assert names(trace, "cpu_op")["aten::linear"] > 0
    assert step_numbers(trace) == [2, 3, 4]

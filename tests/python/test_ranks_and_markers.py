"""redline record --ranks decides who is recorded; --step-marker, optimizers or backward passes where steps begin."""

import pathlib

import pytest
from recording import SPAWNED_RANKS, names, step_numbers, traces

pytestmark = pytest.mark.usefixtures("no_process_left")

TRAIN = """
import ctypes, os, torch
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
loaded = "libredline_torch" in open("/proc/self/maps").read()
print(os.environ.get("RANK") or os.environ.get("SLURM_PROCID"), loaded)
"""

MARKED = """
import torch
for step in range(8):
    if step % 2 == 0:
        with torch.profiler.record_function("my step"):
            torch.ones(3).sin()
    else:
        torch.cuda.nvtx.mark("my step")
        torch.ones(3).sin()
"""


@pytest.fixture
def record(program, succeed, python, tmp_path):
    def recorded(text, *options, **environment):
        script = tmp_path / "job.py"
        script.write_text(text)
        words = [program("redline"), "record", "-o", "traces", *options, "--", python, script]
        done = succeed(words, cwd=tmp_path, environment=environment)
        return done, traces(tmp_path / "traces")

    return recorded


def test_only_the_named_ranks_are_recorded(record):
    _, (trace,) = record(TRAIN, "--ranks", "0,3", SLURM_PROCID="3", SLURM_STEP_NUM_TASKS="8")
    assert trace["distributedInfo"] == {"rank": 3, "world_size": 8}
    assert step_numbers(trace) == [2, 3, 4]


def test_the_other_ranks_do_not_even_load_the_recorder(record):
    done, none = record(TRAIN, "--ranks", "0,3", RANK="1", WORLD_SIZE="8")
    assert none == []
    assert done.stdout == "1 False\n"
    assert "left out by --ranks" in done.stderr


def test_spawned_ranks_are_told_apart_by_their_process_group(record):
    done, (trace,) = record(SPAWNED_RANKS, "--ranks", "1")
    info = trace["distributedInfo"]
    assert (info["rank"], info["world_size"], info["pg_count"]) == (1, 2, 1)
    assert "knew of no rank" not in done.stderr
    assert info["pg_config"][0]["ranks"] == [0, 1]
    assert step_numbers(trace) == [2, 3, 4]


def test_a_job_without_ranks_is_recorded_and_that_is_said(record):
    done, (trace,) = record(TRAIN, "--ranks", "5")
    assert step_numbers(trace) == [2, 3, 4]
    said = "redline: a process knew of no rank at its first step, so --ranks did not apply to it\n"
    assert done.stderr.count(said) == 1


def test_a_step_begins_at_its_marker_of_whatever_kind(record):
    _, (trace,) = record(MARKED, "--step-marker", "my step")
    assert step_numbers(trace) == [2, 3, 4]
    assert names(trace, "cpu_op")["aten::sin"] == 3


def test_a_marker_without_a_name_is_refused(run, program):
    done = run([program("redline"), "record", "--step-marker", "", "--", "true"])
    assert done.returncode == 2 and "needs the name of a range or mark" in done.stderr


TRIGGERED = """
import os, select, sys, torch
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
number = 0
while not select.select([sys.stdin], [], [], 0.001)[0]:
    with torch.profiler.record_function("my step"), torch.profiler.record_function(f"number {number}"):
        for _ in range(2):
            model(torch.ones(3, 4)).sum().backward()
            optimizer.step()
    number += 1
    if number == 20:
        print(os.getpid(), flush=True)
"""


def test_a_trigger_captures_marked_steps_under_their_numbers(start, succeed, program, python, tmp_path):
    """Long after the schedule: the optimizer, which steps twice in each of them, numbers nothing."""
    words = [program("redline"), "record", "--step-marker", "my step", "-o", "traces", "--", python, "-c", TRIGGERED]
    with start(words, cwd=tmp_path, stdin=-1) as process:
        pid = process.stdout.readline().strip()
        succeed([program("redline"), "trigger", pid, "-o", "now"], cwd=tmp_path, timeout=60)
        process.stdin.close()
        assert process.wait(timeout=60) == 0, process.stderr.read()
    (trace,) = traces(tmp_path / "now")
    numbers = [int(name.split()[1]) for name in names(trace, "user_annotation") if name.startswith("number ")]
    assert step_numbers(trace) == [number + 1 for number in sorted(numbers)], "step 0 is what precedes the first marker"
    assert min(numbers) >= 20


OWN_UPDATES = """
import torch, torch.utils.data
loader = torch.utils.data.DataLoader(torch.ones(24, 4), batch_size=3)
model = torch.nn.Linear(4, 3)
for batch in loader:
    model(batch).sum().backward()
    for weight in model.parameters():
        weight.data.add_(weight.grad, alpha=-0.1)
        weight.grad = None
"""


def test_without_an_optimizer_each_backward_pass_is_a_step(record):
    recorded, (trace,) = record(OWN_UPDATES)
    assert step_numbers(trace) == [2, 3, 4]
    assert trace["redline"]["samples_per_step"] == 3
    assert names(trace, "cpu_op")["aten::add_"] == 6
    assert "no optimizer of torch.optim was made: each backward pass counts as a step" in recorded.stderr


def test_an_optimizer_that_is_made_late_marks_the_steps_from_then_on(record):
    """Pyro makes its optimizers of torch.optim after the first backward pass."""
    late = OWN_UPDATES.replace("    for weight", "    torch.optim.SGD(model.parameters(), lr=0.1).step()\n    for weight")
    recorded, (trace,) = record(late)
    assert step_numbers(trace) == [2, 3, 4]
    assert "each backward pass counts as a step" not in recorded.stderr


PRUNED_FIRST = """
import torch
model = torch.nn.Linear(4, 3)
for i in range(%d):
    with torch.profiler.record_function("score"):
        model(torch.ones(2, 4)).sum().backward()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(8):
    with torch.profiler.record_function("train"):
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
"""


@pytest.mark.parametrize("schedule", [[], ["--schedule", "wait=0,warmup=0,active=2"]])
@pytest.mark.parametrize("passes", [1, 4, 30])
def test_backward_passes_before_an_optimizer_is_made_are_no_steps(record, passes, schedule):
    """As where weights are scored by their gradients before the training."""
    recorded, (trace,) = record(PRUNED_FIRST % passes, *schedule)
    assert step_numbers(trace) == ([1, 2] if schedule else [2, 3, 4])
    assert set(names(trace, "user_annotation")) >= {"train", "Optimizer.step#SGD.step"}
    assert "score" not in names(trace, "user_annotation")
    assert "each backward pass counts as a step" not in recorded.stderr


def test_samples_are_counted_where_a_sampler_repeats_the_batches_of_another(record):
    path = pathlib.Path(__file__).with_name("scripts") / "loaders.py"
    _, (trace,) = record(f"import runpy, sys; sys.argv.append('repeated'); runpy.run_path({str(path)!r}, run_name='__main__')")
    assert step_numbers(trace) == [2, 3, 4]
    assert trace["redline"]["samples_per_step"] == 16

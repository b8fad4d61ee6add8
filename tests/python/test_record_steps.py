"""What redline record takes for a step: with and without an optimizer, in training, inference and evaluation."""

import json

import pytest
from recording import FETCH, names, slices, step_numbers

pytestmark = pytest.mark.usefixtures("no_process_left")


def test_set_up_is_no_part_of_a_first_step_that_is_recorded(record, python, script):
    set_up = """
import torch, torch.utils.data
for i in range(100):
    with torch.profiler.record_function("set-up"):
        torch.ones(1000).sum()
loader = torch.utils.data.DataLoader(torch.ones(8, 4), batch_size=2, shuffle=True)
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in loader:
    model(batch).sum().backward()
    optimizer.step()
"""
    _, (trace,) = record([python, script(set_up)], "--schedule", "wait=0,warmup=0,active=2")
    assert step_numbers(trace) == [0, 1]
    (first,) = [event for event in slices(trace) if event["name"] == "ProfilerStep#0"]
    before = [event for event in slices(trace) if event["name"] == "set-up"]
    assert len(before) == 100
    assert max(event["ts"] + event["dur"] for event in before) <= first["ts"]
    fetches = [event for event in slices(trace) if "DataLoader" in event["name"]]
    assert first["ts"] <= min(event["ts"] for event in fetches)


def test_batches_of_an_evaluation_are_no_samples(record, python, script):
    text = """
import torch, torch.utils.data
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in torch.utils.data.DataLoader(torch.ones(48, 4), batch_size=8, shuffle=True):
    model(batch).sum().backward()
    optimizer.step()
    with torch.no_grad():
        for batch in torch.utils.data.DataLoader(torch.ones(64, 4), batch_size=32):
            model(batch)
"""
    _, (trace,) = record([python, script(text)])
    assert trace["redline"]["samples_per_step"] == 8


def test_a_job_without_optimizer_is_recorded_whole(record, python, script):
    text = """
import torch
with torch.no_grad():
    for batch in range(3):
        torch.nn.Linear(4, 3)(torch.ones(2, 4))
"""
    recorded, (trace,) = record([python, script(text)])
    assert names(trace, "cpu_op")["aten::linear"] == 3
    assert step_numbers(trace) == []
    assert "no training step was seen" in recorded.stderr


# Of a busy machine, too, the time must be enough for all batches.
INFERS = """
import sys, torch
from redline import _automatic
from torch.utils.data import DataLoader
_automatic._SECONDS_OF_BATCHES = 3600.0
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
def infer(batches):
    model.eval()
    loader = DataLoader(torch.ones(8 * batches, 4), batch_size=8)
    if sys.argv[1] == "around":
        with torch.inference_mode():
            for batch in loader:
                model(batch)
    elif sys.argv[1] == "inside":
        for batch in loader:
            with torch.no_grad():
                model(batch)
    else:
        for batch in loader:
            model(batch)
def train(steps):
    model.train()
    for batch in DataLoader(torch.ones(16 * steps, 4), batch_size=16, shuffle=True):
        model(batch).sum().backward()
        optimizer.step()
def make_optimizer():
    return torch.optim.SGD(model.parameters(), lr=0.1)
"""


@pytest.mark.parametrize("how", ["around", "inside", "eval"])
def test_without_training_a_batch_is_a_step(record, python, script, how):
    recorded, (trace,) = record([python, script(INFERS + "infer(12)"), how])
    assert step_numbers(trace) == list(range(2, 12))
    assert (trace["redline"]["samples_per_step"], trace["redline"]["inference"]) == (8, True)
    assert names(trace, "user_annotation")[FETCH("SingleProcess")] == 11  # with the call that ends the loader
    assert "redline: the command" not in recorded.stderr


def test_no_more_batches_are_recorded_than_the_time_has_room_for(record, python, script):
    text = INFERS.replace("3600.0", "0.0") + "infer(12)"
    _, (trace,) = record([python, script(text), "around"])
    assert step_numbers(trace) == [2, 3, 4]


def test_a_schedule_that_is_given_holds_for_batches(record, python, script):
    _, cycles = record([python, script(INFERS + "infer(12)"), "around"], "--schedule", "active=3,repeat=2")
    assert sorted(map(step_numbers, cycles)) == [[2, 3, 4], [7, 8, 9]]


def test_a_short_inference_is_recorded_whole(record, python, script):
    recorded, (trace,) = record([python, script(INFERS + "infer(1)"), "around"])
    assert step_numbers(trace) == [0]
    assert trace["redline"]["inference"]
    assert "only 1 batch of inference was seen: the trace holds the whole run" in recorded.stderr


def test_what_lies_between_two_passes_is_in_no_batch(record, python, script):
    between = """
infer(4)
with torch.profiler.record_function("between"):
    torch.ones(1000).sum()
infer(4)
"""
    _, (trace,) = record([python, script(INFERS + between), "around"])
    steps = [event for event in slices(trace) if event["name"].startswith("ProfilerStep#")]
    (gap,) = [event for event in slices(trace) if event["name"] == "between"]
    assert len(steps) == 6
    assert not any(step["ts"] < gap["ts"] < step["ts"] + step["dur"] for step in steps)


@pytest.mark.parametrize(("text", "schedule", "steps"), [
    ("infer(12); optimizer = make_optimizer(); train(8)", "wait=1,warmup=1,active=3", [2, 3, 4]),
    pytest.param("infer(12); optimizer = make_optimizer(); train(8)", "wait=0,warmup=0,active=3", [0, 1, 2], marks=pytest.mark.long),
    ("infer(1); optimizer = make_optimizer(); train(8)", "wait=0,warmup=0,active=3", [0, 1, 2]),
    pytest.param("optimizer = make_optimizer(); infer(2); train(8)", "wait=1,warmup=1,active=3", [2, 3, 4], marks=pytest.mark.long),
    # The first step had begun before anything showed that the program trains.
    ("optimizer = make_optimizer(); infer(2); train(8)", "wait=0,warmup=0,active=3", [1, 2, 3]),
])
def test_an_evaluation_before_the_training_is_forgotten(record, python, script, text, schedule, steps):
    _, (trace,) = record([python, script(INFERS + text), "around"], "--schedule", schedule)
    assert step_numbers(trace) == steps
    assert trace["redline"]["samples_per_step"] == 16
    assert "inference" not in trace["redline"]


def test_a_script_that_only_makes_an_optimizer_infers(record, python, script):
    _, (trace,) = record([python, script(INFERS + "optimizer = make_optimizer(); infer(12)"), "around"])
    assert step_numbers(trace) == list(range(2, 12))


def test_gradients_in_a_model_that_evaluates_are_no_inference(record, python, script):
    text = """
model.eval()
for batch in DataLoader(torch.ones(64, 4), batch_size=8):
    torch.autograd.grad(model(batch).sum(), list(model.parameters()))
"""
    recorded, (trace,) = record([python, script(INFERS + text), "eval"])
    assert step_numbers(trace) == []
    assert "no training step was seen" in recorded.stderr


def test_gradients_of_an_iterator_of_parameters_are_all_there(record, python, script):
    path = script("""
import torch
model = torch.nn.Linear(2, 2)
for _ in range(3):
    print(*(tuple(gradient.shape) for gradient in torch.autograd.grad(model(torch.ones(1, 2)).sum(), model.parameters())))
""")
    recorded, _ = record([python, path])
    assert set(recorded.stdout.splitlines()) == {"(2, 2) (2,)"}


TWO_OPTIMIZERS = """
import torch
generator, critic = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
step_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
step_generator = torch.optim.Adam(generator.parameters(), lr=0.1)
for iteration in range(8):
    for part in range(3):
        critic(generator(torch.ones(4, 2)).detach()).sum().backward()
    step_critic.step()
    critic(generator(torch.ones(4, 2))).sum().backward()
    step_generator.step()
"""


def test_two_optimizers_and_accumulation_are_one_step_an_iteration(record, python, script):
    _, (trace,) = record([python, script(TWO_OPTIMIZERS)])
    assert step_numbers(trace) == [2, 3, 4]
    assert names(trace, "user_annotation")["Optimizer.step#SGD.step"] == 3
    assert names(trace, "user_annotation")["Optimizer.step#Adam.step"] == 3


OWN_PROFILER = """
import torch
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
schedule = torch.profiler.schedule(wait=0, warmup=1, active=20)
with torch.profiler.profile(schedule=schedule) as profiler:
    for step in range(8):
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
        profiler.step()
profiler.export_chrome_trace("own.json")
"""


def test_a_script_with_torch_profiler_keeps_it_and_its_steps(record, python, script, tmp_path):
    _, (trace,) = record([python, script(OWN_PROFILER)])
    assert step_numbers(trace) == [2, 3, 4]
    own = json.loads((tmp_path / "own.json").read_text())
    assert step_numbers(own) == list(range(1, 9))


def test_steps_after_the_last_call_of_a_profilers_step_are_recorded(record, python, script):
    text = """
import torch
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with torch.profiler.profile(schedule=torch.profiler.schedule(wait=1, warmup=0, active=1, repeat=1)) as profiler:
    for number in range(12):
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
        if number < 4:
            profiler.step()
"""
    _, (trace,) = record([python, script(text)], "--schedule", "wait=6,warmup=0,active=2,repeat=1")
    assert step_numbers(trace) == [6, 7]


def test_a_profiler_that_is_never_stepped_leaves_the_optimizer_in_charge(record, python, script):
    """Tutorials call step() behind the block."""
    text = OWN_PROFILER.replace("        profiler.step()\n", "").replace("wait=0, warmup=1, active=20", "wait=1")
    text = text.replace('profiler.export_chrome_trace("own.json")', "profiler.step()")
    text = text.replace("wait=1", "wait=1, warmup=1, active=2")
    _, (trace,) = record([python, script(text)])
    assert step_numbers(trace) == [2, 3, 4]
    assert names(trace, "user_annotation")["Optimizer.step#SGD.step"] == 3


def test_a_script_with_redline_profile_has_the_recorder_to_itself(record, python, script, tmp_path):
    text = """
import torch
from redline import profile
torch.nn.Linear(2, 2)(torch.ones(2))
with profile() as profiler:
    torch.ones(2) + 1
profiler.export_chrome_trace("own.json")
"""
    recorded, none = record([python, script(text)])
    assert none == []
    assert "the script records itself with redline.profile" in recorded.stderr
    assert names(json.loads((tmp_path / "own.json").read_text()), "cpu_op")["aten::add"] == 1

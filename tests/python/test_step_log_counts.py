"""What counts as a step of the step log, as its samples, and as an evaluation."""

import json
import pathlib

import pytest
import step_logs
from recording import load

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


def test_a_sampler_that_gives_more_than_its_length_is_counted_batch_by_batch(log_of):
    _, log = log_of("-c", SAMPLER_WITHOUT_END)
    assert [step["samples"] for step in log.steps] == [4] * 7


@pytest.mark.parametrize(("calls", "evaluations", "steps"), [(3, 100, 3), (1, 10_003, 5)], ids=["many", "one"])
def test_evaluations_within_a_step_are_no_steps_until_they_are_all_that_shows(log_of, calls, evaluations, steps):
    script = f"""
import torch
class Optimizer(torch.optim.SGD):  # evaluates as often as torch.optim.LBFGS may
    def step(self, closure):
        for _ in range({evaluations}):
            closure()
weight = torch.ones(1, requires_grad=True)
optimizer = Optimizer([weight], 0.1)
for _ in range({calls}):
    optimizer.step(lambda: (weight * weight).sum().backward())
"""
    _, log = log_of("-c", script)
    assert len(log.steps) == steps


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


def test_groups_that_are_read_again_for_each_part_of_them_count_once(succeed, program, python, tmp_path):
    succeed([program("redline"), "record", "-o", tmp_path, "--schedule", "active=3", "--", python, "-c",
             GROUPS_READ_AGAIN])
    assert [step["samples"] for step in step_logs.read(tmp_path / "rank0.steps.redline").steps] == [16] * 4
    (trace,) = tmp_path.glob("*.json.gz")
    assert load(trace)["redline"]["samples_per_step"] == 16


OWN_LOADERS = """
import torch
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

class Buckets:  # as scripts write it, without batch_size
    def __iter__(self):
        return (list(range(begin, min(begin + 24, 228))) for begin in range(0, 228, 24))

class Parts(IterableDataset):
    def __iter__(self):
        return iter(torch.ones(228, 2).split(24))

def steps(loader, accumulated=1):
    for number, batch in enumerate(loader):
        model(batch).sum().backward()
        if number % accumulated == accumulated - 1:
            optimizer.step()
            with torch.no_grad():
                for batch in DataLoader(data, batch_sampler=[[0, 1, 2]] * 4):
                    model(batch)

data, model = torch.ones(228, 2), torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
WAY
"""


@pytest.mark.parametrize(("way", "samples"), [
    ("steps(DataLoader(data, batch_sampler=Buckets()))", [24] * 9 + [12]),
    ("steps(DataLoader(data, batch_sampler=Buckets(), num_workers=2), accumulated=2)", [48] * 4 + [36]),
    ("steps(DataLoader(Parts(), batch_size=None))", [24] * 9 + [12]),
    ("steps(map(torch.cat, zip(*[DataLoader(data, batch_sampler=Buckets())] * 2)))", None),
], ids=["own batch sampler", "accumulation, workers", "data set makes batches", "two passes side by side"])
def test_a_trace_counts_batches_whose_size_no_sampler_tells(succeed, program, python, tmp_path, way, samples):
    script = OWN_LOADERS.replace("WAY", way)
    succeed([program("redline"), "record", "-o", tmp_path, "--", python, "-c", script])
    (trace,) = tmp_path.glob("*.json.gz")
    assert load(trace)["redline"].get("samples_per_step") == (48 if samples is None else samples[2])
    logged = [step["samples"] for step in step_logs.read(tmp_path / "rank0.steps.redline").steps]
    assert samples is None or logged == samples


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
def evaluate(batches=None):
    for batch, in batches or one_ahead(loader(7)):
        model(batch)

def looked_at(batches, mode=True):  # as open_clip's --accum-freq, before it trains on several
    for batch in batches:
        with torch.no_grad():
            model.train(mode)(batch[0])
        model.train()
        yield batch

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
    ("COUNT = 2; steps(looked_at(loader(24)))", [4, 8, 8], 0),
    ("COUNT = 2; steps(looked_at(one_ahead(loader(24))))", [4, 8, 4], 0),
    ("COUNT = 2; steps(looked_at(loader(24), mode=False))", [4, 4, 4], 0),
    ("steps(data); evaluate(data); steps(data)", [4, 4, 4, 2] * 2, 2),
], ids=["one ahead", "two at once", "three at once, one ahead", "two loaders", "skipped", "statistics first",
        "broken off", "evaluation between", "looked at", "looked at, one ahead", "evaluated in the pass of training",
        "evaluated in a pass between"])
def test_each_step_has_the_samples_that_it_trained_on(log_of, way, samples, epochs):
    script = WAYS_TO_READ.replace("WAY", way)
    _, log = log_of("-c", script)
    assert [step["samples"] for step in log.steps] == samples
    assert [text for kind, text in log.marks if kind == "epoch"] == [str(n + 1) for n in range(epochs)]


def test_a_loader_that_is_none_of_torchs_is_counted(log_of):
    """Its first step holds what the model was called with before, on the device "meta"."""
    _, log = log_of(pathlib.Path(__file__).with_name("scripts") / "own_loader.py")
    assert [step["samples"] for step in log.steps][1:] == [16] * 119


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
def test_a_backward_pass_is_a_step_where_no_optimizer_will_step(
    succeed, program, python, tmp_path, optimizer, fork, update, steps
):
    text = BY_HAND.format(optimizer=optimizer, fork=fork, update=update)
    succeed([program("redline"), "run", "--log", tmp_path, "--", python, "-c", text])
    (log,) = tmp_path.glob("*.steps.redline")
    assert len(step_logs.read(log).steps) == steps


CLIENTS = """
import torch
kept = []
for client in range(6):
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    if {keeps}:
        kept.append(optimizer)
    for step in range({steps}):
        model(torch.ones(3, 4)).sum().backward()
        optimizer.step()
    del model, optimizer  # the next optimizer may have its address
"""


@pytest.mark.parametrize("keeps", [True, False], ids=["kept", "gone"])
@pytest.mark.parametrize("steps", [1, 2, 4])
def test_each_client_may_have_a_new_optimizer(log_of, steps, keeps):
    _, log = log_of("-c", CLIENTS.format(keeps=keeps, steps=steps))
    assert len(log.steps) == 6 * steps


MADE_LATER = """
import torch

def optimizer_of(model):
    return model, torch.optim.SGD(model.parameters(), 0.1)

def step(model, optimizer):
    model(torch.ones(3, 4)).sum().backward()
    optimizer.step()

trained = [optimizer_of(torch.nn.Linear(4, 2))]
for number in range(12):
    if number == 4:
        trained.append(optimizer_of(torch.nn.Linear(4, 2)))
    if number == 8:
        trained[0][1].load_state_dict(trained[0][1].state_dict())
    for each in trained:
        step(*each)
"""


def test_an_optimizer_that_joins_the_leader_makes_no_steps_of_its_own(log_of):
    _, log = log_of("-c", MADE_LATER)
    assert len(log.steps) == 12


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
def test_an_evaluation_before_the_training_is_no_step(log_of, run, program, tmp_path, made, evaluated):
    script = f"MADE, EVALUATED = {made!r}, {evaluated}\n{EVALUATED_BEFORE}"
    done, log = log_of("-c", script)
    report = json.loads(run([program("redline"), "report", "--format", "json", tmp_path / "logs"]).stdout)["run"]
    figures = json.loads(run([program("redline"), "report", "--format", "summary", tmp_path / "logs"]).stdout)
    assert report["steps"] == figures["redline/steps"] == 12
    assert figures["redline/samples_per_s"] / figures["redline/steps_per_s"] == pytest.approx(4)
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
def test_an_evaluation_without_a_loader_is_no_forward_of_training(log_of, before, evaluated):
    script = WITHOUT_LOADER.format(before=before)
    _, log = log_of("-c", script)
    assert [step["step"] for step in log.steps if step["evaluation"]] == evaluated
    assert all(step["forward"] for step in log.steps)


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


def test_the_start_of_a_loaders_workers_is_a_wait_for_data(log_of):
    _, log = log_of("-c", WORKERS_FOR_EACH_EPOCH)
    assert [step["samples"] for step in log.steps] == [4] * 8
    assert log.steps[4]["data_wait"] >= 1_000_000

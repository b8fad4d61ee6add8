"""Scripts that use torch in rarer ways train under knobs as they do without them, and are measured."""

import pytest
from knob_runs import of_type, seen_knobs

TRAINING = """
import torch
from torch import nn
from torch.nn.functional import mse_loss
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
inputs, targets = torch.randn(32, 8), torch.randn(32, 1)
def loss_of(rows): return mse_loss(model(inputs[rows]), targets[rows])
"""


@pytest.fixture
def script(with_knobs, tmp_path):
    """script(knobs, source, check=True) runs a script with that source as a trial."""

    def run(knobs, source, **options):
        path = tmp_path / "script.py"
        path.write_text(TRAINING + source)
        return with_knobs(knobs, path, trial=True, **options)

    return run


@pytest.mark.parametrize("knobs", [{}, {"tf32": "on"}])
def test_tf32_by_its_new_name(script, knobs):
    source = "torch.backends.cuda.matmul.fp32_precision = 'tf32'\nloss_of([0, 1]).backward()\noptimizer.step()\n"
    done = script(knobs, source)
    assert seen_knobs(done)["num_threads"] == "1"
    assert not of_type(done, "failure")


@pytest.mark.parametrize("layout", [{}, {"channels_last": "on"}])
def test_lazy_layers(script, layout):
    source = """
model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.LazyLinear(1))
for step in range(2):
    loss = model(torch.randn(2, 3, 8, 8)).sum()
    if step == 0:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss.backward()
    optimizer.step()
print(model[0].weight.is_contiguous(memory_format=torch.channels_last))
"""
    done = script(layout, source)
    assert seen_knobs(done)["num_threads"] == "1"
    assert done.stdout == f"{bool(layout)}\n"


def test_images_and_volumes_in_one_model(script):
    source = """
model = nn.Sequential(nn.Conv3d(3, 4, (2, 3, 3)), nn.Flatten(1, 2), nn.Conv2d(4, 1, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    model(torch.randn(2, 3, 2, 8, 8)).sum().backward()
    optimizer.step()
print(model[2].weight.is_contiguous(memory_format=torch.channels_last), model[0].weight.is_contiguous())
"""
    assert script({"channels_last": "on"}, source).stdout == "True True\n"


ARGUMENTS = """
import io
class Unnamed(io.BytesIO):
    @property
    def name(self):
        raise NotImplementedError
class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 1)
    def forward(self, *, module, call, samples, model):
        return self.layer(module + call + samples + model).mean()
named = Named()
optimizer = torch.optim.SGD(named.parameters(), lr=0.1)
for step in range(4):
    named(**dict.fromkeys(["module", "call", "samples", "model"], torch.ones(4, 8))).backward()
    optimizer.step()
torch.save(named.state_dict(), Unnamed())
named.compile(backend="eager")
torch.compile(named, backend="eager")(**dict.fromkeys(["module", "call", "samples", "model"], torch.ones(4, 8)))
print("done")
"""


def test_arguments_of_any_name(script):
    assert script({"amp": "bf16"}, ARGUMENTS).stdout == "done\n"


@pytest.mark.parametrize("command", [["record", "-o"], ["run", "--log"]])
def test_arguments_of_any_name_are_recorded(succeed, program, python, tmp_path, command):
    path = tmp_path / "script.py"
    path.write_text(TRAINING + ARGUMENTS)
    done = succeed([program("redline"), *command, tmp_path / "out", "--", python, path])
    assert "done" in done.stdout, done.stderr
    assert "TypeError" not in done.stderr


@pytest.mark.parametrize("call", ["step(closure)", "step(closure=closure)"])
def test_fp16_and_a_closure(script, call):
    source = """
def closure():
    optimizer.zero_grad()
    loss = loss_of(slice(0, 32))
    loss.backward()
    return loss
for _ in range(6):
    {call}
print([float(weight) for weight in model[0].weight.flatten()])
"""
    with_closure, without = (
        script({"amp": "fp16"}, source.format(call=call)).stdout
        for call in (f"optimizer.{call}", "closure(); optimizer.step()")
    )
    assert with_closure == without


def test_a_model_in_eval_mode_is_part_of_the_loss(script):
    source = """
judge = nn.Linear(1, 4).eval().requires_grad_(False)
made = model(inputs)
seen = judge(made)
print(torch.is_autocast_enabled("cpu"))
mse_loss(judge(model(inputs)), seen.detach()).backward()
print(torch.is_autocast_enabled("cpu"))
with torch.no_grad():
    judge(targets)
print(torch.is_autocast_enabled("cpu"))
"""
    assert script({"amp": "bf16"}, source).stdout.split() == ["True", "False", "False"]


def test_a_step_without_a_closure_that_says_so(script):
    source = """
for begin in range(0, 32, 8):
    loss_of(slice(begin, begin + 8)).backward()
    optimizer.step(None)
    optimizer.zero_grad()
"""
    done = script({"accumulation": 2}, source)
    assert not of_type(done, "note")
    assert of_type(done, "step")[-1]["steps"] == 2


STREAM = """
class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter(range(8))
rows = [int(row) for batch in torch.utils.data.DataLoader(Stream(), 4, num_workers={own}) for row in batch]
loss_of(rows).backward()
optimizer.step()
"""


@pytest.mark.parametrize(("own", "wanted", "given"), [(0, 2, 0), (1, 2, 1), (0, 1, 1)])
def test_no_worker_yields_a_streams_data_again(script, own, wanted, given):
    done = script({"num_workers": wanted}, STREAM.format(own=own))
    assert of_type(done, "step")[-1]["samples"] == 8
    assert seen_knobs(done)["num_workers"] == str(given)
    (limit,) = [report for report in of_type(done, "unused") if "num_workers" in report["knobs"]]
    assert (limit["above"], limit["why"]) == (1, "each worker of an IterableDataset may yield all of it")


def test_the_batch_size_is_told_before_memory_runs_out(script):
    source = """
next(iter(torch.utils.data.DataLoader(inputs, 24, shuffle=True)))
model.register_forward_hook(lambda *_: bytes(1 << 62))
loss_of([0, 1])
"""
    done = script({}, source, check=False)
    assert of_type(done, "failure")[0]["kind"] == "host_oom"
    assert seen_knobs(done)["batch_size"] == "24"


def test_a_batch_that_was_fetched_ahead_is_no_accumulation(script):
    source = """
batches = iter(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(inputs, targets), 8, shuffle=True))
batch = next(batches)
while batch:
    ahead = next(batches, None)
    mse_loss(model(batch[0]), batch[1]).backward()
    optimizer.step()
    batch = ahead
"""
    assert seen_knobs(script({}, source))["accumulation"] == "1"


# As litgpt does before it trains.
def test_a_model_without_data_whose_operations_are_counted_trains_nothing(script):
    source = """
from torch.utils.flop_counter import FlopCounterMode
with torch.device("meta"), FlopCounterMode(display=False):
    copy = nn.Embedding(5, 4)
    copy(torch.zeros(3, 7, dtype=torch.long)).sum().backward()
for batch in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(inputs, targets), 8):
    mse_loss(model(batch[0]), batch[1]).backward()
    optimizer.step()
    optimizer.zero_grad()
"""
    done = script({}, source)
    assert not of_type(done, "failure")
    assert [of_type(done, "step")[-1][name] for name in ("steps", "samples")] == [4, 32]
    assert seen_knobs(done)["accumulation"] == "1"


def test_an_epoch_is_that_of_the_loader_that_is_trained_on(script):
    source = """
def loader(rows, size):
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(inputs[:rows], targets[:rows]), size, shuffle=True)
for number, batch in enumerate(loader(32, 8)):
    mse_loss(model(batch[0]), batch[1]).backward()
    optimizer.step()
    optimizer.zero_grad()
    if number == 1:
        model.eval()
        for batch in loader(12, 4):  # whose author forgot no_grad()
            model(batch[0])
        model.train()
"""
    last = of_type(script({}, source), "step")[-1]
    assert [last[name] for name in ("steps", "samples", "epoch")] == [4, 32, 32]


def test_an_evaluation_after_a_batch_without_a_step(script):
    source = """
data = torch.utils.data.TensorDataset(inputs, targets)
for epoch in range(2):
    for number, batch in enumerate(torch.utils.data.DataLoader(data, 11, shuffle=True)):
        mse_loss(model(batch[0]), batch[1]).backward()
        if number == 1:
            optimizer.step()
    with torch.no_grad():
        for batch in torch.utils.data.DataLoader(data, 11):
            model(batch[0])
"""
    assert of_type(script({}, source), "step")[-1]["evaluation"] > 0

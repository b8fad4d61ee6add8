"""Knobs and hooks leave alone what a script decides itself, also where it does so late, within a backward pass, or by
several optimizers."""

import pytest
import step_logs
from knob_runs import of_type, seen_knobs
from recording import import_redline


@pytest.fixture
def trial(with_knobs, tmp_path):
    """trial(knobs, text): the trial of a job with this text."""

    def run(knobs, text):
        job = tmp_path / "job.py"
        job.write_text("import torch\nfrom torch.utils.data import DataLoader\n" + text)
        return with_knobs(knobs, job, trial=True)

    return run


def unused(done):
    return {knob: report["why"] for report in of_type(done, "unused") for knob in report["knobs"]}


def test_a_loader_keeps_what_the_script_set_later(trial):
    done = trial({"batch_size": 4}, """
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
loader = DataLoader([torch.ones(2)] * 12, batch_size=2)
loader.collate_fn = lambda samples: torch.stack(samples) + 1
loader.num_workers = 1
loader.prefetch_factor = 3
for batch in loader:
    assert float(batch.max()) == 2, "collated by the script"
    model(batch).sum().backward()
    optimizer.step()
print("last", len(batch), loader.num_workers, loader.prefetch_factor)
""")
    assert done.stdout == "last 4 1 3\n"


def test_a_loader_and_its_workers_end_when_the_script_drops_it(trial):
    done = trial({"num_workers": 1, "persistent_workers": True}, """
import gc, multiprocessing
gc.disable()
model = torch.nn.Linear(2, 1)
loader = DataLoader(torch.ones(4, 2), batch_size=2, shuffle=True)
for batch in loader:
    model(batch).sum().backward()
print(len(multiprocessing.active_children()))
del loader
print(len(multiprocessing.active_children()))
""")
    assert done.stdout.split() == ["1", "0"]


PRODUCT = """
found = []


class Product(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, gradient):
        x, w = ctx.saved_tensors
        found.append((gradient @ w.T).dtype)
        return gradient @ w.T, x.T @ gradient
"""


def test_what_runs_without_autocast_forward_runs_so_backward(trial):
    done = trial({"amp": "bf16"}, PRODUCT + """

class Model(torch.nn.Linear):
    def forward(self, x):
        return Product.apply(super().forward(x), self.weight)


model = Model(2, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for batch in DataLoader(torch.ones(8, 2), batch_size=4):
    model(batch).sum().backward()
    optimizer.step()
print(*set(found))
""")
    assert done.stdout == "torch.float32\n"
    assert seen_knobs(done)["amp"] == "bf16"


@pytest.mark.parametrize(("knob", "fused"), [("foreach", True), ("fused", False)])
def test_another_implementation_goes_with_the_scripts_scaler(trial, knob, fused):
    done = trial({"optimizer": knob}, f"""
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.AdamW(model.parameters(), fused={fused})
scaler = torch.amp.GradScaler("cpu")
for batch in DataLoader(torch.ones(12, 2), batch_size=4):
    scaler.scale(model(batch).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
print(float(model.weight[0, 0]) != 0, optimizer._step_supports_amp_scaling)
""")
    assert done.stdout == f"True {not fused}\n"
    assert seen_knobs(done)["optimizer"] == knob


TWO_OPTIMIZERS = """
class Own(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 0.1})

    def step(self):
        pass


model = torch.nn.Linear(2, 1)
optimizers = [Own([model.bias]), torch.optim.AdamW([model.weight])]
for batch in DataLoader(torch.ones(16, 2), batch_size=4):
    model(batch).sum().backward()
    for optimizer in optimizers:
        optimizer.step()
    model.zero_grad()
"""


def test_one_of_two_optimizers_may_take_the_knobs(trial):
    done = trial({"optimizer": "foreach", "zero_grad": "zero"}, TWO_OPTIMIZERS)
    assert not {"optimizer", "zero_grad"} & set(unused(done))
    assert (seen_knobs(done)["optimizer"], seen_knobs(done)["zero_grad"]) == ("foreach", "zero")
    done = trial({"optimizer": "foreach"}, TWO_OPTIMIZERS.replace("torch.optim.AdamW([model.weight])", "Own([model.weight])")
                 .replace("    model.zero_grad()\n", ""))
    assert unused(done)["optimizer"] == "Own has one implementation"
    assert unused(done)["zero_grad"] == "no zero_grad is called"
    assert seen_knobs(done)["optimizer"] == "default"


def test_an_optimizer_that_the_knob_holds_back_is_one(trial):
    done = trial({"accumulation": 70}, """
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for batch in DataLoader(torch.ones(210, 2), batch_size=1):
    model(batch).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
""")
    assert "accumulation" not in unused(done)
    assert seen_knobs(done)["accumulation"] == "70"


@pytest.mark.parametrize("clear", ["parameter.grad = None", "parameter.grad.zero_()"])
def test_a_script_that_clears_gradients_by_hand_accumulates_none(trial, clear):
    done = trial({"accumulation": 2}, f"""
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.5)
for batch in DataLoader(torch.ones(6, 2), batch_size=1):
    before = float(model.bias[0])
    model(batch).sum().backward()
    optimizer.step()
    print(before - float(model.bias[0]))
    for parameter in model.parameters():
        {clear}
""")
    assert unused(done)["accumulation"] == "the script clears or changes gradients itself after each batch"
    first, *others = map(float, done.stdout.split())
    assert first == 0 and others == pytest.approx([0.5] * 5)


def test_an_optimizer_that_steps_once_for_each_group_has_one_step(trial):
    """So does DeepSpeed."""
    done = trial({"accumulation": 2}, """
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD([{"params": [model.weight]}, {"params": [model.bias]}], 0.5)
groups = optimizer.param_groups
for batch in DataLoader(torch.ones(12, 2), batch_size=1):
    model(batch).sum().backward()
    for group in groups:
        optimizer.param_groups = [group]
        optimizer.step()
    optimizer.param_groups = groups
    optimizer.zero_grad()
    print(float(model.bias[0]))
""")
    assert "accumulation" not in unused(done)
    first, *others, last = map(float, done.stdout.split())
    assert first - last == pytest.approx(0.5 * 6)  # the bias is updated in each of six steps
    assert of_type(done, "step")[-1]["steps"] == 6


def test_an_accumulation_goes_on_with_the_optimizer_of_the_next_phase(trial):
    done = trial({"accumulation": 4}, """
model = torch.nn.Linear(2, 1)
for phase in range(2):
    optimizer = torch.optim.SGD(model.parameters(), 0.5)
    for batch in DataLoader(torch.ones(16, 2), batch_size=1):
        before = float(model.bias[0])
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()
        print(float(model.bias[0]) != before)
""")
    assert "accumulation" not in unused(done)
    assert done.stdout.split().count("True") == 8


def test_a_schedule_that_counts_batches_is_pointed_out_once(with_knobs, tmp_path):
    job = tmp_path / "job.py"
    job.write_text("""
import torch
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.5)
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0, total_iters=8)
for batch in torch.utils.data.DataLoader(torch.ones(8, 2)):
    model(batch).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    scheduler.step()
""")
    done = with_knobs({"accumulation": 2}, job)
    assert done.stderr.count("If the schedule's length is a number of batches, divide it by 2") == 1


OVERFLOWS = """
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.AdamW(model.parameters(), 0.1)
for number, batch in enumerate(DataLoader(torch.ones(8, 2), batch_size=1)):
    before = float(model.bias[0])
    (model(batch) * (1e30 if number == 3 else 1)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    print(float(model.bias[0]) != before)
"""


def test_a_step_that_overflows_changes_nothing_whatever_zero_grad_does(trial):
    moved = trial({"amp": "fp16", "zero_grad": "zero"}, OVERFLOWS).stdout.split()
    assert moved[3] == "False" and moved[-1] == "True"


def test_gradients_are_unscaled_before_any_way_to_clip_them(trial):
    done = trial({"amp": "fp16"}, """
from torch.nn.utils.clip_grad import clip_grad_norm_
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 1.0)
before = float(model.bias[0])
for batch in DataLoader(torch.ones(20, 2), batch_size=1):
    model(batch).sum().backward()
    clip_grad_norm_(model.parameters(), 0.1)
    optimizer.step()
    optimizer.zero_grad()
print(before - float(model.bias[0]))
""")
    assert float(done.stdout) == pytest.approx(20 * 0.1 / 3**0.5, rel=0.2)  # a step or two only find the scale


def test_a_scaler_that_the_script_makes_and_does_not_use_scales_nothing(trial):
    done = trial({"amp": "fp16"}, """
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 1.0)
scaler = torch.amp.GradScaler("cpu")
for batch in DataLoader(torch.ones(8, 2), batch_size=1):
    (model(batch).sum() * 1e-7).backward(gradient=torch.tensor(0.5))
    optimizer.step()
    norm = torch.nn.utils.get_total_norm(tensors=[parameter.grad for parameter in model.parameters()])
    optimizer.zero_grad()
print(float(norm))
""")
    assert float(done.stdout) == pytest.approx(3**0.5 * 0.5e-7, rel=0.1)


def test_autocast_ends_with_what_the_script_puts_into_it(trial):
    done = trial({"amp": "bf16"}, """
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 1.0)
for batch in DataLoader(torch.ones(4, 2), batch_size=1):
    outputs = model(batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        outputs.sum().backward()
    optimizer.step()
    print(outputs.dtype, torch.is_autocast_enabled("cpu"))
""")
    assert set(done.stdout.splitlines()) == {"torch.bfloat16 False"}


def test_a_loss_without_autocast_stays_so_outside_the_model_and_within_its_region(trial):
    done = trial({"amp": "bf16"}, PRODUCT + """

model, weight = torch.nn.Linear(2, 2), torch.nn.Parameter(torch.ones(2, 2))
optimizer = torch.optim.SGD([*model.parameters(), weight], 0.1)
for batch in DataLoader(torch.ones(8, 2), batch_size=2):
    Product.apply(model(batch), weight).sum().backward()
    outputs = model(batch)
    with torch.autocast("cpu", enabled=False):
        product = outputs.float() @ weight
        product.sum().backward()
    optimizer.step()
    print(outputs.dtype, product.dtype, torch.is_autocast_enabled("cpu"))
""")
    assert set(done.stdout.splitlines()) == {"torch.bfloat16 torch.float32 False"}


def test_a_submodel_without_autocast_in_the_scripts_region_stays_so(trial):
    done = trial({"amp": "bf16"}, """
model, head = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], 0.1)
for batch in DataLoader(torch.ones(4, 2), batch_size=2):
    with torch.autocast("cpu", dtype=torch.float16):
        outputs = model(batch)
        with torch.autocast("cpu", enabled=False):
            result = head(outputs.float())
        print(outputs.dtype, result.dtype, torch.is_autocast_enabled("cpu"))
    result.sum().backward()
    optimizer.step()
    print(torch.is_autocast_enabled("cpu"))
""")
    assert set(done.stdout.splitlines()) == {"torch.bfloat16 torch.float32 True", "False"}


def test_a_state_of_another_format_is_laid_out_as_its_weights(trial):
    """A fused optimizer on the CPU goes through both in memory's order."""
    text = """
def training(steps, resumed=None):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten(), torch.nn.Linear(4, 1))
    optimizer = torch.optim.Adam(model.parameters(), 0.1, fused=True)
    if resumed:
        model.load_state_dict(resumed[0])
        optimizer.load_state_dict(resumed[1])
    for batch in DataLoader(torch.randn(steps, 3, 3, 3), batch_size=1):
        model(batch).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return model, optimizer
weights = torch.randn(4, 3, 3, 3)
plain = torch.ones(4, 3, 3, 3).cumsum(0).cumsum(1).cumsum(2)
model, optimizer = training(2)
state = optimizer.state_dict()
state["state"][0]["exp_avg"] = plain.contiguous()
model, optimizer = training(1, (model.state_dict(), state))
moment = optimizer.state[model[0].weight]["exp_avg"]
print(moment.stride() == model[0].weight.stride(), bool(((moment - 0.9 * plain).abs() < 0.5).all()))
"""
    assert trial({"channels_last": True}, text).stdout == "True True\n"


def test_a_later_model_gets_the_knob_though_it_has_the_id_of_an_earlier_one(trial):
    done = trial({"channels_last": True}, """
ids = []
while len(set(ids)) == len(ids):
    assert len(ids) < 1000
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten(), torch.nn.Linear(4, 1))
    ids.append(id(model))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for batch in DataLoader(torch.ones(2, 3, 3, 3), batch_size=1):
        model(batch).sum().backward()
        optimizer.step()
    print(model[0].weight.is_contiguous(memory_format=torch.channels_last))
    del model, optimizer
""")
    assert set(done.stdout.split()) == {"True"}


def test_shards_of_gradients_are_not_scaled_by_each_rank_alone(trial):
    done = trial({"amp": "fp16"}, """
from torch.distributed.fsdp import FullyShardedDataParallel
torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
model = FullyShardedDataParallel(torch.nn.Linear(2, 1), device_id=torch.device("cpu"))
optimizer = torch.optim.SGD(model.parameters(), 1.0)
for batch in DataLoader(torch.ones(4, 2), batch_size=1):
    result = model(batch)
    print(result.dtype)
    result.sum().backward()
    optimizer.step()
    optimizer.zero_grad()
""")
    assert set(done.stdout.split()) == {"torch.float32"}
    assert seen_knobs(done)["amp"] == "off"
    assert [True for note in of_type(done, "note") if note["text"].startswith("amp fp16 not applied")]


def test_a_checkpoint_does_not_undo_the_optimizer_of_the_knob(trial):
    done = trial({"optimizer": "foreach"}, """
model = torch.nn.Linear(2, 1)
saved = torch.optim.SGD(model.parameters(), 0.1).state_dict()
saved["param_groups"][0]["foreach"] = None
optimizer = torch.optim.SGD(model.parameters(), 0.1)
optimizer.load_state_dict(saved)
print(optimizer.param_groups[0]["foreach"], saved["param_groups"][0]["foreach"])
""")
    assert done.stdout.split() == ["True", "None"]


def test_a_script_that_compiles_keeps_its_own_choice(trial):
    done = trial({"compile": False}, """
model = torch.nn.Linear(2, 1)
model.compile(backend="eager")
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for batch in DataLoader(torch.ones(4, 2), batch_size=1):
    model(batch).sum().backward()
    optimizer.step()
""")
    assert unused(done)["compile"] == "the script compiles its model itself"
    assert seen_knobs(done)["compile"] == "on"


def test_what_stands_in_for_autograd_can_be_scripted_and_pickled(trial):
    done = trial({"accumulation": 2, "amp": "fp16"}, """
import pickle
class Force(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        (force,) = torch.autograd.grad([x.square().sum()], [x])
        assert force is not None
        return force
print(torch.jit.script(Force())(torch.ones(1, requires_grad=True)))
assert pickle.loads(pickle.dumps(torch.autograd.backward)) is torch.autograd.backward
""")
    assert done.stdout == "tensor([2.])\n"


REENTRANT = """
import torch
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader
blocks = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(70))


class Model(torch.nn.Module):
    def forward(self, x):
        x.requires_grad_()
        for block in blocks:
            x = checkpoint(block, x, use_reentrant=True)
        return x


model = Model()
optimizer = torch.optim.SGD(blocks.parameters(), 0.1)
for batch in DataLoader(torch.ones(12, 2), batch_size=4):
    model(batch).sum().backward()
    optimizer.step()
"""


def test_backward_passes_within_another_are_no_steps(with_knobs, succeed, program, python, tmp_path):
    job = tmp_path / "job.py"
    job.write_text(REENTRANT)
    succeed([program("redline"), "run", "--log", tmp_path / "logs", "--", python, job])
    log = step_logs.read(tmp_path / "logs" / "rank0.steps.redline")
    assert [step["samples"] for step in log.steps] == [4, 4, 4]
    reports = of_type(with_knobs({}, job, trial=True), "note")
    assert not [report for report in reports if "no optimizer step was seen" in report["text"]]


def test_functions_of_torch_can_be_pickled(succeed, program, python, tmp_path):
    """As by a pool of processes that writes checkpoints."""
    job = tmp_path / "job.py"
    job.write_text("import os, pickle, torch\n"
                   "for function in (torch.save, torch.compile, os._exit):\n"
                   "    assert pickle.loads(pickle.dumps(function)) is function\n")
    succeed([program("redline"), "run", "--log", tmp_path / "logs", "--", python, job])


def test_compilations_are_timed_in_torch_2_6_too():
    """Whose callbacks get no argument."""
    import_redline()
    from redline._compilation_time import CompilationTime

    told = []
    watch = CompilationTime(lambda running, total_ns: told.append(running))
    watch._begin()
    watch._end()
    assert told == [True, False] and watch.total_ns > 0


def test_the_scale_of_fp16_is_gone_after_a_pass_that_contains_others(trial):
    job = REENTRANT.replace("range(70)", "range(2)").replace("model = Model()", "model = Model()\nmodel.blocks = blocks")
    done = trial({"amp": "fp16"}, job + """
    gradients = [parameter.grad for parameter in blocks.parameters()]  # of a step that finds the scale there are none
    print(sum(float(gradient.abs().sum()) for gradient in gradients if gradient is not None) < 100)
    optimizer.zero_grad()
print(max(float(parameter.abs().max()) for parameter in blocks.parameters()) < 10)
""")
    assert set(done.stdout.split()) == {"True"}
    assert seen_knobs(done)["amp"] == "fp16"
    assert not of_type(done, "note")


USES_OF_GRADIENTS = """
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 1.0)
for batch in DataLoader(torch.ones(20, 2), batch_size=1):
    before = float(model.bias[0])
    (model(batch) * 0.25).sum().backward()
    {use}
    print(before - float(model.bias[0]))
"""


@pytest.mark.parametrize("use", [
    "for p in model.parameters(): p.grad.data.clamp_(-1, 1)\n    optimizer.step(); optimizer.zero_grad()",
    "if bool(torch.isfinite(model.bias.grad)): optimizer.step()\n    optimizer.zero_grad()",
    "optimizer.step(); optimizer.zero_grad(set_to_none=False)",
])
def test_a_script_may_use_the_gradients_of_fp16_in_any_way(trial, use):
    done = trial({"amp": "fp16"}, USES_OF_GRADIENTS.format(use=use))
    moves = [round(float(line), 3) for line in done.stdout.split()]
    assert set(moves[:4]) <= {0.0, 0.25}, "a step or two only find the scale"
    assert moves[4:] == [0.25] * 16
    assert seen_knobs(done)["amp"] == "fp16"
    assert not [note for note in of_type(done, "note") if "fp16" in note["text"]]


@pytest.mark.parametrize("sparse", [True, False])
def test_a_script_may_add_up_the_gradients_of_fp16_for_ever(trial, sparse):
    done = trial({"amp": "fp16"}, f"""
model = torch.nn.Embedding(4, 2, sparse={sparse})
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for batch in DataLoader(torch.zeros(5, dtype=torch.int64), batch_size=1):
    model(batch).sum().backward()
    optimizer.step()
    print(float(model.weight.grad.to_dense()[0, 0]))
""")
    assert done.stdout.split() == ["1.0", "2.0", "3.0", "4.0", "5.0"]


@pytest.mark.parametrize(("change", "why"), [
    (("optimizer = torch.optim.SGD(model.parameters(), 1.0)\n", ""), "the script makes no optimizer"),
    (("model.parameters(), 1.0", "[model.bias], 1.0"), "the model has parameters that no optimizer updates"),
    (("\nfor batch", "\nmodel.bias.register_hook(lambda gradient: gradient.clamp(-1, 1))\nfor batch"),
     "the script's hooks take gradients within the backward pass"),
    ((".sum().backward()", ".sum().backward(create_graph=True)"), "the script differentiates gradients"),
])
def test_fp16_is_given_up_before_anything_is_scaled_wrongly(trial, change, why):
    use = "for p in model.parameters(): p.data.add_(p.grad, alpha=-1.0); p.grad = None"
    done = trial({"amp": "fp16"}, USES_OF_GRADIENTS.format(use=use).replace(*change))
    assert [round(float(line), 3) for line in done.stdout.split()] == [0.25] * 20
    assert f"amp fp16 not applied: {why}" in [note["text"] for note in of_type(done, "note")]

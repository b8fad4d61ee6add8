"""Knobs that are set from outside do the same as the script's own flags, and a trial's ranks report correctly."""

import pathlib

import pytest
from knob_runs import of_type, seen_knobs

SCRIPTS = pathlib.Path(__file__).with_name("scripts")
PLAIN = SCRIPTS / "plain_loop.py"


@pytest.fixture(scope="module")
def flagged_output():
    """What PLAIN prints with its own flags; each combination runs only once."""
    return {}


@pytest.mark.parametrize(
    ("knobs", "script_flags", "same_as"),
    [
        ({"batch_size": 16}, [], ["--batch-size", "16"]),
        ({"amp": "bf16"}, [], ["--amp", "bf16"]),
        pytest.param({"amp": "fp16"}, [], ["--amp", "fp16"], marks=pytest.mark.long),
        # the knob wins over the script's flag
        ({"amp": "off"}, ["--amp", "fp16"], []),
        pytest.param({"amp": "bf16"}, ["--amp", "fp16"], ["--amp", "bf16"], marks=pytest.mark.long),
        pytest.param({"amp": "fp16"}, ["--amp", "bf16"], ["--amp", "fp16"], marks=pytest.mark.long),
    ],
)
def test_a_knob_trains_to_the_same_bits_as_the_flag(
    with_knobs, flagged_output, knobs, script_flags, same_as
):
    key = tuple(same_as)
    if key not in flagged_output:
        flagged_output[key] = with_knobs({}, PLAIN, *same_as).stdout
    assert with_knobs(knobs, PLAIN, *script_flags).stdout == flagged_output[key]


def test_workers_can_be_added_and_taken_away(with_knobs):
    alone = with_knobs({"num_workers": 0, "prefetch_factor": 4}, PLAIN).stdout
    helped = with_knobs({"num_workers": 1, "prefetch_factor": 4}, PLAIN, trial=True)
    assert helped.stdout == alone
    seen = seen_knobs(helped)
    assert seen["num_workers"] == "1"
    assert seen["prefetch_factor"] == "4"


def test_a_trial_without_knobs_is_measured_and_shows_the_scripts_own_values(with_knobs):
    done = with_knobs({}, PLAIN, "--steps", "6", "--amp", "bf16", trial=True)
    last = of_type(done, "step")[-1]
    assert (last["rank"], last["world"]) == (0, 1)
    assert (last["steps"], last["samples"]) == (6, 48)
    seen = seen_knobs(done)
    assert seen["batch_size"] == "8"
    assert seen["num_workers"] == "0"
    assert seen["amp"] == "bf16"
    assert not of_type(done, "note")


def test_autocast_that_the_model_begins_itself_is_seen(with_knobs, tmp_path):
    """accelerate and transformers put it into the model's forward."""
    job = tmp_path / "job.py"
    job.write_text("""
import torch
from torch.utils.data import DataLoader
model = torch.nn.Linear(2, 1)
model.forward = torch.autocast("cpu", dtype=torch.bfloat16)(model.forward)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for batch in DataLoader(torch.ones(12, 2), batch_size=4):
    model(batch).sum().backward()
    optimizer.step()
""")
    assert seen_knobs(with_knobs({}, job, trial=True))["amp"] == "bf16"
    assert seen_knobs(with_knobs({"amp": "off"}, job, trial=True))["amp"] == "off"
    text = job.read_text().replace("model(batch).sum().backward()", "with torch.no_grad(): model(batch)")
    job.write_text(text.replace("    optimizer.step()\n", "").replace("optimizer = ", "# "))
    assert seen_knobs(with_knobs({}, job, trial=True))["amp"] == "bf16", "a job of inference"


EVALUATION_MODE = """
import torch
from torch.utils.data import DataLoader
torch.compile = lambda call, **named: call
model, teacher = torch.nn.Linear(2, 1).eval(), torch.nn.Linear(2, 1).eval()
optimizer = torch.optim.AdamW(model.parameters())
for batch in DataLoader(torch.ones(12, 2), batch_size=4):
    teacher(batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(batch).sum()
    loss.backward()
    optimizer.step()
print(*(one._compiled_call_impl is not None for one in (model, teacher)))
"""


def test_a_model_may_train_in_evaluation_mode(with_knobs, script):
    """As transformers' from_pretrained() gives it."""
    done = with_knobs({"compile": "on"}, script(EVALUATION_MODE), trial=True)
    assert done.stdout == "True False\n"
    assert (seen_knobs(done)["amp"], seen_knobs(done)["compile"]) == ("bf16", "on")
    (unused,) = [report for report in of_type(done, "unused") if "checkpointing" in report["knobs"]]
    assert unused["why"] == "the model trains in evaluation mode, without activation checkpointing"
    job = EVALUATION_MODE.replace("in DataLoader(torch.ones(12, 2), batch_size=4)", "in torch.ones(3, 4, 2)")
    last = of_type(with_knobs({}, script(job), trial=True), "step")[-1]
    assert (last["steps"], last["samples"]) == (3, 12), "without a loader"


def test_an_evaluation_with_gradients_before_the_training_does_not_count(with_knobs, script):
    job = EVALUATION_MODE.replace("\nfor ", "\nmodel(torch.ones(100, 2))\nmodel.train()\nfor ")
    job = job.replace("in DataLoader(torch.ones(12, 2), batch_size=4)", "in torch.ones(3, 4, 2)")
    last = of_type(with_knobs({}, script(job), trial=True), "step")[-1]
    assert (last["steps"], last["samples"]) == (3, 12)


def test_a_step_of_accumulated_batches_is_one_step_of_all_their_samples(with_knobs):
    done = with_knobs({"batch_size": 4}, PLAIN, "--accumulation", "3", "--steps", "5", trial=True)
    last = of_type(done, "step")[-1]
    assert (last["steps"], last["samples"]) == (5, 5 * 3 * 4)


def test_samples_are_counted_at_the_model_where_there_is_no_loader(with_knobs):
    done = with_knobs({}, SCRIPTS / "no_loader.py", trial=True)
    last = of_type(done, "step")[-1]
    assert (last["steps"], last["samples"]) == (6, 6 * 2 * 7)


def test_what_cannot_be_applied_is_said(with_knobs):
    done = with_knobs({"static_graph": "on", "num_threads": 2, "lr": 3}, PLAIN, trial=True)
    (note,) = of_type(done, "note")
    assert note["text"].startswith("lr not applied: only batch_size, ")
    (unused,) = [report for report in of_type(done, "unused") if "static_graph" in report["knobs"]]
    assert unused["why"] == "no DistributedDataParallel was made"
    assert seen_knobs(done)["num_threads"] == "2"


def test_a_model_within_a_compiled_function_is_said(with_knobs):
    knobs = {"amp": "bf16", "channels_last": "on", "compile": "off"}
    done = with_knobs(knobs, PLAIN, "--compiled", trial=True)
    (unused,) = [report for report in of_type(done, "unused") if "amp" in report["knobs"]]
    assert unused["knobs"] == ["amp", "channels_last", "compile", "checkpointing"]
    assert unused["why"].startswith("no call of a model was seen")
    assert seen_knobs(done)["amp"] == "off"


@pytest.mark.parametrize("rank", [None, ""])
def test_outside_a_trial_the_note_goes_to_stderr(with_knobs, monkeypatch, rank):
    if rank is not None:
        monkeypatch.setenv("RANK", rank)
    done = with_knobs({"num_workers": 0, "amp": "off"}, SCRIPTS / "no_loader.py")
    assert done.stderr == "redline: num_workers not applied: no DataLoader feeds the training\n"


@pytest.mark.parametrize(
    ("how", "error", "text"),
    [
        ("memory", "RuntimeError", "DefaultCPUAllocator"),
        ("error", "KeyError", "three"),
    ],
)
def test_the_exception_that_ends_a_rank_is_reported(with_knobs, how, error, text):
    done = with_knobs({}, PLAIN, "--fail", how, trial=True, check=False)
    failures = of_type(done, "failure")
    assert {failure["error"] for failure in failures} == {error}
    assert all(text in failure["message"] for failure in failures)
    assert done.returncode == 1
    assert error in done.stderr


def test_a_loss_that_stays_nan_is_reported(with_knobs):
    done = with_knobs({}, PLAIN, "--fail", "nan", "--steps", "1500", trial=True)
    assert of_type(done, "failure")[0]["kind"] == "nan_loss"


def test_a_knob_value_that_means_nothing_is_refused(with_knobs):
    done = with_knobs({"batch_size": 0}, PLAIN, trial=True, check=False)
    (failure,) = of_type(done, "failure")
    assert failure["kind"] == "invalid"
    assert "batch_size = 0 is not a whole number" in failure["message"]


def test_ranks_of_a_ddp_job_report_one_by_one(with_knobs, train_cifar):
    arguments = ["--steps", "6", "--train-size", "512", "--print-loss-bits"]
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    knobs = {"batch_size": 8, "amp": "bf16", "channels_last": "on"}
    flags = ["--batch-size", "8", "--amp", "bf16", "--channels-last"]
    options = {"trial": True, "launcher": launcher}
    tuned = with_knobs(knobs, train_cifar, *arguments, **options)
    flagged = with_knobs({}, train_cifar, *arguments, *flags, **options)
    for done in (tuned, flagged):
        steps = of_type(done, "step")
        assert {report["rank"] for report in steps} == {0, 1}
        assert {report["world"] for report in steps} == {2}
        assert sorted(report["rank"] for report in of_type(done, "begin")) == [0, 1], "torchrun itself trains nothing"
        last = {report["rank"]: report["samples"] for report in steps}
        assert last == {0: 48, 1: 48}
        seen = seen_knobs(done)
        assert (seen["batch_size"], seen["amp"], seen["channels_last"]) == ("8", "bf16", "on")
    bits = [line for line in tuned.stdout.splitlines() if "loss bits" in line]
    assert bits and bits[0] in flagged.stdout


def test_a_process_that_compiles_kernels_is_no_rank(with_knobs, tmp_path):
    """Inductor starts it with the job's environment, and it imports torch."""
    script = tmp_path / "compiles.py"
    script.write_text("""
import torch
from torch._inductor.compile_worker.subproc_pool import SubprocPool
if __name__ == "__main__":
    pool = SubprocPool(1)
    assert pool.submit(divmod, 7, 2).result() == (3, 1)
    pool.shutdown()
""")
    assert len(of_type(with_knobs({}, script, trial=True), "begin")) == 1


COPIES = """
import copy, pickle, torch

class Whole(torch.nn.Linear):
    def __getstate__(self):  # as that of Lightning's modules
        return dict(self.__dict__)

torch.compile = lambda call, **named: call
model = Whole(1, 1, bias=False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
model(torch.ones(1, 1)).sum().backward()
optimizer.step()
other = copy.deepcopy(model)
with torch.no_grad():
    model.weight.fill_(100.0)
    other.weight.fill_(1.0)
read = pickle.loads(pickle.dumps(model))
print(model._compiled_call_impl is not None, other(torch.ones(1, 1)).item(), read(torch.ones(1, 1)).item())
"""


def test_a_copy_of_a_compiled_model_computes_with_its_own_weights(with_knobs, script):
    assert with_knobs({"compile": "on"}, script(COPIES)).stdout == "True 1.0 100.0\n"


TOWERS = """
import torch

class Tower(torch.nn.Linear):
    grad_checkpointing = False
    def set_grad_checkpointing(self, enable=True):
        self.grad_checkpointing = enable

class Both(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.image, self.text = Tower(1, 1), Tower(1, 1)
    def forward(self, inputs):
        return self.image(inputs) + self.text(inputs)

model = Both()
model(torch.ones(1, 1)).sum().backward()
print(model.image.grad_checkpointing, model.text.grad_checkpointing)
"""


def test_each_of_two_towers_is_checkpointed(with_knobs, script):
    assert with_knobs({"checkpointing": "on"}, script(TOWERS)).stdout == "True True\n"


COMPILES_A_BLOCK = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Linear(1, 1))
model[1].compile(backend="eager")
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
for (inputs,) in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(8, 1)), batch_size=2):
    model(inputs).sum().backward()
    optimizer.step()
"""


def test_a_model_of_which_the_script_compiles_a_block_is_compiled(with_knobs, script):
    assert seen_knobs(with_knobs({}, script(COMPILES_A_BLOCK), trial=True))["compile"] == "on"


def test_accumulation_reads_an_iterator_of_losses_once(with_knobs, script):
    job = script("""
import torch
weight = torch.nn.Parameter(torch.ones(1))
optimizer = torch.optim.SGD([weight], lr=1.0)
for _ in range(4):
    torch.autograd.backward(iter([(weight * 2).sum()]))
    optimizer.step()
    optimizer.zero_grad()
print(weight.item())
""")
    assert with_knobs({"accumulation": 2}, job).stdout == "-3.0\n", "two steps by a mean gradient of 2"

"""Trials of programs that do not train as tutorials do: memory errors that are caught, no optimizer, inference, and a model
that is compiled."""

import json
import pathlib
import re

import pytest
from knob_runs import of_type, seen_knobs

SCRIPTS = pathlib.Path(__file__).with_name("scripts")


@pytest.mark.parametrize(
    ("where", "kinds"),
    [
        ("forward", ["host_oom"]),
        ("backward", ["host_oom"]),
        ("loader", ["host_oom"]),
        ("loss", ["gpu_oom"]),
        ("triton", ["gpu_oom"]),
        ("nccl", ["gpu_oom"]),
        ("cupy", ["gpu_oom"]),
        ("plain", ["host_oom"]),
        ("compiler", []),
        ("other", []),
    ],
)
def test_memory_errors_are_seen_that_the_script_catches(with_knobs, where, kinds):
    done = with_knobs({}, SCRIPTS / "catches_memory_errors.py", where, trial=True)
    assert done.stdout.startswith("skipped: ")
    assert [failure["kind"] for failure in of_type(done, "failure")] == kinds


@pytest.mark.parametrize("how", ["by_hand", "by_grad", "compiled"])
def test_steps_are_backward_passes_where_no_optimizer_is_seen(with_knobs, how):
    done = with_knobs({}, SCRIPTS / "no_optimizer.py", how, trial=True)
    last = of_type(done, "step")[-1]
    assert (last["steps"], last["samples"]) == (100, 1600)
    (note,) = of_type(done, "note")
    assert re.fullmatch("no optimizer step was seen in [0-9]+ backward passes: each counts as a step", note["text"])
    assert "accumulation" not in seen_knobs(done)
    assert "_check_loss" not in done.stderr, "what reports is not compiled itself"


ACCUMULATES = """
import torch
from redline import _trial_report
from torch.utils.data import DataLoader, TensorDataset
_trial_report.SECONDS_WITHOUT_STEP = 0.0
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.AdamW(model.parameters())
if {compiles}:
    torch.compile(lambda inputs: 2 * inputs, backend="eager")(torch.ones(3))
for i, (inputs,) in enumerate(DataLoader(TensorDataset(torch.ones(96, 4)), batch_size=4, shuffle=True)):
    model(inputs).sum().backward()
    if i % 8 == 7:
        optimizer.step()
        optimizer.zero_grad()
"""


@pytest.mark.parametrize("compiles", [False, True])
def test_a_slow_step_of_many_batches_waits_for_its_optimizer(with_knobs, tmp_path, compiles):
    """Otherwise the trial leaves out the optimizer's time, and the memory that it takes in its first step."""
    (tmp_path / "job.py").write_text(ACCUMULATES.format(compiles=compiles))
    done = with_knobs({}, tmp_path / "job.py", trial=True)
    assert [(report["steps"], report["samples"]) for report in of_type(done, "step")][-1] == (3, 96)
    assert not of_type(done, "note")


HIDDEN_STEP = """
import torch
from redline import _trial_report
from torch.utils.data import DataLoader, TensorDataset
_trial_report.SECONDS_WITHOUT_STEP = 0.0
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
step = torch.compile(optimizer.step, backend="eager")
for (inputs,) in DataLoader(TensorDataset(torch.ones(40, 4)), batch_size=4, shuffle=True):
    model(inputs).sum().backward()
    step()
    optimizer.zero_grad()
"""


def test_a_compiled_step_of_the_optimizer_is_soon_missed(with_knobs, tmp_path):
    (tmp_path / "job.py").write_text(HIDDEN_STEP)
    done = with_knobs({}, tmp_path / "job.py", trial=True)
    last = of_type(done, "step")[-1]
    assert (last["steps"], last["samples"]) == (10, 40)
    (note,) = of_type(done, "note")
    assert note["text"] == "no optimizer step was seen in 3 backward passes: each counts as a step"


FAILING_CHILD = """
import torch
from torch import nn

def train(trains):
    model = nn.Linear(4, 2)
    if trains:
        model(torch.ones(3, 4))
    raise ValueError("from the child")

if __name__ == "__main__":
    nn.Linear(4, 2)(torch.ones(3, 4))
    child = torch.multiprocessing.get_context("%s").Process(target=train, args=(%s,))
    child.start()
    child.join()
"""


@pytest.mark.parametrize("method", ["spawn", "fork"])
@pytest.mark.parametrize("trains", [True, False])
def test_what_a_child_that_trains_raises_is_the_trials_failure(with_knobs, tmp_path, method, trains):
    """multiprocessing prints it, and the script that started the child goes on."""
    (tmp_path / "job.py").write_text(FAILING_CHILD % (method, trains))
    done = with_knobs({}, tmp_path / "job.py", trial=True)
    assert "ValueError: from the child" in done.stderr
    assert ["from the child" in failure["message"] for failure in of_type(done, "failure")] == ([True] if trains else [])


HELPER = """
import subprocess, sys, torch
helper = "import sys, torch\\nmodel = torch.nn.Linear(1, 1)\\n%s\\nraise ImportError('no xformers')"
assert subprocess.run([sys.executable, "-c", helper]).returncode == 1
"""


@pytest.mark.parametrize(("does", "fails"), [("", []), ("model(torch.ones(2, 1))", [True])])
def test_a_helper_that_fails_is_no_failure_of_the_trial(with_knobs, script, does, fails):
    """A script may ask in a process of its own whether something works."""
    done = with_knobs({}, script(HELPER % does), trial=True)
    assert "ImportError: no xformers" in done.stderr
    assert ["no xformers" in failure["message"] for failure in of_type(done, "failure")] == fails


ONE_BATCH = """
import torch
from torch.utils.data import DataLoader
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
loader = DataLoader(torch.ones(8, 2), batch_size=4)
for batch in [next(iter(loader))] * 20:
    model(batch).sum().backward()
    optimizer.step()
"""


def test_steps_on_batches_taken_before_are_told(with_knobs, script):
    done = with_knobs({}, script(ONE_BATCH), trial=True)
    assert of_type(done, "step")[-1]["steps"] == 1
    assert of_type(done, "activity")[-1]["without_batch"] == 19
    done = with_knobs({}, script(ONE_BATCH + "for batch in loader:\n    model(batch).sum().backward()\n"
                                             "    optimizer.step()\n"), trial=True)
    assert of_type(done, "step")[-1]["steps"] == 3
    assert of_type(done, "activity")[-1]["without_batch"] == 0
    done = with_knobs({}, script(ONE_BATCH.replace("next(iter(loader))", "*loader")), trial=True)
    assert not of_type(done, "step"), "the reading of all batches did not look like training"
    assert of_type(done, "activity")[-1]["without_batch"] == 40


def test_what_runs_without_a_step_is_told(with_knobs):
    done = with_knobs({}, SCRIPTS / "no_optimizer.py", "only_forward", trial=True)
    assert not of_type(done, "step")
    assert of_type(done, "activity")[-1]["backwards"] == 0


def test_steps_are_where_the_script_marks_them(with_knobs, monkeypatch):
    """And nowhere else, although the optimizer of this script steps twice in each range."""
    monkeypatch.setenv("REDLINE_STEP_MARKER", "my step")
    done = with_knobs({}, SCRIPTS / "no_optimizer.py", "marked", trial=True)
    steps = of_type(done, "step")
    assert steps[-1]["steps"] == 99, "the last one does not end"
    assert (steps[-1]["samples"] - steps[0]["samples"]) == 16 * (steps[-1]["steps"] - steps[0]["steps"])


MARKS_WHAT_IS_HIDDEN = """
import torch
from torch.utils.data import DataLoader
model = torch.nn.Linear(2, 1)
with torch.no_grad():
    for batch in DataLoader(torch.ones(40, 2), batch_size=4):
        with torch.profiler.record_function("my step"):
            torch.nn.functional.linear(batch, model.weight)  # a compiled function hides its model as much
print("done")
"""


def test_what_a_marked_step_has_read_was_used(with_knobs, monkeypatch, script):
    monkeypatch.setenv("REDLINE_STEP_MARKER", "my step")
    done = with_knobs({}, script(MARKS_WHAT_IS_HIDDEN), trial=True)
    assert done.stdout == "done\n"
    last = of_type(done, "step")[-1]
    assert (last["steps"], last["samples"]) == (9, 40), "the last one does not end"
    assert "batch_size" not in {knob for report in of_type(done, "unused") for knob in report["knobs"]}


@pytest.mark.parametrize("how", ["no_grad", "inference_mode", "eval"])
def test_inference_is_a_workload(with_knobs, how):
    knobs = {"batch_size": 20, "num_workers": 1, "channels_last": "on", "amp": "bf16", "num_threads": 1}
    done = with_knobs(knobs, SCRIPTS / "infers.py", how, trial=True)
    assert done.stdout == "batches 5 largest 20 threads 1\n"
    last = of_type(done, "step")[-1]
    assert (last["steps"], last["samples"], last["inference"]) == (5, 100, True)
    batches = [ns for report in of_type(done, "step") for ns in report["batches"]]
    assert len(batches) == 5
    assert min(batches) > 0
    seen = seen_knobs(done)
    assert {name: seen[name] for name in knobs} == {name: str(value) for name, value in knobs.items()}
    unused = {knob for report in of_type(done, "unused") for knob in report["knobs"]}
    assert "accumulation" in unused and not unused & set(knobs)


COUNTS_FIRST = """
import torch
from torch.utils.data import DataLoader
model = torch.nn.Linear(4, 2).eval()
loader = DataLoader(torch.ones(40, 4), batch_size=4)
with torch.no_grad():
    expected = len(loader)
    print(expected, sum(len(model(batch)) > 0 for batch in loader))
"""


def test_inference_has_as_many_batches_as_it_was_told(with_knobs, tmp_path):
    (tmp_path / "job.py").write_text(COUNTS_FIRST)
    assert with_knobs({"batch_size": 8}, tmp_path / "job.py", trial=True).stdout == "5 5\n"


def test_what_is_evaluated_before_the_training_is_no_part_of_it(with_knobs):
    done = with_knobs({}, SCRIPTS / "infers.py", "then_trains", trial=True)
    last = of_type(done, "step")[-1]
    assert (last["steps"], last["samples"], last.get("inference")) == (5, 100, None)
    assert seen_knobs(done)["accumulation"] == "1"


EVALUATES = """
import torch
from torch.utils.data import DataLoader
model = torch.nn.Linear(4, 2).eval()
with torch.no_grad():
    for batch in DataLoader(torch.ones(32, 4), batch_size=8):
        model(batch)
"""


@pytest.mark.parametrize(("more", "may_train"), [
    ("", False),
    ("def finetune(loss): loss.backward()", True),
    ("def finetune(trainer): trainer.fit(model)", True),
    ("make = lambda: torch.optim.AdamW(model.parameters())", True),
    ("from steps import train_one_epoch", True),  # the imported module calls zero_grad()
    ("from metrics import accuracy", False),
])
def test_code_that_trains_later_makes_an_inference_undecided(with_knobs, tmp_path, more, may_train):
    (tmp_path / "steps.py").write_text("def train_one_epoch(optimizer): optimizer.zero_grad()")
    (tmp_path / "metrics.py").write_text("def accuracy(right, all): return right / all")
    (tmp_path / "evaluates.py").write_text(more + EVALUATES)
    done = with_knobs({}, tmp_path / "evaluates.py", trial=True)
    assert {report["may_train"] for report in of_type(done, "step")} == {may_train}


@pytest.mark.parametrize(("more", "may_train"), [
    ("def finetune(loss): loss.backward()", True),
    ("from package import engine", True),  # engine calls fit()
    ("", False),
])
def test_code_of_a_package_that_trains_later_is_found_too(with_knobs, tmp_path, monkeypatch, more, may_train):
    commands = tmp_path / "package" / "commands"
    commands.mkdir(parents=True)
    (commands.parent / "engine.py").write_text("def run(trainer): trainer.fit()")
    (commands / "train.py").write_text(more + EVALUATES)
    monkeypatch.chdir(tmp_path)
    done = with_knobs({}, "package.commands.train", trial=True, launcher=["-m"])
    assert {report["may_train"] for report in of_type(done, "step")} == {may_train}


@pytest.mark.parametrize(("mode", "how"), [("on", "trains"), ("reduce-overhead", "trains"), ("on", "infers")])
def test_a_model_is_compiled_whole_and_the_time_is_told(with_knobs, mode, how):
    done = with_knobs({"compile": mode}, SCRIPTS / "compiles.py", how, trial=True)
    assert done.stdout == f"mode {'default' if mode == 'on' else mode} graphs 1\n"
    assert seen_knobs(done)["compile"] == mode
    compiled = of_type(done, "compile")
    assert [report["running"] for report in compiled] == [True, False] * (len(compiled) // 2)
    last = of_type(done, "step")[-1]
    assert last["steps"] == 5
    assert 0 < compiled[-1]["total"] <= last["evaluation"]


@pytest.fixture
def tuned(run, program, python, tmp_path):
    """tuned(script, *arguments, options=(), trials=3) returns autotune's process and the content of best.json."""

    def search(*words, options=(), trials=3):
        limits = ["--max-trials", trials, "--budget", "80s", "--trial-timeout", "100s"]
        command = [program("autotune"), *limits, *options, "--", python, *words]
        done = run(command, cwd=tmp_path)
        best = tmp_path / "best.json"
        return done, json.loads(best.read_text()) if best.exists() else None

    return search


def test_a_knob_that_nothing_reads_is_not_searched(tuned):
    done, best = tuned(SCRIPTS / "no_loader.py", "--endless")
    assert done.returncode == 0, done.stderr
    assert "batch_size, num_workers left out: no DataLoader feeds the training" in done.stdout
    assert set(best["knobs"]) <= {"amp", "malloc"}
    assert set(best["default"]["knobs"]) == {"amp", "malloc"}


def test_a_knob_that_was_asked_for_and_that_nothing_reads_is_an_error(tuned):
    done, best = tuned(SCRIPTS / "no_loader.py", "--endless", options=["--knob", "batch_size=8,16"])
    assert done.returncode == 1
    assert done.stderr == (
        "autotune: --knob batch_size: nothing in this command reads it: no DataLoader feeds the training. Leave it out, or "
        "write {batch_size} where its value belongs in the command\n"
    )
    assert best is None


def test_a_job_whose_samples_cannot_be_counted_is_tuned_by_what_it_prints(tuned):
    options = ["--knob", "n=12,24", "--metric", r"done with (\d+)"]
    done, best = tuned(SCRIPTS / "no_loader.py", "--sequences", "{n}", options=options, trials=1)
    assert done.returncode == 0, done.stderr
    assert (best["knobs"], best["throughput"]["samples_per_s"]) == ({"n": 12}, 12)


def test_a_job_whose_samples_cannot_be_counted_is_tuned_by_its_steps(tuned):
    by_steps = ["--objective", "steps"]
    script = [SCRIPTS / "no_loader.py", "--endless", "--sequences"]
    done, best = tuned(*script, options=[*by_steps, "--knob", "zero_grad=none,zero"], trials=1)
    assert done.returncode == 0, done.stderr
    assert "autotune · objective steps/s, end to end" in done.stdout and " samples" not in done.stdout
    assert best["throughput"]["samples_per_s"] > 0
    done, _ = tuned(*script, options=[*by_steps, "--dry-run"])
    assert "batch_size left out: steps are compared" in " ".join(done.stdout.split())
    for options, why in [
        (["--knob", "batch_size=8,16"], "compares steps, and batch_size changes what a step takes. Leave it out"),
        (["--global-batch", "64"], "counts steps. Leave out --global-batch, which needs samples"),
        (["--metric", "rate (.*)"], "counts steps. Leave out --metric"),
    ]:
        done, _ = tuned(*script, options=[*by_steps, *options])
        assert (done.returncode, done.stderr) == (2, f"autotune: --objective steps {why}\n")


@pytest.mark.long
def test_a_batch_that_the_command_names_is_found_in_any_dimension(tuned):
    options = ["--knob", "batch_size=12,24", "--strategy", "grid"]
    done, best = tuned(SCRIPTS / "no_loader.py", "--endless", "--sequences", "{batch_size}", options=options)
    assert done.returncode == 0, done.stderr
    assert "samples cannot be counted" not in done.stdout
    assert best["default"]["knobs"] == {"batch_size": 12}


def test_ranks_that_a_script_spawns_share_the_global_batch(tuned):
    done, best = tuned(SCRIPTS / "spawns.py", options=["--global-batch", "64"], trials=1)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 ranks" in done.stdout
    knobs = best["default"]["knobs"]
    assert 2 * knobs["batch_size"] * knobs["accumulation"] == 64


@pytest.mark.long
def test_a_job_without_an_optimizer_is_tuned_by_its_step_marker(tuned):
    marked = [SCRIPTS / "no_optimizer.py", "marked", "--steps", "100000"]
    done, best = tuned(*marked, options=["--step-marker", "my step", "--knob", "batch_size=16,32"])
    assert done.returncode == 0, done.stderr
    assert best["default"]["knobs"] == {"batch_size": 16}
    done, _ = tuned(*marked[:2], options=["--step-marker", "your step", "--knob", "batch_size=16,32"])
    assert done.returncode == 1
    assert "no two ranges or marks named 'your step' were seen" in done.stderr
    by_function = [SCRIPTS / "no_optimizer.py", "by_function"]
    done, _ = tuned(*by_function, options=["--step-marker", "my step"])
    assert done.returncode == 1
    assert "samples cannot be counted: between the steps that the script marks, no batch" in done.stderr


@pytest.mark.long
def test_the_workers_of_a_stream_stay_one(tuned):
    stream = [SCRIPTS / "iterable_stream.py", "--steps", "100000"]
    done, best = tuned(*stream, options=["--knob", "num_workers=0..4", "--strategy", "grid"])
    assert done.returncode == 0, done.stderr
    assert "num_workers above 1 left out: each worker of an IterableDataset may yield all of it" in done.stdout
    assert best["knobs"].get("num_workers", 0) <= 1
    done, _ = tuned(*stream, options=["--knob", "num_workers=2,4"])
    assert done.returncode == 1
    assert "--knob num_workers: nothing in this command reads it: each worker of an IterableDataset may" in done.stderr


def test_memory_that_a_script_frees_by_a_smaller_batch_is_out_of_memory(tuned):
    done, best = tuned(SCRIPTS / "catches_memory_errors.py", "forward", options=["--knob", "num_workers=0,1"])
    assert done.returncode == 1
    assert "no trial succeeded; the first ended with: out of host memory" in done.stderr

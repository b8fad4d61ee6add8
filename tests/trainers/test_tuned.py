"""Tests autotune and redline run on the same programs: every trial is measured, the knobs reach the objects, and
samples and their rate are those that the program counts."""

import re

import pytest
from conftest import ACCELERATE

fast = pytest.mark.fast
# Trials start slowly if others use the machine. Here only their results count, not how long they take.
SHORT = ["--budget", "4m", "--trial-timeout", "120s", "--max-trials", "3", "--strategy", "grid"]

# Each row has the name, the arguments, the ranks, and knobs whose first value is not the program's own.
PROGRAMS = [
    pytest.param("hf_trainer", [], 1, ["batch_size=4,8"], marks=fast, id="hf"),
    pytest.param("hf_trainer", [], 2, ["batch_size=4,8"], id="hf-two-ranks"),
    pytest.param("hf_trainer", ["--streamed"], 2, ["batch_size=8,16"], id="hf-dispatched"),
    pytest.param("accelerate_loop", [], 1, ["batch_size=8,16"], id="accelerate"),
    pytest.param("timm_train", [], 1, ["batch_size=4,8"], id="timm"),
    pytest.param("torchvision_train", [], 1, ["batch_size=2,4"], id="torchvision"),
    pytest.param("gan", [], 1, ["batch_size=8,16"], id="gan"),
    pytest.param("odd_data", ["--kind", "batch_sampler"], 1, ["batch_size=8,16"], id="batch-sampler"),
    pytest.param("odd_data", ["--kind", "dict"], 1, ["batch_size=8,16"], id="dict-batches"),
    pytest.param("odd_data", ["--kind", "nested"], 1, ["batch_size=8,16"], id="nested-batches"),
    pytest.param("odd_data", ["--kind", "iterable"], 1, ["batch_size=8,16"], id="iterable"),
    pytest.param("odd_data", ["--kind", "stateful"], 1, ["batch_size=8,16"], marks=fast, id="stateful"),
    pytest.param("closure", ["--optimizer", "AdamW"], 1, ["batch_size=16,32"], id="closure"),
    pytest.param("inference", [], 1, ["batch_size=8,16"], id="inference"),
    pytest.param("lightning_fit", [], 1, ["batch_size=8,16"], id="lightning"),
    pytest.param("lightning_fit", ["--devices", "2", "--strategy", "ddp"], 2, ["batch_size=8,16"], id="lightning-ddp"),
    pytest.param("spawned", [], 2, ["batch_size=8,16"], id="spawned"),
    pytest.param("unshuffled", [], 1, ["batch_size=16,32"], marks=fast, id="mnist-unshuffled"),
    pytest.param("sequence_first", ["--padded"], 1, ["batch_size=4,8"], id="pad-sequence"),
    pytest.param("fsdp2", [], 2, ["batch_size=4,8"], id="fsdp2"),
]
WITHOUT_OWN_CLOCK = {"unshuffled"}  # it counts its evaluations, too
TOKENS = {"hf_trainer": 24}  # tokens of a sample that is a sequence; with pad_sequence their number differs


@pytest.mark.parametrize(("name", "arguments", "ranks", "knobs"), PROGRAMS)
def test_every_trial_is_measured_and_the_best_knobs_take_effect(trainer, name, arguments, ranks, knobs):
    options = [word for knob in knobs for word in ("--knob", knob)]
    command = trainer.command(name, *arguments, "--steps", "100000", ranks=ranks)
    tuned, said = trainer.tune(command, *SHORT, *options)
    assert {trial["outcome"] for trial in tuned["trials"]} == {"ok"}, said[-3000:]
    assert {trial["ranks"] for trial in tuned["trials"]} == {ranks}
    assert "not applied" not in said
    for trial in tuned["trials"]:
        if name in TOKENS:
            rate = trial["throughput"]["samples_per_s"]
            assert trial["tokens_per_s"] == pytest.approx(TOKENS[name] * rate)
        elif name != "sequence_first":
            assert trial["tokens_per_s"] is None
    if name == "hf_trainer":
        assert said.count("train_samples_per_second of transformers counts") == 1
    own_rates = {} if name in WITHOUT_OWN_CLOCK else trainer.own_rates(tuned["trials"])
    assert own_rates.keys() == {trial["id"] for trial in tuned["trials"]} or name in WITHOUT_OWN_CLOCK
    for trial in tuned["trials"]:
        assert (trial["latency_ns"] is not None) == (name == "inference")
        if trial["id"] in own_rates:
            lowest, highest = own_rates[trial["id"]]
            assert 0.95 * lowest < trial["throughput"]["samples_per_s"] < 1.05 * highest
    # The defaults may have won, so this checks that another value reaches the loader, too.
    smaller = int(knobs[0].partition("=")[2].partition(",")[0])
    short = trainer.command(name, *arguments, "--steps", "6", ranks=ranks)
    run = trainer.with_best(short, batch_size=smaller)
    assert run["steps"] == 6
    if "knobs" in run:
        assert run["knobs"]["batch_size"] == smaller


def test_accelerate_launch_starts_ranks_that_are_counted(trainer):
    command = trainer.command("accelerate_loop", "--steps", "100000", ranks=2, launcher=ACCELERATE)
    tuned, said = trainer.tune(command, *SHORT, "--knob", "batch_size=8,16", "--knob", "bucket_cap_mb=5,25")
    assert {trial["outcome"] for trial in tuned["trials"]} == {"ok"}, said[-3000:]
    assert {trial["ranks"] for trial in tuned["trials"]} == {2}


def test_the_global_batch_is_shared_by_ranks_that_lightning_starts(trainer):
    """The number of ranks is not known before the first trial."""
    command = trainer.command("lightning_fit", "--devices", "2", "--strategy", "ddp", "--steps", "100000")
    tuned, said = trainer.tune(command, *SHORT, "--global-batch", "32")
    assert {trial["outcome"] for trial in tuned["trials"]} == {"ok"}, said[-3000:]
    for trial in tuned["trials"]:
        assert 2 * int(trial["effective"]["batch_size"]) * int(trial["effective"]["accumulation"]) == 32


@pytest.mark.parametrize("name", [pytest.param("self_made_loop", marks=fast), "sequence_first"])
def test_batches_by_hand_are_never_guessed(trainer, name):
    done = trainer.try_to_tune(trainer.command(name, "--steps", "100000"), *SHORT)
    assert done.returncode == 1
    assert "samples cannot be counted: the script has no DataLoader" in done.stderr
    assert "Compare steps (--objective steps), give --metric with a rate that the command prints, or write" in done.stderr


@pytest.mark.parametrize(("name", "length"), [("self_made_loop", 32), ("sequence_first", 35)])
def test_batches_by_hand_are_counted_by_the_batch_that_the_command_names(trainer, name, length):
    command = trainer.command(name, "--steps", "100000", "--batch_size", "{batch_size}")
    tuned, said = trainer.tune(command, *SHORT, "--knob", "batch_size=4,8")
    assert {trial["outcome"] for trial in tuned["trials"]} == {"ok"}, said[-3000:]
    assert {trial["config"]["batch_size"] for trial in tuned["trials"]} == {"4", "8"}
    for trial in tuned["trials"]:
        assert trial["tokens_per_s"] == pytest.approx(length * trial["throughput"]["samples_per_s"], rel=0.1)
    run = trainer.with_best(trainer.command(name, "--steps", "6", "--batch_size", "{batch_size}"), batch_size=4)
    assert run["steps"] == 6


def test_batches_by_hand_are_tuned_by_what_the_program_prints(trainer):
    command = trainer.command("self_made_loop", "--steps", "60", "--batch_size", "{batch_size}")
    metric = ["--metric", "([0-9.]+) samples/s", "--knob", "batch_size=4,8"]
    tuned, said = trainer.tune(command, *SHORT, *metric)
    assert {trial["outcome"] for trial in tuned["trials"]} == {"ok"}, said[-3000:]
    assert tuned["objective"] == "metric"
    assert {trial["tokens_per_s"] for trial in tuned["trials"]} == {None}, "the unit of the metric is not known"


def test_what_inductor_compiles_is_no_hang_and_its_time_is_said(trainer, monkeypatch):
    """Inductor really makes machine code, because each trial has its own folder for temporary files and so its own
    cache."""
    monkeypatch.setenv("COMPILE_BACKEND", "inductor")
    command = trainer.command("odd_data", "--kind", "dict", "--steps", "1000000")
    tuned, said = trainer.tune(command, *SHORT, "--knob", "compile=off,default")
    assert {trial["outcome"] for trial in tuned["trials"]} == {"ok"}, said[-3000:]
    (line,) = [line for line in said.splitlines() if " default " in line and "compiled" in line][:1]
    assert re.search(r"compiled [0-9]+ s\b", line), line

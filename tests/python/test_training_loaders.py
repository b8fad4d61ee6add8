"""A loader whose batches train is a training loader, whatever its order; its samples are counted, and never guessed."""

import pathlib

import pytest
from knob_runs import of_type, seen_knobs

SCRIPTS = pathlib.Path(__file__).with_name("scripts")
LOADERS = SCRIPTS / "loaders.py"


def said(done):
    """What the script counted itself: its largest training batch, samples trained, largest evaluation batch, steps."""
    words = done.stdout.splitlines()[-1].split()
    return tuple(int(words[i]) for i in (1, 2, 4, 6))


@pytest.mark.parametrize("how", ["mnist", "quickstart", "vocabulary", "anew", "sharded", "sequence"])
@pytest.mark.parametrize("knobs", [{}, {"batch_size": 32}])
def test_a_loader_that_reads_in_order_takes_the_knobs(with_knobs, how, knobs):
    done = with_knobs(knobs, LOADERS, how, trial=True)
    batch, samples, evaluated, steps = said(done)
    assert batch == knobs.get("batch_size", 16)
    assert evaluated == 10, "a loader that only evaluates keeps the script's batch size"
    last = of_type(done, "step")[-1]
    assert (last["steps"], last["samples"]) == (steps, samples)
    assert seen_knobs(done)["batch_size"] == str(batch)
    assert not unused(done, "batch_size")


def test_a_script_that_looks_through_its_data_beside_its_model_takes_no_batch_size(with_knobs):
    """The knob would change that loader, too, and what the script finds there."""
    done = with_knobs({}, LOADERS, "scanned", trial=True)
    assert unused(done, "batch_size") == ["the script also reads a DataLoader in order without its model"]
    assert not unused(done, "num_workers")
    batch, samples, _, steps = said(done)
    last = of_type(done, "step")[-1]
    assert (batch, last["steps"], last["samples"]) == (16, steps, samples)


def test_the_loader_that_is_read_first_stands_for_the_script_not_one_that_is_made_first(with_knobs):
    assert seen_knobs(with_knobs({}, LOADERS, "shuffled_test", trial=True))["batch_size"] == "16"


def unused(done, knob):
    """Why the knob can do nothing, as the hook reports it; empty if it can."""
    return [report["why"] for report in of_type(done, "unused") if knob in report["knobs"]]


def test_what_makes_its_batches_itself_takes_no_batch_size(with_knobs):
    done = with_knobs({"batch_size": 32}, LOADERS, "sampler", trial=True)
    assert unused(done, "batch_size") == ["list makes the batches"]
    assert not unused(done, "num_workers")
    batch, samples, _, steps = said(done)
    last = of_type(done, "step")[-1]
    assert (batch, last["steps"], last["samples"]) == (16, steps, samples)


def test_what_repeats_batches_of_its_own_size_takes_no_other_size(with_knobs):
    """trl trains on another part of a batch each time it comes, so half of the samples would never be trained on."""
    done = with_knobs({"batch_size": 8}, LOADERS, "grouped", trial=True)
    assert unused(done, "batch_size") == ["Grouped repeats batches of its own size"]
    batch, samples, _, _ = said(done)
    assert batch == 16
    assert of_type(done, "step")[-1]["samples"] == samples // 2, "each comes twice"


def test_a_data_set_that_batches_is_counted_by_its_shape_alone_where_that_is_sure(with_knobs):
    done = with_knobs({"batch_size": 32}, LOADERS, "batches", trial=True)
    assert unused(done, "batch_size") == ["the DataLoader does not batch"]
    _, samples, _, steps = said(done)
    last = of_type(done, "step")[-1]
    assert (last["steps"], last["samples"]) == (steps, samples)


REPEATED = {
    "repeated": [],
    "repeated_in_order": ["the script gave its DataLoader another batch sampler after it had made it"],
    "repeated_early": ["the script began to read its DataLoader before it had a model"],
}


@pytest.mark.parametrize("how", REPEATED)
def test_a_loader_that_repeats_its_batches_has_the_epochs_of_its_sampler(with_knobs, how):
    """In order, the script has changed the loader before anybody saw that it is for training: it stays as it is."""
    done = with_knobs({"batch_size": 32}, LOADERS, how, trial=True)
    batch, samples, _, steps = said(done)
    assert batch == (16 if REPEATED[how] else 32)
    assert (samples, steps) == (3 * (70 // batch) * batch, 3 * (70 // batch))
    last = of_type(done, "step")[-1]
    assert (last["steps"], last["samples"]) == (steps, samples)
    assert last.get("epoch") == (None if how == "repeated_early" else 70)
    assert unused(done, "batch_size") == REPEATED[how]


@pytest.mark.parametrize("trial", [False, True])
def test_what_torchs_iterator_reads_may_be_no_loader(with_knobs, trial):
    done = with_knobs({"batch_size": 32, "amp": "bf16"}, SCRIPTS / "own_loader.py", trial=trial)
    assert done.stdout == "steps 120\n", done.stderr
    if trial:
        last = of_type(done, "step")[-1]
        assert (last["steps"], last["samples"]) == (120, 16 * 120)
        assert unused(done, "batch_size") == ["no DataLoader feeds the training"]
        assert "inference" not in " ".join(note["text"] for note in of_type(done, "note"))


@pytest.mark.parametrize("given", [None, 12])
def test_without_a_loader_samples_are_never_guessed(with_knobs, monkeypatch, given):
    """word_language_model's batches are time x batch, nanoGPT's are batch x time, and only the command tells which."""
    if given:
        monkeypatch.setenv("REDLINE_BATCH_SIZE", str(given))
    done = with_knobs({}, SCRIPTS / "no_loader.py", "--sequences", trial=True)
    failures = of_type(done, "failure")
    if given:
        assert not failures
        assert of_type(done, "step")[-1]["samples"] == 6 * 2 * 12
        return
    (failure,) = failures
    assert failure["kind"] == "invalid"
    assert failure["message"] == (
        "samples cannot be counted: the script has no DataLoader, and of its model's input of 35 x 12 any dimension may be "
        "the batch. Give --metric with what the command prints, or write {batch_size} in the command"
    )


def test_a_trial_by_metric_needs_no_samples(with_knobs, monkeypatch):
    monkeypatch.setenv("REDLINE_METRIC", "1")
    done = with_knobs({}, SCRIPTS / "no_loader.py", "--sequences", trial=True)
    assert not of_type(done, "failure") and not of_type(done, "step")
    assert unused(done, "batch_size") == ["no DataLoader feeds the training"]
    assert seen_knobs(done)["amp"] == "off"


def test_the_knobs_that_a_job_has_nothing_for_are_told_by_the_defaults(with_knobs):
    done = with_knobs({}, SCRIPTS / "no_loader.py", trial=True)
    for knob in ("batch_size", "num_workers", "pin_memory", "prefetch_factor", "persistent_workers"):
        assert unused(done, knob) == ["no DataLoader feeds the training"]
    assert unused(done, "bucket_cap_mb") == ["no DistributedDataParallel was made"]
    assert unused(done, "channels_last") == ["the model has no convolution over images"]
    assert not unused(done, "amp") and not unused(done, "compile")

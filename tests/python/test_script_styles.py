"""Runs scripts of six styles with knobs from outside: they train to the same result as with their own flags."""

import pathlib
import re

import pytest
from knob_runs import of_type, seen_knobs

SCRIPTS = pathlib.Path(__file__).with_name("scripts")
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]

# Each row has the script, its flags for 6 steps and for 12, and the name of its batch-size flag.
STYLES = [
    ("plain_loop.py", "--steps", "--batch-size"),
    pytest.param("trainer_class.py", "--steps", "--batch-size", marks=pytest.mark.long),
    ("collate_trainer.py", "--max-steps", "--per-device-train-batch-size"),
    pytest.param("iterable_stream.py", "--steps", "--batch-size", marks=pytest.mark.long),
]


def losses(done):
    """The figures that a script prints, as hexadecimal bits or as decimals."""
    return [
        float.fromhex(text) if "x" in text else float(text)
        for text in re.findall(r"(?:bits|loss|rate) (-?0x[0-9a-fp.+-]+|[0-9.e-]+)", done.stdout)
    ]


@pytest.mark.parametrize(("script", "steps", "batch"), STYLES)
def test_two_half_batches_a_step_train_to_the_same(with_knobs, script, steps, batch):
    """This includes clipping, the scheduler and zero_grad() of the script."""
    whole = with_knobs({}, SCRIPTS / script, steps, "6", batch, "16")
    knobs = {"batch_size": 8, "accumulation": 2}
    halves = with_knobs(knobs, SCRIPTS / script, steps, "12", batch, "32", trial=True)
    assert losses(whole)
    # The last loss that plain_loop prints is that of its last batch alone.
    if script != "plain_loop.py":
        assert losses(halves) == pytest.approx(losses(whole), rel=1e-4)
    last = of_type(halves, "step")[-1]
    assert (last["steps"], last["samples"]) == (6, 6 * 16)
    seen = seen_knobs(halves)
    assert (seen["batch_size"], seen["accumulation"]) == ("8", "2")
    assert not of_type(halves, "note")


def test_a_script_with_a_scaler_of_its_own_steps_it_once_a_step(with_knobs):
    scaled = ["--precision", "fp16", "--steps"]
    whole = with_knobs({}, SCRIPTS / "trainer_class.py", *scaled, "4", "--batch-size", "16")
    knobs = {"batch_size": 4, "accumulation": 4}
    parts = with_knobs(knobs, SCRIPTS / "trainer_class.py", *scaled, "16")
    assert losses(parts) == pytest.approx(losses(whole), rel=2e-2)


def test_fp16_from_outside_goes_with_accumulation(with_knobs):
    plain = with_knobs({"batch_size": 16}, SCRIPTS / "trainer_class.py", "--steps", "4")
    knobs = {"batch_size": 4, "accumulation": 4, "amp": "fp16"}
    done = with_knobs(knobs, SCRIPTS / "trainer_class.py", "--steps", "16", trial=True)
    assert losses(done) == pytest.approx(losses(plain), rel=5e-2)
    assert of_type(done, "step")[-1]["steps"] == 4
    assert not of_type(done, "note")


@pytest.mark.parametrize("knobs", [{}, {"accumulation": 1}, {"accumulation": 2}])
def test_a_script_that_accumulates_keeps_its_own_count(with_knobs, knobs):
    flags = ["--accumulation", "3", "--steps", "4"]
    own = with_knobs({}, SCRIPTS / "plain_loop.py", *flags)
    done = with_knobs(knobs, SCRIPTS / "plain_loop.py", *flags, trial=True)
    assert losses(done) == pytest.approx(losses(own), rel=1e-3)
    (unused,) = [report for report in of_type(done, "unused") if "accumulation" in report["knobs"]]
    assert unused["why"] == "the script accumulates 3 batches itself"
    assert seen_knobs(done)["accumulation"] == "3"


def test_ranks_reduce_their_gradients_once_a_step(with_knobs):
    """The script counts its own all-reduces, and DDP's arguments are set from outside."""
    script = SCRIPTS / "two_ranks.py"
    options = {"trial": True, "launcher": TORCHRUN}
    whole = with_knobs({}, script, "6", "16", **options)
    knobs = {"batch_size": 8, "accumulation": 2, "bucket_cap_mb": 1, "gradient_as_bucket_view": "on"}
    halves = with_knobs(knobs, script, "12", "32", **options)
    assert losses(halves) == pytest.approx(losses(whole), rel=1e-4)
    last = {report["rank"]: report["samples"] for report in of_type(halves, "step")}
    assert last == {0: 6 * 16, 1: 6 * 16}
    seen = seen_knobs(halves)
    assert seen["bucket_cap_mb"] == "1"
    assert (seen["gradient_as_bucket_view"], seen["static_graph"]) == ("on", "off")
    # The first of 12 batches is reduced as well, because only its step shows that the script does not accumulate.
    assert "reductions 7\n" in halves.stdout
    assert "reductions 6\n" in whole.stdout


def test_batches_that_ranks_share_are_training(with_knobs):
    done = with_knobs({"batch_size": 16}, SCRIPTS / "shared_batches.py", trial=True)
    last = of_type(done, "step")[-1]
    assert (last["steps"], last["samples"], last["epoch"]) == (2, 32, 32)
    assert seen_knobs(done)["batch_size"] == "16"
    assert not of_type(done, "note")


def test_time_spent_waiting_for_data_is_reported(with_knobs):
    done = with_knobs({}, SCRIPTS / "collate_trainer.py", trial=True)
    waits = [report["wait"] for report in of_type(done, "step")]
    assert waits == sorted(waits) and waits[-1] > 0

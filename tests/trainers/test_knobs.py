"""Each knob of the start-up hook works in trainers of other projects: its effect shows on the trainer's objects and
the hook reports the same, or the hook says why this job has no use for it. One run of each trainer sets all knobs."""

import pytest
from conftest import outcome_of
from knob_runs import of_type, seen_knobs

KNOBS = {
    "batch_size": 4,
    "num_workers": 1,
    "prefetch_factor": 3,
    "persistent_workers": True,
    "pin_memory": True,
    "amp": "bf16",
    "channels_last": True,
    "compile": "default",
    "checkpointing": True,
    "optimizer": "fused",
    "zero_grad": "zero",
    "cudnn_benchmark": True,
    "tf32": True,
    "accumulation": 2,
    "num_threads": 2,
    "bucket_cap_mb": 7,
    "gradient_as_bucket_view": True,
    "static_graph": True,
    "find_unused_parameters": True,
}
SEEN_BY_THE_HOOK_ALONE = {"amp", "zero_grad", "accumulation"}
NO_CONVOLUTION = {"channels_last": "the model has no convolution over images"}
NO_CHECKPOINTING = {"checkpointing": "the model offers no activation checkpointing"}
# Each row has the name, the arguments, the ranks that torchrun starts, and why a knob is not applied.
TRAINERS = [
    pytest.param("hf_trainer", [], 2, NO_CONVOLUTION, id="hf"),
    pytest.param("accelerate_loop", [], 2, NO_CHECKPOINTING, id="accelerate"),
    pytest.param("lightning_fit", ["--devices", "2", "--strategy", "ddp"], 1,
                 {**NO_CONVOLUTION, **NO_CHECKPOINTING, "accumulation": "the optimizer steps with a closure"}, id="lightning"),
    pytest.param("spawned", [], 1, {**NO_CONVOLUTION, **NO_CHECKPOINTING}, marks=pytest.mark.fast, id="spawned"),
]


@pytest.mark.parametrize(("name", "arguments", "ranks", "not_applied"), TRAINERS)
def test_a_knob_takes_effect_or_is_said_to_have_none(trainer, name, arguments, ranks, not_applied):
    done = trainer.trial(trainer.command(name, *arguments, ranks=ranks), KNOBS)
    said = {knob: report["why"] for report in of_type(done, "unused") for knob in report["knobs"]}
    assert said == not_applied
    applied = {knob: value for knob, value in KNOBS.items() if knob not in not_applied}
    outcome = outcome_of(done)
    facts = outcome["knobs"]
    assert facts["updates"] == outcome["steps"] // applied.get("accumulation", 1)
    on_objects = {knob: value for knob, value in applied.items() if knob not in SEEN_BY_THE_HOOK_ALONE}
    assert {knob: facts[knob] for knob in on_objects} == on_objects
    seen = seen_knobs(done)
    texts = {knob: "on" if value is True else str(value) for knob, value in applied.items()}
    assert {knob: seen.get(knob) for knob in texts} == texts
    if "epoch" in outcome:  # how many batches Lightning expects in an epoch; its schedule needs that
        assert outcome["epoch"] == 2048 // outcome["world"] // 4
    assert not of_type(done, "failure")


def test_what_transformers_evaluates_is_no_training(trainer):
    """transformers fetches with gradients on, one batch ahead, and makes this loader where it made that of the
    training."""
    done = trainer.trial(trainer.command("hf_trainer", "--evaluate"), {"batch_size": 4})
    last = of_type(done, "step")[-1]
    outcome = outcome_of(done)
    assert (last["steps"], last["samples"]) == (12, 12 * 4 + 4)  # with the batch that was fetched ahead
    assert outcome["knobs"]["batch_size"] == 4
    assert outcome["evaluated"] == 8


def test_transformers_plans_with_the_knobs_batch_size(trainer):
    """Its sampler that groups by length is no sampler of torch."""
    done = trainer.trial(trainer.command("hf_trainer", "--by_length"), {"batch_size": 32})
    outcome = outcome_of(done)
    assert (outcome["planned"], outcome["steps"]) == (4, 4)

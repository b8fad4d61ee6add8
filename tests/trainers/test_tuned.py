"""autotune and redline run on the same programs: every trial is measured, the knobs reach the objects, samples and
their rate are those that the program counts."""

import pytest

fast = pytest.mark.fast
# A trial starts slowly where others use the machine: what counts here is its end, not how soon it comes.
SHORT = ["--budget", "4m", "--trial-timeout", "120s", "--max-trials", "3", "--strategy", "grid"]

# name, arguments, ranks, knobs: the first value is not the program's own
PROGRAMS = [
    pytest.param("hf_trainer", [], 1, ["batch_size=4,8"], marks=fast, id="hf"),
    pytest.param("hf_trainer", [], 2, ["batch_size=4,8"], id="hf-two-ranks"),
    pytest.param("accelerate_loop", [], 1, ["batch_size=8,16"], id="accelerate"),
    pytest.param("timm_train", [], 1, ["batch_size=4,8"], id="timm"),
    pytest.param("torchvision_train", [], 1, ["batch_size=2,4"], id="torchvision"),
    pytest.param("gan", [], 1, ["batch_size=8,16"], id="gan"),
    pytest.param("odd_data", ["--kind", "batch_sampler"], 1, ["batch_size=8,16"], id="batch-sampler"),
    pytest.param("odd_data", ["--kind", "dict"], 1, ["batch_size=8,16"], id="dict-batches"),
    pytest.param("odd_data", ["--kind", "nested"], 1, ["batch_size=8,16"], id="nested-batches"),
    pytest.param("odd_data", ["--kind", "iterable"], 1, ["batch_size=8,16"], id="iterable"),
    pytest.param("closure", ["--optimizer", "AdamW"], 1, ["batch_size=16,32"], id="closure"),
    pytest.param("inference", [], 1, ["batch_size=8,16"], marks=fast, id="inference"),
]


@pytest.mark.parametrize(("name", "arguments", "ranks", "knobs"), PROGRAMS)
def test_every_trial_is_measured_and_the_best_knobs_take_effect(trainer, name, arguments, ranks, knobs):
    options = [word for knob in knobs for word in ("--knob", knob)]
    command = trainer.command(name, *arguments, "--steps", "100000", ranks=ranks)
    tuned, said = trainer.tune(command, *SHORT, *options)
    assert {trial["outcome"] for trial in tuned["trials"]} == {"ok"}, said[-3000:]
    assert "not applied" not in said
    if name == "hf_trainer":
        assert said.count("train_samples_per_second of transformers counts") == 1
    own_rates = trainer.own_rates()
    assert own_rates, "no trial could say its own rate"
    for trial in tuned["trials"]:
        assert (trial["latency_ns"] is not None) == (name == "inference")
        if trial["id"] in own_rates:
            low, high = trial["throughput"]["low"], trial["throughput"]["high"]
            assert 0.95 * low < own_rates[trial["id"]] < 1.05 * high
    # The defaults may have won: what is not their value must reach the loader, too.
    smaller = int(knobs[0].partition("=")[2].partition(",")[0])
    short = trainer.command(name, *arguments, "--steps", "6", ranks=ranks)
    run = trainer.with_best(short, batch_size=smaller)
    assert run["steps"] == 6
    if "knobs" in run:
        assert run["knobs"]["batch_size"] == smaller

"""Tests redline record and redline report on programs of other projects, or programs like them.

Each program trains to the same bits as without the recorder. The report has the steps, the samples and the rate that
the program counts itself, and no advice that the program's structure rules out.
"""

import gzip
import json

import pytest

fast = pytest.mark.fast

# Each row has the name, the arguments, the ranks, and the samples a step over all ranks (None: nobody can know).
PROGRAMS = [
    pytest.param("hf_trainer", [], 1, 8, marks=fast, id="hf-gpt2"),
    pytest.param("hf_trainer", ["--model", "bert", "--gradient_accumulation_steps", "2"], 1, 16, id="hf-bert"),
    pytest.param("hf_trainer", ["--evaluate"], 1, 8, id="hf-evaluates"),
    pytest.param("hf_trainer", [], 2, 16, id="hf-two-ranks"),
    pytest.param("hf_trainer", ["--streamed"], 2, 16, marks=fast, id="hf-dispatched"),
    pytest.param("lightning_fit", [], 1, 16, marks=fast, id="lightning"),
    pytest.param("lightning_fit", ["--devices", "2", "--strategy", "ddp"], 2, 32, id="lightning-ddp"),
    pytest.param("accelerate_loop", ["--gradient_accumulation_steps", "2"], 1, 32, marks=fast, id="accelerate"),
    pytest.param("accelerate_loop", [], 2, 32, id="accelerate-two-ranks"),
    pytest.param("timm_train", [], 1, 8, id="timm"),
    pytest.param("torchvision_train", [], 1, 4, id="torchvision"),
    pytest.param("sequence_first", [], 1, None, marks=fast, id="sequence-first"),
    pytest.param("sequence_first", ["--padded"], 1, 8, id="pad-sequence"),
    pytest.param("closure", [], 1, 32, marks=fast, id="lbfgs"),
    pytest.param("closure", ["--optimizer", "AdamW"], 1, 32, id="closure"),
    pytest.param("unshuffled", [], 1, 32, id="mnist-unshuffled"),
    pytest.param("unshuffled", ["--epoch", "80", "--last", "drop"], 1, 32, id="short-epochs"),
    pytest.param("spawned", [], 2, 32, id="spawned"),
    pytest.param("self_made_loop", [], 1, None, id="nanogpt"),
    pytest.param("gan", [], 1, 16, id="gan"),
    pytest.param("fsdp2", [], 2, 16, id="fsdp2"),
    pytest.param("odd_data", ["--kind", "iterable"], 1, 16, id="iterable"),
    pytest.param("odd_data", ["--kind", "batch_sampler"], 1, 16, id="batch-sampler"),
    pytest.param("odd_data", ["--kind", "dict"], 1, 16, id="dict-batches"),
    pytest.param("odd_data", ["--kind", "nested"], 1, 16, id="nested-batches"),
    pytest.param("odd_data", ["--kind", "stateful"], 1, 16, id="stateful"),
]
EIGHT_STEPS = ["--schedule", "active=8"]  # from the third on; the programs make 12


@pytest.mark.parametrize(("name", "arguments", "ranks", "samples"), PROGRAMS)
def test_recording_changes_nothing_and_counts_what_the_program_counts(trainer, name, arguments, ranks, samples):
    command = trainer.command(name, *arguments, ranks=ranks)
    plain = trainer.plain(command)
    recorded, report = trainer.record(command, *EIGHT_STEPS)
    assert recorded["losses"] == plain["losses"], "bits of the losses"
    traces = report["traces"]
    assert sorted(trace["rank"] or 0 for trace in traces) == list(range(ranks))
    for trace in traces:
        assert trace["steps"]["count"] == 8
        assert trace["samples_per_step"] == samples
        if name == "hf_trainer":
            assert trace["tokens_per_step"] == 24 * samples, "sequences of 24"
        elif name != "sequence_first":
            assert trace["tokens_per_step"] is None
        assert trace["dropped"] == 0
    check_rate(trainer, recorded, traces[0])
    check_advice(name, report["advice"], traces[0])


def check_rate(trainer, outcome, trace):
    """Compares the steps and their samples with the program's own. Each recorded step lasts from one update to the
    next, so the program ends one of its own within. Lengths are not compared: a busy machine holds a program up
    anywhere."""
    assert own_ends(trainer, outcome, trace) == [[step] for step in range(1, 9)]
    if trace["samples_per_step"] is not None:
        assert 7 * trace["samples_per_step"] == sum(outcome["samples"][3:10])


def own_ends(trainer, outcome, trace):
    """For each recorded step, the program's own steps that end within, by the clock of time.perf_counter()."""
    recorded = json.loads(gzip.decompress((trainer.folder / trace["path"]).read_bytes()))
    clocks = recorded["redline"]["clocks"][0]
    base_ns = recorded["baseTimeNanoseconds"] - clocks["realtime_ns"] + clocks["monotonic_ns"]
    steps = [event for event in recorded["traceEvents"] if event["name"].startswith("ProfilerStep#")]
    begins_s = [(base_ns + event["ts"] * 1000) / 1e9 for event in steps]
    spans_s = [(begin, begin + event["dur"] / 1e6) for begin, event in zip(begins_s, steps, strict=True)]
    return [[step for step, end in enumerate(outcome["ends_s"]) if begin <= end < till] for begin, till in spans_s]


def check_advice(name, findings, trace):
    by_rule = {finding["rule"]: finding for finding in findings}
    words = " ".join(finding["message"] for finding in findings)
    if name != "fsdp2":
        assert "prefetch the next shard" not in words
    if name in ("closure", "lightning_fit"):
        # Forward and backward in the closure are no update, so without updates they would still be there.
        host_ns = {phase: times["host_ns"] for phase, times in trace["phases"].items()}
        assert host_ns["forward"] > 0 and host_ns["backward"] > 0
        at_most = sum(host_ns.values()) / (sum(host_ns.values()) - host_ns["optimizer"])
        assert (by_rule.get("optimizer_per_parameter", {}).get("estimated_speedup") or 1) <= at_most
    for finding in findings:
        assert finding["knob"] != "num_workers=0..16"


def test_a_closure_is_forward_and_backward(trainer):
    """LBFGS evaluates the closure many times within one step."""
    _, report = trainer.record(trainer.command("closure"))
    phases = report["traces"][0]["phases"]
    assert phases["forward"]["host_ns"] > 0
    assert phases["backward"]["host_ns"] > 0
    assert "LBFGS" not in " ".join(finding["message"] for finding in report["advice"])


@pytest.mark.fast
@pytest.mark.parametrize("arguments", [[], ["--optimizer"]])
def test_of_a_model_in_inference_a_batch_is_a_step(trainer, arguments):
    command = trainer.command("inference", *arguments, "--steps", "105")
    plain = trainer.plain(command)
    recorded, report = trainer.record(command)
    assert recorded["losses"] == plain["losses"]
    (trace,) = report["traces"]
    durations_ns = trace["steps"]["durations_ns"]
    assert 10 <= len(durations_ns) <= 100
    assert trace["samples_per_step"] == 16
    assert trace["latency_ns"]["p50"] <= trace["latency_ns"]["p90"] <= max(durations_ns)
    # Of the first pass, which has 64 batches; batch 2 is the first recorded one.
    assert own_ends(trainer, recorded, trace)[:61] == [[batch] for batch in range(2, 63)][: len(durations_ns)]


@pytest.mark.fast
def test_a_validation_before_the_training_is_no_step(trainer):
    """This is Lightning's sanity check, before which it has made its optimizer."""
    command = trainer.command("lightning_fit", "--validate")
    recorded, report = trainer.record(command, *EIGHT_STEPS)
    (trace,) = report["traces"]
    assert (trace["steps"]["count"], trace["samples_per_step"], trace["latency_ns"]) == (8, 16, None)
    check_rate(trainer, recorded, trace)


PLANTED = [
    pytest.param("slow_loader", 1, "dataloader_wait", marks=fast),
    pytest.param("tiny_operators", 1, "tiny_operators"),
    pytest.param("uneven_ranks", 2, "straggler"),
]


@pytest.mark.parametrize(("cause", "ranks", "rule"), PLANTED)
def test_a_planted_cause_is_named_first(trainer, cause, ranks, rule):
    _, report = trainer.record(trainer.command("planted", "--cause", cause, ranks=ranks))
    rules = [finding["rule"] for finding in report["advice"]]
    assert rule in rules[:2], rules
    if rule == "straggler":
        (late,) = [finding for finding in report["advice"] if finding["rule"] == rule]
        assert late["evidence"]["rank"] == 1

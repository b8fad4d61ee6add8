"""Tokens a second are known, in trials and for recorded steps, if a sample is a sequence."""

import pathlib

import pytest
import step_logs
from knob_runs import of_type
from recording import load

SCRIPT = pathlib.Path(__file__).with_name("scripts") / "sequences.py"
# The categories of a table are no tokens. If the script divides its batches, nobody knows its samples.
UNKNOWN = ("table", "micro_batches")


@pytest.mark.parametrize("how", ["attention", "sequence_first", "named", "sliced", *UNKNOWN])
def test_a_trial_counts_the_ids_that_the_model_gets(with_knobs, how):
    last = of_type(with_knobs({}, SCRIPT, how, trial=True), "step")[-1]
    assert last["samples"] == 480
    assert last.get("tokens") == (None if how in UNKNOWN else 4800)


def test_trace_and_log_count_the_same_ids(succeed, program, python, tmp_path):
    """Scripts that predict the next token read one more than the model gets."""
    succeed([program("redline"), "record", "-o", tmp_path, "--", python, SCRIPT, "sliced"])
    (trace,) = tmp_path.glob("*.json.gz")
    assert load(trace)["redline"]["tokens_per_step"] == 240
    assert {step["tokens"] for step in step_logs.read(tmp_path / "rank0.steps.redline").steps} == {240}

"""A trial and a step log count the same of a script, although each has hooks of its own."""

import pathlib
import re

import pytest
from knob_runs import of_type

SCRIPT = pathlib.Path(__file__).with_name("scripts") / "ways_to_train.py"
HELPERS = ("loss_of", "step", "train", "evaluate", "batches")
WAYS = [name for name in re.findall(r"^def (\w+)\(\):", SCRIPT.read_text(), re.MULTILINE) if name not in HELPERS]


@pytest.mark.parametrize("way", WAYS)
def test_a_trial_counts_what_the_step_log_counts(log_of, with_knobs, way):
    _, log = log_of(SCRIPT, way)
    trial = of_type(with_knobs({}, SCRIPT, way, trial=True), "step")[-1]
    logged = [sum(step[name] or 0 for step in log.steps) for name in ("steps", "samples")]
    assert [trial["steps"], trial["samples"]] == logged
    assert ("evaluation" in trial) == any(step["evaluation"] for step in log.steps)

"""The knob accumulation either trains as the larger batch would, or leaves a script as it is and says why."""

import json
import os
import subprocess

import pytest

from conftest import BUILD, ROOT, need

BY_HAND = "accumulation not applied: the script clears or changes gradients itself after each batch"
SEVERAL = "accumulation not applied: several optimizers step"
GIVEN = "accumulation not applied: the script gives backward() gradients"


@pytest.fixture(scope="module")
def cases(python):
    libraries = {"REDLINE_LIBRARY": need(BUILD / "lib/libredline.so", "build it"), "PYTHONPATH": ROOT / "python"}
    done = subprocess.run([python, ROOT / "tests/python/scripts/accumulation_cases.py"], capture_output=True, text=True,
                          env={**os.environ, **{name: str(path) for name, path in libraries.items()}}, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ["plain", "gradient of a loss"])
def test_batches_of_a_step_train_as_one(cases, name):
    assert cases[name]["knob"]["notes"] == []
    assert cases[name]["knob"]["weights"] == pytest.approx(cases[name]["large"]["weights"])


@pytest.mark.parametrize(("name", "why"), [
    ("gradients of losses", GIVEN), ("unscales", BY_HAND), ("unscales data", BY_HAND), ("two optimizers", SEVERAL),
])
def test_what_the_script_does_to_gradients_is_left_alone(cases, name, why):
    assert cases[name]["knob"]["notes"] == [why]
    assert cases[name]["knob"]["weights"] == pytest.approx(cases[name]["plain"]["weights"])


def test_a_schedule_that_is_made_within_a_step_begins(cases):
    assert cases["new schedule"]["knob"]["rates"] == [0.5, 0.5]


def test_no_epoch_of_a_schedule_is_lost(cases):
    assert cases["short epochs"]["knob"] == {"epochs": cases["short epochs"]["plain"]["epochs"], "notes": []}


@pytest.mark.parametrize(("name", "why"), [
    ("ranks clear", BY_HAND), ("ranks of two optimizers", SEVERAL),
])
def test_ranks_of_a_script_that_is_left_alone_stay_the_same(cases, name, why):
    knob = cases[name]["knob"]
    assert (knob["notes"], knob["apart"], set(knob["reduces"])) == ([why], 0, {True})

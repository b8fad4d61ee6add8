"""The knob accumulation either trains as the larger batch would, or leaves a script as it is and says why."""

import json

import pytest

from conftest import ROOT

BY_HAND = "accumulation not applied: the script clears or changes gradients itself after each batch"
SEVERAL = "accumulation not applied: several optimizers step"
GIVEN = "accumulation not applied: the script gives backward() gradients"


@pytest.fixture(scope="module")
def cases(succeed, python, library):
    environment = {"REDLINE_LIBRARY": str(library("libredline.so")), "PYTHONPATH": str(ROOT / "python")}
    script = ROOT / "tests/python/scripts/accumulation_cases.py"
    return json.loads(succeed([python, script], environment=environment).stdout)


@pytest.mark.parametrize("name", ["plain", "gradient of a loss"])
def test_batches_of_a_step_train_as_one(cases, name):
    assert cases[name]["knob"]["notes"] == []
    # Four gradients of 4 samples are summed in another order than one of 16.
    assert cases[name]["knob"]["weights"] == pytest.approx(cases[name]["large"]["weights"], rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(("name", "why"), [
    ("gradients of losses", GIVEN), ("unscales", BY_HAND), ("unscales data", BY_HAND), ("two optimizers", SEVERAL),
])
def test_what_the_script_does_to_gradients_is_left_alone(cases, name, why):
    assert cases[name]["knob"]["notes"] == [why]
    assert cases[name]["knob"]["weights"] == pytest.approx(cases[name]["plain"]["weights"])


def test_a_script_whose_own_accumulation_grows_keeps_it_from_then_on(cases):
    knob = cases["grows"]["knob"]
    assert knob["notes"] == ["accumulation not applied: the script accumulates 2 batches itself"]
    assert knob["weights"] == pytest.approx(cases["grows"]["large"]["weights"], rel=1e-4, abs=1e-6)


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

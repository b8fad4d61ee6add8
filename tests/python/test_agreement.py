"""What we write is what torch.profiler writes: both record the same steps of three models at once.

Where the two may differ, and why, stands in MAY_DIFFER and nowhere else.
"""

import collections
import json

import pytest
import torch
from torch.profiler import ProfilerActivity, record_function

import agreement_models
from recording import import_redline, load, slices

MAY_DIFFER = {
    "External id": "a number of the recorder's own; ours counts operators in the order they end",
    "Ev Idx": "likewise",
    "Record function id": "torch.profiler writes 0 unless an execution trace is recorded too",
    "flops": "torch.profiler has them in events(), not in the trace",
}
OPERATORS = ("cpu_op", "user_annotation")
STEPS = 3


@pytest.fixture(params=["small_cnn", "residual_network", "transformer"], scope="module")
def recorded(request, tmp_path_factory):
    """Their trace, our trace, and their events of one model."""
    folder = tmp_path_factory.mktemp(request.param)
    redline = import_redline()
    torch.manual_seed(0)
    step = getattr(agreement_models, request.param)()
    step()
    options = {"record_shapes": True, "profile_memory": True, "with_flops": True}
    with redline.profile(**options) as ours:
        with torch.profiler.profile(activities=[ProfilerActivity.CPU], **options) as theirs:
            for number in range(STEPS):
                with record_function(f"ProfilerStep#{number}"):
                    step()
    theirs.export_chrome_trace(str(folder / "theirs.json"))
    ours.export_chrome_trace(folder / "ours.json")
    events = theirs.profiler.kineto_results.events()
    return load(folder / "theirs.json"), load(folder / "ours.json"), events


def operators_of_steps(trace):
    """By step, each operator with its arguments, as often as it ran."""
    operators = [event for category in OPERATORS for event in slices(trace, category)]
    steps = [event for event in operators if event["name"].startswith("ProfilerStep#")]
    return {
        step["name"]: collections.Counter(
            description(event)
            for event in operators
            if step["ts"] <= event["ts"] <= step["ts"] + step["dur"]
        )
        for step in steps
    }


def description(event):
    arguments = {key: event["args"][key] for key in event["args"].keys() - MAY_DIFFER.keys()}
    return event["cat"], event["name"], json.dumps(arguments, sort_keys=True)


def memory(trace):
    """All memory events in order of time, without it."""
    events = [event for event in trace["traceEvents"] if event.get("cat") == "cpu_instant_event"]
    events.sort(key=lambda event: event["ts"])
    return [description(event) for event in events]


def test_each_step_has_the_same_operators_with_the_same_inputs(recorded):
    theirs, ours, _ = recorded
    steps = operators_of_steps(theirs)
    assert len(steps) == STEPS and all(steps.values())
    assert operators_of_steps(ours) == steps


def test_each_allocation_and_release_is_the_same(recorded):
    theirs, ours, _ = recorded
    assert len(memory(theirs)) > 50
    assert memory(ours) == memory(theirs)


def test_flops_are_the_same(recorded):
    _, ours, events = recorded
    theirs = sorted((event.name(), event.flops()) for event in events if event.flops() > 0)
    assert theirs
    assert theirs == sorted(
        (event["name"], event["args"]["flops"])
        for event in slices(ours, "cpu_op")
        if "flops" in event["args"]
    )


def test_arrows_join_the_same_operators(recorded):
    theirs, ours, _ = recorded
    assert arrows(theirs)
    assert arrows(ours) == arrows(theirs)


def arrows(trace):
    """Names at both ends of each fwdbwd arrow, as often as it is drawn."""
    names = {(event["tid"], event["ts"]): event["name"] for event in slices(trace, "cpu_op")}
    starts, ends = (
        {event["id"]: names.get((event["tid"], event["ts"])) for event in trace["traceEvents"]
         if event["ph"] == phase}
        for phase in "sf"
    )
    return collections.Counter((starts[number], ends[number]) for number in starts)

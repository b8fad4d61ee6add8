"""Our traces agree with torch.profiler's: both record the same steps of three models at once.

MAY_DIFFER alone says where the two may differ, and why.
"""

import collections
import json
import typing

import pytest
import torch
from torch.profiler import ProfilerActivity, record_function

import agreement_models
from recording import import_redline, load, slices

MAY_DIFFER = {
    "External id": "a number of the recorder's own; ours counts operators in the order they end",
    "Ev Idx": "an event's number in torch.profiler's own list, which no tool uses",
    "Record function id": "torch.profiler writes 0 unless an execution trace is recorded too",
    "flops": "torch.profiler has them in events(), not in the trace",
}
OPERATORS = ("cpu_op", "user_annotation")
STEPS = 3


class Recorded(typing.NamedTuple):
    """What both recorded: traces as JSON, events as FunctionEvents, and Kineto's own events."""

    theirs: dict
    ours: dict
    their_events: list
    our_events: list
    kineto_events: list


@pytest.fixture(
    params=["small_cnn", "residual_network", "transformer", "unusual_inputs"], scope="module"
)
def recorded(request, tmp_path_factory):
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
    return Recorded(
        load(folder / "theirs.json"), load(folder / "ours.json"), theirs.events(), ours.events(),
        theirs.profiler.kineto_results.events(),
    )


def operators_of_steps(trace):
    """For each step, its operators with their arguments, as often as they ran."""
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
    """All memory events in order of time, without their times."""
    events = [event for event in trace["traceEvents"] if event.get("cat") == "cpu_instant_event"]
    events.sort(key=lambda event: event["ts"])
    return [description(event) for event in events]


def test_each_step_has_the_same_operators_with_the_same_inputs(recorded):
    steps = operators_of_steps(recorded.theirs)
    assert len(steps) == STEPS and all(steps.values())
    assert operators_of_steps(recorded.ours) == steps


def test_each_allocation_and_release_is_the_same(recorded):
    assert len(memory(recorded.theirs)) > 50
    assert memory(recorded.ours) == memory(recorded.theirs)


def test_flops_are_the_same(recorded):
    theirs = sorted(
        (event.name(), event.flops()) for event in recorded.kineto_events if event.flops() > 0
    )
    assert theirs
    assert theirs == sorted(
        (event["name"], event["args"]["flops"])
        for event in slices(recorded.ours, "cpu_op")
        if "flops" in event["args"]
    )


def test_arrows_join_the_same_operators(recorded):
    assert arrows(recorded.theirs)
    assert arrows(recorded.ours) == arrows(recorded.theirs)


def arrows(trace):
    """The names at both ends of all fwdbwd arrows, as often as they are drawn."""
    names = {(event["tid"], event["ts"]): event["name"] for event in slices(trace, "cpu_op")}
    starts, ends = (
        {event["id"]: names.get((event["tid"], event["ts"])) for event in trace["traceEvents"]
         if event["ph"] == phase}
        for phase in "sf"
    )
    return collections.Counter((starts[number], ends[number]) for number in starts)


def test_events_and_their_averages_are_the_same(recorded):
    assert counted(recorded.our_events) == counted(recorded.their_events)
    for by_shape in (False, True):
        ours, theirs = (
            collections.Counter(
                (row.key, str(row.input_shapes), row.count, row.flops, row.self_cpu_memory_usage)
                for row in events.key_averages(by_shape)
            )
            for events in (recorded.our_events, recorded.their_events)
        )
        assert ours == theirs


def counted(events):
    """What FunctionEvents hold, without times and numbers of threads."""
    return collections.Counter(
        (
            event.name, event.trace_name, event.scope, event.sequence_nr, event.flops,
            str(event.input_shapes), str(event.concrete_inputs), event.cpu_memory_usage,
            event.self_cpu_memory_usage, event.cpu_parent and event.cpu_parent.name,
            len(event.cpu_children), event.is_user_annotation, event.device_type,
        )
        for event in events
    )

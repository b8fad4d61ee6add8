"""redline.profile's events(), beyond what test_agreement.py compares: windows, pauses, threads."""

import json
import threading

import pytest
import torch
from recording import import_redline, load, names

redline = import_redline()


def operators(events):
    return [event.name for event in events if event.name in ("aten::add", "aten::mul", "aten::sub")]


def one_operator_a_step(profile):
    """Steps 0 to 5 of two windows: step 2 is recorded, and step 5."""
    x = torch.ones(2)
    with profile:
        for step in range(6):
            (torch.add if step < 3 else torch.mul)(x, x)
            profile.step()


@pytest.mark.parametrize("acc_events, expected", [
    (False, ["aten::mul"]),
    (True, ["aten::add", "aten::mul"]),
])
def test_events_are_of_the_last_window_or_of_all(acc_events, expected):
    profile = redline.profile(
        schedule=redline.schedule(wait=1, warmup=1, active=1), acc_events=acc_events
    )
    one_operator_a_step(profile)
    assert sorted(operators(profile.events())) == expected


def test_events_in_a_handler_are_of_its_window():
    seen = []
    profile = redline.profile(
        schedule=redline.schedule(wait=1, warmup=1, active=1),
        on_trace_ready=lambda ready: seen.append(operators(ready.events())),
    )
    one_operator_a_step(profile)
    assert seen == [["aten::add"], ["aten::mul"]]


def test_collection_is_toggled():
    x = torch.ones(2)
    with redline.profile() as profile:
        torch.add(x, x)
        profile.toggle_collection_dynamic(False, [redline.ProfilerActivity.CPU])
        torch.mul(x, x)
        profile.toggle_collection_dynamic(True, [redline.ProfilerActivity.CUDA])
        torch.mul(x, x)
        profile.toggle_collection_dynamic(True, [redline.ProfilerActivity.CPU])
        torch.sub(x, x)
    assert operators(profile.events()) == ["aten::add", "aten::sub"]


def test_memory_is_counted_for_the_operators_of_the_thread_that_allocated_it():
    """torch.profiler counts it for all operators that ran at the time."""
    begun, done = threading.Event(), threading.Event()

    def allocate():
        begun.wait()
        torch.empty(1000, dtype=torch.uint8)
        done.set()

    thread = threading.Thread(target=allocate, daemon=True)
    thread.start()
    with redline.profile(profile_memory=True) as profile:
        with redline.record_function("waits"):
            begun.set()
            done.wait()
        thread.join()
        kept = torch.empty(500, dtype=torch.uint8)
    by_name = {event.key: event for event in profile.key_averages()}
    assert by_name["waits"].cpu_memory_usage == 0
    assert by_name["aten::empty"].cpu_memory_usage == 1500
    assert by_name["[memory]"].cpu_memory_usage == -1000
    assert len(kept) == 500


def test_a_trace_id_of_the_users_own(tmp_path):
    with redline.profile(custom_trace_id_callback=lambda: "job 7") as profile:
        pass
    assert profile.get_trace_id() == "job 7"
    profile.export_chrome_trace(tmp_path / "trace.json")
    assert load(tmp_path / "trace.json")["trace_id"] == "job 7"


def test_an_execution_trace_is_of_the_window(tmp_path):
    path = tmp_path / "execution.json"
    x = torch.ones(2)
    observer = redline.ExecutionTraceObserver().register_callback(str(path))
    profile = redline.profile(
        schedule=redline.schedule(wait=1, warmup=1, active=1), execution_trace_observer=observer
    )
    one_operator_a_step(profile)
    nodes = [node["name"] for node in json.loads(path.read_text())["nodes"]]
    assert (nodes.count("aten::add"), nodes.count("aten::mul")) == (1, 1)
    assert names(trace_of(profile, tmp_path), "cpu_op")["aten::mul"] == 1
    assert len(x) == 2


def trace_of(profile, folder):
    profile.export_chrome_trace(folder / "trace.json")
    return load(folder / "trace.json")


def test_events_need_a_stopped_window():
    profile = redline.profile()
    with pytest.raises(redline.RecorderError, match="no stopped window"):
        profile.events()

"""redline.profile's events(), beyond what test_agreement.py compares: windows, pauses, threads."""

import concurrent.futures
import ctypes
import inspect
import json
import re
import sys
import threading
import warnings

import pytest
import torch
from recording import import_redline, load, names
from torch._C._profiler import _ExperimentalConfig
from torch.autograd.profiler_util import EventList

redline = import_redline()
from redline._events import event_list  # noqa: E402  The package's path is known only now.


def operators(events):
    return [event.name for event in events if event.name in ("aten::add", "aten::mul", "aten::sub")]


def one_operator_a_step(profile):
    """Runs steps 0 to 5 in two windows: steps 2 and 5 are recorded."""
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


def test_windows_are_kept_while_the_next_one_is_recorded():
    profile = redline.profile(schedule=redline.schedule(wait=0, warmup=1, active=1), acc_events=True)
    x = torch.ones(2)
    with profile, warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            torch.add(x, x)
            profile.step()
        assert operators(profile.events()) == ["aten::add"]
        torch.mul(x, x)
        profile.step()
    assert sorted(operators(profile.events())) == ["aten::add", "aten::mul"]


def test_windows_are_kept_though_another_profile_records_between_them():
    profile, other = redline.profile(acc_events=True), redline.profile()
    x = torch.ones(2)
    for recorded, operator in (profile, torch.add), (other, torch.sub), (profile, torch.mul):
        with recorded:
            operator(x, x)
    assert sorted(operators(profile.events())) == ["aten::add", "aten::mul"]


def test_windows_are_kept_when_a_later_one_fails():
    profile = redline.profile(acc_events=True)
    x = torch.ones(2)
    with profile:
        torch.add(x, x)
    profile.preset_metadata_json("broken", "{")
    with pytest.warns(UserWarning, match="redline: start: metadata broken"), profile:
        torch.mul(x, x)
    assert operators(profile.events()) == ["aten::add"]


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


def test_a_window_that_ends_in_a_pause_tells_which_threads_lack_frames(tmp_path):
    begun, done = threading.Event(), threading.Event()

    def replace_the_profile_function():
        sys.setprofile(lambda *_: None)
        begun.set()
        done.wait()

    with redline.profile(with_stack=True) as profile:
        thread = threading.Thread(target=replace_the_profile_function)
        thread.start()
        begun.wait()
        profile.toggle_collection_dynamic(False, [redline.ProfilerActivity.CPU])
    done.set()
    thread.join()
    assert trace_of(profile, tmp_path)["redline"]["threads_without_python_frames"] == 1


def test_memory_is_counted_for_the_operators_of_the_thread_that_allocated_it():
    """torch.profiler counts it for all operators that ran at that time."""
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


def test_a_trace_id_is_none_until_it_is_known():
    for given, early in ({"custom_trace_id_callback": lambda: "job 7"}, "job 7"), ({}, None):
        profile = redline.profile(**given)
        assert profile.get_trace_id() is None
        with profile:
            assert profile.get_trace_id() == early
        assert profile.get_trace_id() == early or len(profile.get_trace_id()) == 32


def test_averages_take_the_arguments_of_torchs_by_place():
    with redline.profile() as profile:
        torch.ones(2) + 1
    assert {row.key for row in profile.key_averages(False, 0)} >= {"aten::ones", "aten::add"}
    if "group_by_overload_name" in inspect.signature(EventList.key_averages).parameters:
        assert {row.key for row in profile.key_averages(False, 0, True)} >= {"aten::ones", "aten::add"}


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


def run_with_stacks(profile_class, path):
    """Events and exported stacks of one call, which stands on the same line for both profilers."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    profile = profile_class(
        activities=[redline.ProfilerActivity.CPU], with_stack=True,
        experimental_config=_ExperimentalConfig(verbose=True),
    )
    with profile:
        model(torch.ones(2, 4)).sum().backward()
    profile.export_stacks(str(path))
    stacks = [line.rpartition(" ")[0] for line in without_addresses(path.read_text()).splitlines()]
    return profile.events(), sorted(stacks)


def test_stacks_are_torch_profilers(tmp_path):
    """The stacks of backward functions are those of their forward operators."""
    run_with_stacks(redline.profile, tmp_path / "warm_up.txt")
    (ours, our_lines), (theirs, their_lines) = (
        run_with_stacks(profile, tmp_path / "stacks.txt")
        for profile in (redline.profile, torch.profiler.profile)
    )
    assert [(event.name, place(event)) for event in ours] == [
        # Since torch 2.15 Python calls are events, too.
        (event.name, place(event)) for event in theirs if not getattr(event, "is_python_function", False)
    ]
    assert any("nn.Module: Linear" in place(e) for e in ours if e.name == "AddmmBackward0")
    # By chance some operators take less than a microsecond and so have no line.
    assert set(our_lines) & set(their_lines)
    rows, expected = (
        sorted((row.key, place(row), row.count) for row in events.key_averages(False, 3))
        for events in (ours, theirs)
    )
    assert rows == expected


def without_addresses(text):
    return re.sub("0x[0-9a-f]+", "0x", text)


def place(event):
    return without_addresses("; ".join(event.stack))


def test_ranges_of_nvtx_are_no_events_of_torch():
    nvtx = {"ph": "X", "cat": "user_annotation", "name": "forward", "tid": 1, "ts": "5.000",
            "dur": "1.000", "args": {"Domain": "default"}}
    window = {"ph": "X", "cat": "Trace", "name": "Redline (0)", "tid": "Redline", "ts": "1.000",
              "dur": "9.000", "args": {}}
    assert event_list({"traceEvents": [nvtx, window]}, profile_memory=False, with_flops=False) == []


class HeapUse(ctypes.Structure):
    """What mallinfo2() tells."""

    _fields_ = [("_before", ctypes.c_size_t * 7), ("uordblks", ctypes.c_size_t), ("_after", ctypes.c_size_t * 2)]


def test_scopes_that_end_on_another_thread_leave_no_memory_behind():
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = HeapUse

    def end_all(scopes):
        while scopes:
            torch.ops.profiler._record_function_exit._RecordFunction(scopes.pop())

    def heap_after_a_window():
        with redline.profile(), concurrent.futures.ThreadPoolExecutor(1) as other:
            for _ in range(10):
                scopes = [torch.ops.profiler._record_function_enter_new("scope", None) for _ in range(1000)]
                other.submit(end_all, scopes).result()
        return mallinfo2().uordblks

    heap = [heap_after_a_window() for _ in range(5)]
    assert heap[4] - heap[1] < 3 * 10_000 * 40  # the first has what is needed only once; a scope takes 64 bytes

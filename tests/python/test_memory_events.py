"""profile_memory: allocations and releases of every thread, whoever else listens to LibTorch."""

import threading

import pytest
import torch
from torch.profiler import ProfilerActivity

from recording import import_redline, load, traces

pytestmark = pytest.mark.usefixtures("no_garbage_collection")

KILOBYTE = torch.empty(256)  # as large as the tensors that are allocated below


def allocate(count):
    for _ in range(count):
        torch.empty_like(KILOBYTE)


def memory(path, name="[memory]"):
    trace = load(path)
    events = [event for event in trace["traceEvents"] if event["name"] == name]
    return sorted(events, key=lambda event: event["ts"])


def kilobytes(path):
    return [event["args"]["Bytes"] for event in memory(path)]


def theirs():
    return torch.profiler.profile(activities=[ProfilerActivity.CPU], profile_memory=True)


def test_a_thread_that_knows_nothing_of_profilers_is_seen(tmp_path):
    with import_redline().profile(profile_memory=True) as ours:
        thread = threading.Thread(target=allocate, args=[3])
        thread.start()
        thread.join()
        allocate(1)
    ours.export_chrome_trace(tmp_path / "ours.json")
    assert kilobytes(tmp_path / "ours.json") == [1024, -1024] * 4
    threads = [event["tid"] for event in memory(tmp_path / "ours.json")]
    assert len(set(threads[:6])) == 1 and threads[6] == threads[7] != threads[0]


def test_torch_profiler_may_come_and_go_meanwhile(tmp_path):
    ours = import_redline().profile(profile_memory=True)
    both = theirs()
    both.start()
    allocate(1)
    ours.start()
    allocate(2)
    both.stop()
    allocate(3)
    within = theirs()
    with within:
        allocate(4)
    ours.stop()
    allocate(5)
    after = theirs()
    with after:
        allocate(6)
    for recorded, count in ((both, 3), (within, 4), (after, 6), (ours, 9)):
        recorded.export_chrome_trace(str(tmp_path / "trace.json"))
        assert kilobytes(tmp_path / "trace.json") == [1024, -1024] * count


def test_without_the_option_there_is_none(tmp_path):
    with import_redline().profile(record_shapes=True) as ours:
        allocate(1)
    ours.export_chrome_trace(tmp_path / "ours.json")
    assert memory(tmp_path / "ours.json") == []


def test_memory_that_was_asked_for_in_vain(tmp_path):
    with import_redline().profile(profile_memory=True) as ours:
        try:
            torch.empty(1 << 50, dtype=torch.uint8)
        except RuntimeError:
            pass
    ours.export_chrome_trace(tmp_path / "ours.json")
    (event,) = memory(tmp_path / "ours.json", "[OutOfMemory]")
    assert event["args"]["Bytes"] == 1 << 50
    assert "Addr" not in event["args"]


def test_a_libtorch_program_records_it_too(succeed, program, tmp_path):
    command = [program("redline"), "record", "--memory", "--flops", "-o", tmp_path, "--"]
    succeed([*command, program("mnist"), "--steps", "6"])
    (trace,) = traces(tmp_path)
    events = trace["traceEvents"]
    sizes = [event["args"]["Bytes"] for event in events if event["name"] == "[memory]"]
    assert min(sizes) < 0 < max(sizes)
    assert any(event.get("args", {}).get("flops", 0) > 0 for event in events)

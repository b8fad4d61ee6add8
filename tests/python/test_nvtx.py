"""NVTX ranges and marks of the recorded process are in the trace; torch.cuda.nvtx works without a GPU."""

import pytest
from recording import slices, traces

SCRIPT = """
import threading
import torch
from torch.cuda import nvtx

model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    handle = nvtx.range_start("prefetch")
    with nvtx.range("step {}", step):
        nvtx.range_push("forward")
        loss = model(torch.ones(2, 4)).sum()
        print("level", nvtx.range_pop())
        nvtx.mark('a "mark"')
        loss.backward()
    ender = threading.Thread(target=nvtx.range_end, args=(handle,))
    ender.start()
    ender.join()
    optimizer.step()
"""


@pytest.fixture
def record_script(tmp_path, succeed, program, python):
    def record(environment=None):
        (tmp_path / "train.py").write_text(SCRIPT)
        command = [program("redline"), "record", "-o", tmp_path / "traces", "--", python, tmp_path / "train.py"]
        result = succeed(command, environment=environment)
        (trace,) = traces(tmp_path / "traces")
        return result, trace

    return record


def test_ranges_and_marks_of_torch_are_in_the_trace(record_script):
    result, trace = record_script()
    assert result.stdout.splitlines() == ["level 1"] * 6
    ranges = {event["name"]: event for event in slices(trace, "user_annotation")}
    assert {"step 2", "step 3", "step 4", "forward"} <= ranges.keys()
    assert "step 1" not in ranges
    outer, inner = ranges["step 4"], ranges["forward"]
    assert outer["ts"] <= inner["ts"] <= inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"]
    assert inner["args"] == {"Domain": "default"}
    marks = [event for event in trace["traceEvents"] if event["ph"] == "i" and event["name"] == 'a "mark"']
    assert [mark["cat"] for mark in marks] == ["user_annotation"] * 3


def test_a_range_that_another_thread_ends_is_an_async_event(record_script):
    _, trace = record_script()
    starts, ends = (
        {event["id"]: event for event in trace["traceEvents"] if event["ph"] == phase} for phase in "be"
    )
    assert len(starts) == 3 and starts.keys() == ends.keys()
    for number, start in starts.items():
        end = ends[number]
        assert start["name"] == end["name"] == "prefetch" and start["cat"] == end["cat"] == "nvtx"
        assert start["ts"] < end["ts"] and start["tid"] != end["tid"]


def test_the_users_own_nvtx_tool_keeps_the_ranges(record_script):
    result, trace = record_script({"NVTX_INJECTION64_PATH": "/nowhere/libtool.so"})
    assert "NVTX ranges go to /nowhere/libtool.so" in result.stderr
    assert "forward" not in {event["name"] for event in trace["traceEvents"]}

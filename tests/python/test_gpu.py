"""LibTorch's operators on a machine whose driver and CUPTI are stubs: what is launched inside an
operator has its id, and lies inside the user's annotation on the GPU."""

import os
import subprocess
import sys

from conftest import BUILD, ROOT, need
from recording import CURE, load, slices

LAUNCHES = """
import ctypes, os, struct, sys, threading, time
import torch, redline
from torch.utils._python_dispatch import TorchDispatchMode

stub = ctypes.CDLL(None)
call = stub["_ZN7redline4stub4callERKNS_5cupti9ApiRecordEi"]
emit = stub["_ZN7redline4stub4emitEPKvmi"]

class LaunchInEveryOperator(TorchDispatchMode):
    launches = 0
    def __torch_dispatch__(self, operator, types, arguments=(), keywords=None):
        LaunchInEveryOperator.launches = n = self.launches + 1
        now = time.monotonic_ns()
        call(struct.pack("IIQQIIII", 5, 211, now, now + 100, os.getpid(),
                         threading.get_native_id(), n, 0), 0)
        work = struct.pack("IIQQQIIIIHHIQQII", 2, 0, 64, now + 500, now + 564, 0, 1, 7, n, 0, 3, 0,
                           0, 0, 0, 0)
        emit(work, ctypes.c_size_t(len(work)), 0)
        return operator(*arguments, **(keywords or {}))

activities = {"all": None, "host": [redline.ProfilerActivity.CPU]}[sys.argv[1]]
with redline.profile(activities=activities) as profile:
    with redline.record_function("block"), LaunchInEveryOperator():
        torch.ones(3).relu()
profile.export_chrome_trace(sys.argv[2])
"""


def run(tmp_path, activities):
    stubs = [str(need(BUILD / "tests/stubs" / name, CURE)) for name in ("libcuda.so.1", "libcupti.so.13")]
    environment = dict(
        os.environ,
        LD_PRELOAD=":".join(stubs),
        PYTHONPATH=str(ROOT / "python"),
        REDLINE_LIBRARY=str(need(BUILD / "lib/libredline.so", CURE)),
        REDLINE_TORCH_LIBRARY=str(need(BUILD / "lib/libredline_torch.so", CURE)),
    )
    path = tmp_path / "trace.json"
    command = [sys.executable, "-c", LAUNCHES, activities, str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return load(path)


def test_gpu_work_belongs_to_its_operator_and_annotation(tmp_path):
    trace = run(tmp_path, "all")
    operators = {event["args"]["External id"]: event for event in slices(trace, "cpu_op")}
    calls = {event["args"]["correlation"]: event for event in slices(trace, "cuda_runtime")}
    work = slices(trace, "gpu_memset")
    assert len(work) == len(calls) >= 2
    for event in work:
        call = calls[event["args"]["correlation"]]
        operator = operators[event["args"]["External id"]]
        assert call["args"]["External id"] == event["args"]["External id"]
        assert operator["ts"] <= call["ts"] <= operator["ts"] + operator["dur"]
        assert operator["tid"] == call["tid"]
    [block] = slices(trace, "gpu_user_annotation")
    assert block["name"] == "block"
    assert (block["pid"], block["tid"]) == (0, 7)
    assert block["ts"] <= min(event["ts"] for event in work)
    assert trace["cupti_version"] == 130001


def test_activities_of_the_host_leave_the_gpu_out(tmp_path):
    trace = run(tmp_path, "host")
    assert slices(trace, "cpu_op")
    assert not slices(trace, "cuda_runtime")
    assert "gpu" not in trace["redline"]

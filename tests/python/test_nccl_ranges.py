"""The real NCCL, which comes with torch, pushes NVTX ranges in its calls before it looks for a GPU."""

import glob
import sysconfig

import pytest
from conftest import ROOT
from recording import built_libraries, load, slices

CALLS = """
import ctypes, redline, sys

nccl = ctypes.CDLL(sys.argv[1])
nccl.ncclAllReduce.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_size_t, ctypes.c_int, ctypes.c_int] + [ctypes.c_void_p] * 2
nccl.ncclSend.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int] + [ctypes.c_void_p] * 2
FLOAT32, SUM = 7, 0
with redline.profile() as profile:
    nccl.ncclGroupStart()
    nccl.ncclGroupEnd()
    assert nccl.ncclAllReduce(None, None, 1000, FLOAT32, SUM, None, None) != 0
    assert nccl.ncclSend(None, 24, FLOAT32, 3, None, None) != 0
profile.export_chrome_trace(sys.argv[2])
"""


def test_calls_of_the_real_nccl_are_ranges_with_what_they_move(succeed, python, tmp_path, library):
    found = glob.glob(sysconfig.get_path("purelib") + "/nvidia/nccl/lib/libnccl.so.2")
    if not found:
        pytest.skip("needs NCCL, which comes with torch's wheels for CUDA")
    injected = {"NVTX_INJECTION64_PATH": str(library("libredline.so")), "PYTHONPATH": str(ROOT / "python")}
    environment = {**injected, **built_libraries()}
    succeed([python, "-c", CALLS, found[0], tmp_path / "trace.json"], environment=environment)
    trace = load(tmp_path / "trace.json")
    ranges = {event["name"]: event["args"] for event in slices(trace, "user_annotation")}
    assert ranges["ncclGroupStart"] == {"Domain": "NCCL"}
    assert ranges["ncclAllReduce"]["Message size [bytes]"] == 4000
    assert ranges["ncclSend"]["Message size [bytes]"] == 96
    assert ranges["ncclSend"]["Peer rank"] == 3

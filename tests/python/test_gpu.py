"""LibTorch's operators on a machine whose driver and CUPTI are stubs. Work that is launched inside an operator has the
operator's id and lies inside the user's annotation on the GPU."""

import signal
import sys

import pytest
from conftest import BUILD, need
from recording import CURE, load, slices, stubbed_environment, traces
from running import run_to_end

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

activities = {"all": None, "host": [redline.ProfilerActivity.CPU],
              "gpu": [redline.ProfilerActivity.CUDA]}[sys.argv[1]]
with redline.profile(activities=activities) as profile:
    with redline.record_function("block"), LaunchInEveryOperator():
        torch.ones(3).relu()
profile.export_chrome_trace(sys.argv[2])
"""


def run_stubbed(script, *arguments):
    run_to_end([sys.executable, "-c", script, *arguments], environment=stubbed_environment(), check=True)


def run_launches(tmp_path, activities):
    path = tmp_path / "trace.json"
    run_stubbed(LAUNCHES, activities, path)
    return load(path)


def test_gpu_work_belongs_to_its_operator_and_annotation(tmp_path):
    trace = run_launches(tmp_path, "all")
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


# A script's first .cuda() comes within the window, as any first one of a LibTorch program.
CUDA_STARTS_WITHIN = LAUNCHES.replace("with redline.profile(", """
initialize = stub["_ZN7redline4stub20set_cuda_initializedEb"]
is_recorded = ctypes.CDLL(os.environ["REDLINE_LIBRARY"])["_ZN7redline8profiler18wants_external_idsEv"]
is_recorded.restype = ctypes.c_bool
initialize(ctypes.c_bool(False))
with redline.profile(""", 1).replace("    with redline.record_function", """    initialize(ctypes.c_bool(True))
    while not is_recorded():
        time.sleep(0.01)
    with redline.record_function""", 1)


def test_work_has_its_operator_also_if_cuda_starts_within_the_window(tmp_path):
    path = tmp_path / "trace.json"
    run_stubbed(CUDA_STARTS_WITHIN, "all", path)
    trace = load(path)
    operators = {event["args"]["External id"] for event in slices(trace, "cpu_op")}
    work = slices(trace, "gpu_memset")
    assert len(work) >= 2
    assert {event["args"]["External id"] for event in work} <= operators
    assert [event["name"] for event in slices(trace, "gpu_user_annotation")] == ["block"]


def test_activities_of_the_host_leave_the_gpu_out(tmp_path):
    trace = run_launches(tmp_path, "host")
    assert slices(trace, "cpu_op")
    assert not slices(trace, "cuda_runtime")
    assert trace["redline"]["gpu"] == {"off": "GPUs were left out of the recording"}


def test_activities_of_the_gpu_leave_operators_out(tmp_path):
    trace = run_launches(tmp_path, "gpu")
    assert not slices(trace, "cpu_op")
    work = slices(trace, "gpu_memset")
    assert len(work) >= 2
    assert all("External id" not in event["args"] for event in work)
    assert [event["name"] for event in slices(trace, "gpu_user_annotation")] == ["block"]


BESIDE_TORCH = """
import ctypes, sys, torch, redline

stub = ctypes.CDLL(None)
calls = stub["_ZN7redline4stub11cupti_callsEPKc"]
set_other_subscriber = stub["_ZN7redline4stub20set_other_subscriberEPKc"]

def window(name):
    with redline.profile() as profile:
        given_back = calls(b"cuptiUnsubscribe")
    profile.export_chrome_trace(f"{sys.argv[1]}/{name}.json")
    return given_back

assert window("free") == 1
set_other_subscriber(b"CUPTI")
window("idle")
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
    window("recording")
warm_up = torch.profiler.schedule(wait=0, warmup=1, active=1)
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], schedule=warm_up):
    window("warming_up")
window("idle_again")
"""


def test_the_place_in_cupti_is_torch_profilers_where_there_is_torch(tmp_path):
    run_stubbed(BESIDE_TORCH, tmp_path)
    gpu = {path.stem: load(path)["redline"]["gpu"] for path in tmp_path.glob("*.json")}
    in_use = {name: facts["off"] for name, facts in gpu.items() if "off" in facts}
    assert gpu.keys() == {"free", "idle", "recording", "warming_up", "idle_again"}
    assert in_use.keys() == {"recording", "warming_up"}
    assert all(why.startswith("torch.profiler uses CUPTI in this process") for why in in_use.values())


# Calls what torch.profiler calls where there is a GPU: CuptiActivityApi::enableCuptiActivities() with an empty
# std::set, whose header points to itself.
TORCH_PROFILER_BEGINS = """
import ctypes, sys, torch, redline

calls = ctypes.CDLL(None)["_ZN7redline4stub11cupti_callsEPKc"]
kineto = ctypes.CDLL(torch.__path__[0] + "/lib/libtorch_cpu.so")
singleton = kineto["_ZN9libkineto16CuptiActivityApi9singletonEv"]
singleton.restype = ctypes.c_void_p
enable = kineto["_ZN9libkineto16CuptiActivityApi21enableCuptiActivitiesERKSt3setINS_12ActivityTypeESt4lessIS2_ESaIS2_EEb"]
enable.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_bool]
no_kinds = (ctypes.c_uint64 * 6)()
no_kinds[3] = no_kinds[4] = ctypes.addressof(no_kinds) + 8

def count(function):
    return calls(function.encode())

with redline.profile() as profile:
    disabled, registered = count("cuptiActivityDisable"), count("cuptiActivityRegisterCallbacks")
    enable(singleton(), ctypes.addressof(no_kinds), False)
    assert count("cuptiActivityDisable") > disabled
    assert count("cuptiActivityRegisterCallbacks") == registered + 1
profile.export_chrome_trace(f"{sys.argv[1]}/ours.json")
enable(singleton(), ctypes.addressof(no_kinds), False)  # after the window
"""


def test_a_torch_profiler_that_begins_within_a_window_gets_the_place_in_cupti(tmp_path):
    run_stubbed(TORCH_PROFILER_BEGINS, tmp_path)
    gpu = load(tmp_path / "ours.json")["redline"]["gpu"]
    assert gpu["off_after"].startswith("torch.profiler began to record")


CUDA_PROGRAM = BUILD / "bin/stub_cuda_program"


def expect_its_launches(folder):
    [trace] = traces(folder)
    kernels = slices(trace, "kernel")
    assert [event["name"] for event in kernels] == ["add(float*)"] * 3
    assert len(slices(trace, "cuda_runtime")) == 3
    # The launches came right before the end, so the recorder must have asked for what CUPTI still held.
    assert trace["redline"]["gpu"]["incomplete"] == 0


@pytest.mark.parametrize("asked", [{}, {"REDLINE_RECORD": '{"directory": "elsewhere"}'}], ids=["by_default", "where"])
def test_a_cuda_program_is_recorded_by_injection(start, tmp_path, library, asked):
    environment = {"CUDA_INJECTION64_PATH": str(library("libredline.so")), **asked}
    with start([need(CUDA_PROGRAM, CURE)], environment=environment, cwd=tmp_path) as process:
        assert process.communicate(timeout=60) == ("", "")
        assert process.returncode == 0
    expect_its_launches(tmp_path / ("elsewhere" if asked else "traces"))


def test_a_cuda_program_is_recorded_by_the_command(succeed, tmp_path, program):
    record = [program("redline"), "record", "-o", tmp_path]
    done = succeed([*record, "--", need(CUDA_PROGRAM, CURE)])
    assert "1 trace in" in done.stderr
    expect_its_launches(tmp_path)


# What JAX and CuPy do: they start CUDA, and do not need torch.
WITHOUT_TORCH = """
import ctypes, os, struct, sys, threading, time
stub = ctypes.CDLL(None)
call = stub["_ZN7redline4stub4callERKNS_5cupti9ApiRecordEi"]
stub["cuInit"](0)
for correlation in range(1, int(sys.argv[1]) + 1):
    now = time.monotonic_ns()
    call(struct.pack("IIQQIIII", 5, 211, now, now + 100, os.getpid(), threading.get_native_id(), correlation, 0), 0)
if "torch" in sys.argv:
    import torch
    torch.ones(3).relu()
"""


def recorded_without_torch(succeed, program, python, folder, *arguments):
    record = [program("redline"), "record", "-o", folder, "--host-samples", "20"]
    command = [*record, "--", python, "-c", WITHOUT_TORCH, *arguments]
    return succeed(command, environment=stubbed_environment()).stderr


def test_a_python_program_without_torch_is_recorded_by_the_command(succeed, tmp_path, program, python):
    said = recorded_without_torch(succeed, program, python, tmp_path, "3")
    assert "1 trace in" in said
    [trace] = traces(tmp_path)
    assert len(slices(trace, "cuda_runtime")) == 3


def test_a_process_that_starts_cuda_and_does_nothing_gets_no_trace(succeed, tmp_path, program, python):
    said = recorded_without_torch(succeed, program, python, tmp_path, "0")
    assert "no trace in" in said and "used a GPU" in said


def test_torch_that_is_imported_after_cuda_started_takes_over(succeed, tmp_path, program, python):
    said = recorded_without_torch(succeed, program, python, tmp_path, "3", "torch")
    assert "1 trace in" in said
    [trace] = traces(tmp_path)
    assert "aten::relu" in {event["name"] for event in slices(trace, "cpu_op")}


def test_no_gpu_and_no_cpu(run, succeed, tmp_path, program, python):
    record = [program("redline"), "record", "-o", tmp_path]
    assert "no trace" in run([*record, "--no-gpu", "--", need(CUDA_PROGRAM, CURE)]).stderr
    both = run([*record, "--no-gpu", "--no-cpu", "--", "true"])
    assert both.returncode == 2 and "nothing would be recorded" in both.stderr
    script = "import torch\nwith torch.profiler.record_function('mine'):\n    torch.ones(3).relu()"
    succeed([*record, "--no-cpu", "--", python, "-c", script])
    [trace] = traces(tmp_path)
    assert not slices(trace, "cpu_op")
    assert [event["name"] for event in slices(trace, "user_annotation")] == ["mine"]


ENDS_A_WINDOW = """
import ctypes, os, signal, struct, sys, threading, time
library = ctypes.CDLL(os.environ["REDLINE_LIBRARY"])
stub = ctypes.CDLL(None)
assert library.redline_finish_on_termination() == 0
options = b'{"host_samples_hz": 0, "directory": "' + sys.argv[1].encode() + b'"}'
assert library.redline_prepare(options) == 0
assert library.redline_start() == 0
now = time.monotonic_ns()
launch = struct.pack("IIQQIIII", 5, 211, now, now + 100, os.getpid(), threading.get_native_id(), 1, 0)
stub["_ZN7redline4stub4callERKNS_5cupti9ApiRecordEi"](launch, 0)
stub["_ZN7redline4stub14keep_buffer_ofEii"](0, 1 << 30)
threading.Thread(target=library.redline_stop, daemon=True).start()
while True:
    signal.pause()
"""


def test_sigterm_ends_a_job_whose_gpu_hangs(start, tmp_path):
    """A collective whose peer is gone never ends. The window's end waits for it, but only for a while."""
    environment = {**stubbed_environment(), "REDLINE_STUB_HANGS": "1"}
    with start([sys.executable, "-c", ENDS_A_WINDOW, tmp_path], environment) as job:
        assert job.stdout.readline() == "hangs\n"
        job.terminate()
        assert job.wait(timeout=60) == -signal.SIGTERM
    [trace] = traces(tmp_path)
    assert len(slices(trace, "cuda_runtime")) == 1

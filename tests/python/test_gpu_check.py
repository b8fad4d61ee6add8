"""scripts/gpu-check on a machine without a GPU: the bundle, every build step, and that its checks can fail."""

import copy
import gzip
import json
import pathlib
import sqlite3
import subprocess
import sys

import pytest
from conftest import BUILD, ROOT, need
from recording import CURE, load, stubbed_environment

sys.path.insert(0, str(ROOT / "scripts"))
from gpu_check import bundle, machine, parts, trace_facts, tuning, workplace  # noqa: E402
from gpu_check.training import pairs  # noqa: E402

SCRIPT = ROOT / "scripts/gpu-check"


@pytest.fixture(scope="module")
def bundled(succeed, tmp_path_factory):
    """A bundle that was moved from where it was made."""
    need(BUILD / "bin/redline", CURE)
    first = tmp_path_factory.mktemp("bundle") / "first"
    succeed([sys.executable, SCRIPT, "--bundle", first, "--build", BUILD])
    return first.rename(first.parent / "moved")


def test_the_bundle_is_small_and_brings_its_libraries(bundled):
    assert bundle.size_of(bundled) < 60 << 20
    assert not list(bundled.rglob("redline-viewer*"))
    for program in ("redline", "autotune"):
        path = bundled / "redline/bin" / program
        assert all(place.startswith(str(bundled)) for place in bundle.needed_libraries(path).values())
        subprocess.run([path, "--version"], check=True, timeout=60, capture_output=True)


def test_the_bundle_starts_on_systems_of_2021(bundled):
    """Ubuntu 22.04 has glibc 2.35, RHEL 9 has 2.34 and the libstdc++ of GCC 11."""
    needed = bundle.needed_versions(bundled)
    assert bundle._numbers(needed["GLIBC"]) <= [2, 34]
    assert bundle._numbers(needed["GLIBCXX"]) <= [3, 4, 29]


@pytest.mark.long
def test_a_dry_run_needs_neither_gpu_nor_compiler(bundled, succeed, python):
    done = succeed([sys.executable, bundled / "gpu-check", "--dry-run", bundled, "--python", python], timeout=500)
    assert done.stdout.count("up to CUDA's first call: ") == 2
    assert "operators recorded on the CPU" in done.stdout
    assert done.stdout.count(" x on the CPU") == 2
    if machine.why_no_gpu():
        assert done.stdout.count("no GPU: ") == 2


def test_without_a_gpu_each_part_says_so(bundled, run, tmp_path):
    if not machine.why_no_gpu():
        pytest.skip("there is a GPU")
    done = run([sys.executable, bundled / "gpu-check", "--run", bundled, "--out", tmp_path / "out"])
    assert done.returncode == 3, done.stderr
    found = json.loads((tmp_path / "out/gpu-check.json").read_text())["parts"]
    # On a busy machine the ten minutes may be over before the last part.
    left = done.stdout.rpartition("run it again for ")
    assert set(found) | (set(left[2].split(", ")) if left[1] else set()) == set(parts.PARTS)
    for name, part in found.items():
        assert len(part["wrong"]) == 1 and part["wrong"][0].startswith("no GPU: "), (name, part)


def test_the_kernels_of_the_programs_are_assembled_for_each_gpu(python, tmp_path):
    site = pathlib.Path(subprocess.run([python, "-c", "import torch; print(torch.__path__[0])"], check=True,
                                       capture_output=True, text=True).stdout.strip())
    assembler = need(site / "bin/ptxas", "torch with CUDA brings it")
    text = (ROOT / "scripts/gpu_check/programs/cuda_driver.h").read_text()
    (tmp_path / "kernels.ptx").write_text(text.partition('R"(')[2].partition(')"')[0])
    for target in ("sm_75", "sm_90", "sm_100"):
        subprocess.run([assembler, "-arch", target, tmp_path / "kernels.ptx", "-o", tmp_path / "kernels.cubin"],
                       check=True, timeout=60)


def test_a_claim_has_the_interval_of_its_pairs():
    same = pairs.interval([10.0] * 8, [5.0] * 8)
    assert [same[key] for key in ("faster", "low", "high")] == pytest.approx([2, 2, 2])
    spread = pairs.interval([10, 11, 9, 10, 12, 8, 10, 10], [10, 10, 10, 9, 11, 9, 10, 10])
    assert spread["low"] < 1 < spread["high"]
    turns = iter(range(100))
    found = pairs.compare(lambda: 2 + 0 * next(turns), lambda: 1 + 0 * next(turns))
    assert (found["off_ms"], found["on_ms"], found["faster"]) == (2, 1, pytest.approx(2))
    assert next(turns) == 2 * (pairs.PAIRS + 2)


def test_the_record_of_each_wait_is_found():
    def wait(record):
        return {"cat": "cuda_sync", "name": "Stream Wait Event", "args": {"wait_on_cuda_event_record_corr_id": record}}

    other = {"cat": "cuda_sync", "name": "Event Sync"}
    assert trace_facts.awaited_records({"traceEvents": [wait(5), wait(9), other]}) == [5, 9]


class Counting:
    """A workplace whose program fails in one case."""

    def __init__(self, scratch):
        self.scratch = scratch

    def run_program(self, program, kind, amount, path):
        if kind == "graph":
            raise workplace.Failed("gpu_work graph: status 1: out of memory")
        trace = gzip.compress(b'{"traceEvents": []}')
        path.write_bytes(trace[: len(trace) // 2] if kind == "captured" else trace)
        return {"kernels": 0}

    def keep(self, path):
        self.kept = path


def test_a_gpu_that_nvidia_smi_does_not_know_is_wrong():
    trace = {"deviceProperties": [{"id": 0, "uuid": "GPU-a", "hasContext": True}]}
    assert trace_facts.wrong_gpus(trace, {"a", "b"}) == trace_facts.wrong_gpus(trace, set()) == []
    assert trace_facts.wrong_gpus(trace, {"b"}) == ["GPU 0: GPU-a is no GPU of nvidia-smi"]
    trace["deviceProperties"][0]["hasContext"] = False
    assert trace_facts.wrong_gpus(trace, {"a"}) == ["no GPU has a context"]


def test_a_case_that_fails_leaves_the_others(tmp_path):
    place = Counting(tmp_path)
    found = parts.graphs(place)
    assert place.kept == tmp_path / "fifth_window.json.gz"  # whose counts are wrong
    assert set(found) == {"between_windows", "fifth_window", "wrong"}
    assert any(line.startswith("captured: EOFError: ") for line in found["wrong"]), "a trace that is cut off"
    assert "in_the_window: Failed: gpu_work graph: status 1: out of memory" in found["wrong"]


def test_status_and_gpu_are_those_of_the_results_not_of_the_last_run(tmp_path, monkeypatch, capsys):
    found = {"counts": ["kernels: 999, not 1000"], "clock": []}
    monkeypatch.setattr(parts, "PARTS", {
        name: parts.Part(lambda place, name=name: {"wrong": found[name]}, 75, False) for name in found})
    monkeypatch.setattr(machine, "why_no_gpu", lambda: "")
    monkeypatch.setattr(machine, "has_torch", lambda python: True)

    def run(gpu, names=(), seconds=100):
        monkeypatch.setattr(machine, "gpu_facts", lambda: {"name": gpu})
        return parts.run(tmp_path, tmp_path, sys.executable, list(names), seconds)

    assert run("H100", ["clock"], 60) == 1, "a named part that did not run"
    assert run("H100", ["clock"]) == 0
    assert run("H200") == 1 and run("H200") == 1, "nothing is left to run"
    assert capsys.readouterr().out.endswith("failed: counts\n")
    of_parts = json.loads((tmp_path / "gpu-check.json").read_text())["parts"]
    assert {name: part["gpu"]["name"] for name, part in of_parts.items()} == {"clock": "H100", "counts": "H200"}
    found["counts"] = []
    assert run("H200", ["counts"]) == 0


def test_a_part_that_breaks_is_a_result(tmp_path):
    def broken(place):
        return [][0]

    assert parts.run_part(parts.Part(broken, 1, False), None)["wrong"] == ["IndexError: list index out of range"]


def test_wrong_use_is_told(run, tmp_path):
    assert run([sys.executable, SCRIPT, "--run", tmp_path]).returncode == 2
    assert run([sys.executable, SCRIPT, "--list", "--part", "none"]).returncode == 2
    done = run([sys.executable, SCRIPT, "--dry-run", tmp_path])
    assert done.returncode == 1 and "is no bundle" in done.stderr


# Makes the same kinds of launches as gpu_work with the stub of CUPTI, under the real recorder.
WORK = """
import ctypes, json, os, struct, sys, threading, time
import redline
from redline._library import recorder

stub = ctypes.CDLL(None)
emit = stub["_ZN7redline4stub4emitEPKvmi"]
drop = stub["_ZN7redline4stub12drop_recordsEm"]
name_function = stub["_ZN7redline4stub13name_functionEijPKc"]
name_function(2, 211, b"cudaLaunchKernel_v7000")
name_function(2, 311, b"cudaGraphLaunch_v10000")
name_function(2, 41, b"cudaMemcpyAsync_v3020")

def give(record):
    emit(record, ctypes.c_size_t(len(record)), 0)

def call(function, correlation, at):
    give(struct.pack("<IIQQIIII", 5, function, at, at + 100, os.getpid(), threading.get_native_id(),
                     correlation, 0))

def kernel(correlation, at, stream=7, node=0):
    give(struct.pack("<IBBHIIQQQIII3i3iiiIIIqQQQQ4BIQII", 10, 0, 0, 16, 0, 0, at, at + 50, 0, 0, 1, stream,
                     1, 1, 1, 32, 1, 1, 0, 0, 0, 0, correlation, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, node, 0, 4))

def copy(correlation, at, kind, source, target, size):
    give(struct.pack("<IBBBBQQQIIIIIIQQII", 1, kind, source, target, 0, size, at, at + 50, 0, 1, 7,
                     correlation, 0, 0, 0, 0, 0, 0))

def launches(begun):
    for i in range(1, 101):
        call(211, i, begun + i * 1000)
        kernel(i, begun + i * 1000 + 500)
    return {"kernels": 100}

def streams(begun):
    for i in range(1, 17):
        call(211, i, begun + i * 1000)
        kernel(i, begun + i * 1000 + 500, stream=20 + i % 8)
    return {"kernels": 16, "streams": 8, "each": 2}

def graph(begun):
    for i in range(1, 4):
        call(311, i, begun + i * 1000)
        for node in range(10):
            kernel(i, begun + i * 1000 + 60 * node + 300, node=900 + node)
    return {"kernels": 30, "graph_launches": 3, "nodes": 10}

def copies(begun):
    for i, (kind, source, target) in enumerate(((1, 1, 3), (2, 3, 2)), 1):
        call(41, i, begun + i * 1000)
        copy(i, begun + i * 1000 + 500, kind, source, target, 1000 * i)
    return {"bytes": {"Memcpy HtoD (Pageable -> Device)": 1000, "Memcpy DtoH (Device -> Pinned)": 2000}}

done = {}
for work in (launches, streams, graph, copies):
    recorder().prepare(host_samples_hz=0)
    recorder().start()
    done[work.__name__] = work(time.monotonic_ns())
    if sys.argv[2] == "lossy":
        drop(ctypes.c_size_t(2))
        kernel(77, 0)
    recorder().stop()
    recorder().export(f"{sys.argv[1]}/{work.__name__}.json.gz")
print(json.dumps(done))
"""


def worked(tmp_path, succeed, python, how):
    ran = succeed([python, "-c", WORK, tmp_path, how], environment=stubbed_environment())
    done = trace_facts.json.loads(ran.stdout)
    return {kind: (done[kind], trace_facts.gpu_counts(tmp_path / f"{kind}.json.gz")) for kind in done}


def test_counts_of_a_whole_trace_are_right(tmp_path, succeed, python):
    for kind, (done, found) in worked(tmp_path, succeed, python, "whole").items():
        assert trace_facts.wrong_counts(done, found) == [], kind


def test_what_cupti_kept_is_lost():
    assert trace_facts.lost_records({"dropped": 2, "failed_flush": "libcupti.so: gone"}) == "2 dropped, libcupti.so: gone"


def test_counts_that_are_wrong_are_told(tmp_path, succeed, python):
    for kind, (done, found) in worked(tmp_path, succeed, python, "lossy").items():
        assert trace_facts.wrong_counts(done, found)[0] == "lost: 2 dropped, 1 incomplete, not ", kind
    done, found = {"kernels": 100}, dict(found, lost={"dropped": 0}, kernels=99, launches=100)
    told = trace_facts.wrong_counts(done, found)
    assert "kernels: 99, not 100" in told and "kernels of each: [], not [1]" in told


@pytest.mark.parametrize("name", ["ddp_a100_nccl_metadata_rank0", "v100_nanoseconds_rank0"])
def test_kernels_of_real_traces_nest_in_their_operators(shared, name):
    trace = load(shared / "traces" / f"{name}.pt.trace.json.gz")
    found, wrong = trace_facts.nesting(trace)
    assert found["kernels"] == found["with_call"] == found["with_operator"] == found["nested"] > 2000
    assert wrong == []


@pytest.fixture
def of_an_h100():
    """Three steps of a GPT that torch.compile has compiled, recorded on an H100 by Redline and by torch.profiler."""
    return [trace_facts.load(ROOT / f"tests/fixtures/gpu/h100_compiled_gpt.{name}.pt.trace.json.gz")
            for name in ("redline", "torch")]


def test_on_an_h100_our_trace_has_the_work_and_operators_of_torch_profilers(of_an_h100):
    found, wrong = trace_facts.beside_the_peer(*of_an_h100)
    assert wrong == []
    assert found["work"] == found["work_of_peer"] == 1026
    # torch.profiler itself waits for the GPU at its end.
    assert (found["calls_only_here"], found["calls_only_there"]) == ({}, {"cudaDeviceSynchronize": 1})
    low, median, high = found["ratio_by_name"]
    assert 0.9 < low < median < high < 1.1


def test_work_that_only_one_profiler_has_is_told(of_an_h100):
    ours, theirs = of_an_h100
    kernels = trace_facts.slices(ours, "kernel")
    kernels[0]["args"]["grid"] = [1, 2, 3]
    del kernels[1]["args"]["External id"]
    told = trace_facts.beside_the_peer(ours, theirs)[1]
    assert sum("only in redline's" in line for line in told) == 2
    assert sum("only in torch.profiler's" in line for line in told) == 2
    assert any("grid [1, 2, 3]" in line for line in told) and any("no operator" in line for line in told)


def test_a_kernel_of_another_operator_is_told():
    operators = [{"cat": "cpu_op", "name": f"aten::op{i}", "tid": 1, "ts": 10.0 * i, "dur": 5.0,
                  "args": {"External id": i}} for i in (1, 2)]
    call = {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "tid": 1, "ts": 21.0, "dur": 1.0,
            "args": {"correlation": 7}}
    kernel = {"cat": "kernel", "name": "k", "ts": 30.0, "dur": 1.0,
              "args": {"correlation": 7, "External id": 2}}
    right = {"traceEvents": [*operators, call, kernel]}
    assert trace_facts.nesting(right)[0]["nested"] == 1
    other = copy.deepcopy(right)
    other["traceEvents"][-1]["args"]["External id"] = 1
    assert trace_facts.nesting(other)[1] == ["k is not within aten::op1"]


def test_a_call_may_begin_before_its_operator_by_the_error_of_two_clocks():
    operator = {"cat": "cpu_op", "name": "aten::op", "tid": 1, "ts": 20.0, "dur": 5.0, "args": {"External id": 2}}
    call = {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "tid": 1, "dur": 1.0, "args": {"correlation": 7}}
    kernel = {"cat": "kernel", "name": "k", "ts": 30.0, "dur": 1.0, "args": {"correlation": 7, "External id": 2}}
    for begin, nested in ((19.5, 1), (18.5, 0), (24.5, 1), (25.5, 0)):
        found, _ = trace_facts.nesting({"traceEvents": [operator, {**call, "ts": begin}, kernel]})
        assert found["nested"] == nested, begin


class Slow:
    """A workplace whose time is over after `measurements` calls, which take no time."""

    def __init__(self, measurements, earlier):
        self.left, self.earlier, self.measured = measurements, earlier, []

    def seconds_left(self):
        return 100

    def run_python(self, script, *words):
        if not self.left:
            raise workplace.TooLong("not done in its time")
        self.left -= 1
        self.measured.append(" ".join(words[1::2]))
        model, dtype, mode, profiler = words[1::2]
        return {"model": model, "dtype": dtype, "mode": mode, "profiler": profiler, "slow_down_after": 1.0,
                "kernels": 9}


def test_overhead_goes_on_with_what_there_was_no_time_for():
    found, seen = {}, []
    for measurements, not_run in ((5, 10), (12, 4), (100, 0)):
        place = Slow(measurements, found)
        found = parts.overhead(place)
        assert (len(found["not_run"]), found["wrong"]) == (not_run, [])
        seen += place.measured
    assert len(found["rows"]) == 24 and len(set(seen)) == 24
    # Results that are complete are measured anew.
    assert len(parts.overhead(Slow(2, found))["rows"]) == 2


class NothingRecorded:
    """A workplace on which CUPTI refuses itself to all profilers."""

    earlier, out = {}, pathlib.Path()

    def seconds_left(self):
        return 1000

    def run_python(self, script, *words, **variables):
        return {"slow_down_after": 1.0, "kernels": 0}

    def run_program(self, program, *words):
        return {"buffers": 1, "names": 0, "refused": 14}


def test_parts_that_recorded_nothing_are_wrong():
    assert parts.raw(NothingRecorded())["wrong"] == ["CUPTI gave no kernel"]
    assert len(parts.overhead(NothingRecorded())["wrong"]) == 12
    for run_part in (parts.after, parts.settings):
        with pytest.raises(workplace.Failed, match="no kernel in the trace, so nothing was measured"):
            run_part(NothingRecorded())
    nothing = {"traceEvents": []}
    assert trace_facts.beside_the_peer(nothing, nothing)[1] == ["no work in either trace"]


def test_what_there_was_no_time_for_is_printed(tmp_path, monkeypatch, capsys):
    def some(place):
        return {"wrong": [], "not_run": ["gpt", "resnet50"]}

    monkeypatch.setattr(parts, "PARTS", {"overhead": parts.Part(some, 1, False)})
    monkeypatch.setattr(machine, "why_no_gpu", lambda: "")
    parts.run(tmp_path, tmp_path, sys.executable, [], None)
    assert "s  not run: gpt, resnet50\n" in capsys.readouterr().out


def test_clocks_that_drift_beside_the_gpus_timer_are_wrong(tmp_path, monkeypatch):
    errors = {"before_the_host_ns": 0, "after_the_host_ns": 0, "gpu_timer": {"p99_ns": 2000}}
    monkeypatch.setattr(trace_facts, "load", lambda path: None)
    monkeypatch.setattr(trace_facts, "clock_errors", lambda done, trace: errors)

    class Place(NothingRecorded):
        scratch = tmp_path

    assert parts.clock(Place())["wrong"] == []
    errors["gpu_timer"]["p99_ns"] = 2001
    assert parts.clock(Place())["wrong"] == ["2001 ns from start to start beside the GPU's timer"]


# Shows what record_steps.py does, and in which order, without a GPU and models.
STEPS = """
import contextlib, runpy, sys, types

def log(what):
    return lambda *args, **more: print(what) or contextlib.nullcontext(types.SimpleNamespace(step=log("recorder")))

training = types.SimpleNamespace(step=log("step"), wait=log("wait"))
sys.modules["models"] = types.SimpleNamespace(Training=lambda *args, **more: training)
sys.modules["redline"] = types.SimpleNamespace(profile=log("profile"), record_function=contextlib.nullcontext,
                                               schedule=lambda **more: None)
sys.argv = ["record_steps.py", "trace"]
runpy.run_path(sys.path.pop(0) + "/training/record_steps.py", run_name="__main__")
"""


def test_no_kernel_of_the_warm_up_is_in_the_window_whose_kernels_are_checked(succeed):
    done = succeed([sys.executable, "-c", "import sys; sys.path.insert(0, sys.argv[1])" + STEPS,
                    ROOT / "scripts/gpu_check"])
    words = done.stdout.split()
    assert words[:3] == ["step", "wait", "profile"]
    # wait=1, warmup=1: the second step() of the recorder begins the window.
    assert words[3:8] == ["step", "recorder", "step", "wait", "recorder"]
    assert "wait" not in words[8:]


def test_a_golden_trace_without_a_kernel_is_wrong(tmp_path):
    class NoGpu:
        out = tmp_path

        def run_python(self, script, path, *words):
            path.write_bytes(gzip.compress(b'{"traceEvents": []}'))

    assert parts.golden(NoGpu())["wrong"] == ["no kernel in the trace"]


def test_clock_errors_are_those_of_the_trace():
    base = 1_790_857_026_000_000_000
    starts = [4_429_004_287_000_000 + 50_000 * i for i in range(100)]
    kernels = [{"cat": "kernel", "ts": start / 1000, "dur": 10.0} for start in starts]
    done = {
        "before_ns": [base + start - 3000 for start in starts],
        "after_ns": [base + start + 15_000 for start in starts],
        "events_ms": [0.05 * i for i in range(100)],
        "timer_ns": [77 + 50_000 * i + (400 if i == 50 else 0) for i in range(100)],
    }
    errors = trace_facts.clock_errors(done, {"baseTimeNanoseconds": base, "traceEvents": kernels})
    assert errors["outside_the_host"] == 0
    assert errors["events"]["most_ns"] < 1
    assert errors["gpu_timer"] == {"median_ns": 0, "p99_ns": 400, "most_ns": 400}
    kernels[7]["dur"] = 20.0
    late = trace_facts.clock_errors(done, {"baseTimeNanoseconds": base, "traceEvents": kernels})
    assert (late["outside_the_host"], late["after_the_host_ns"]) == (1, 5000)


def test_a_study_that_exists_goes_on_with_the_seconds_that_it_gets(tmp_path):
    class Place:
        package = sources = scratch = out = tmp_path
        python = sys.executable
        runs = []

        def seconds_left(self):
            return 75

        def run(self, command):
            self.runs.append([str(word) for word in command])

    place = Place()
    for part, name in ((parts.tune, "tune"), (parts.grid, "grid")):
        part(place)
        with sqlite3.connect(tmp_path / f"{name}.study.db") as database:
            database.execute("CREATE TABLE trials (state, config, outcome, samples_per_s, wall_ns)")
            database.execute("INSERT INTO trials VALUES ('finished', '{}', 'crashed', NULL, 40e9)")
        part(place)
        first, again = place.runs[-2:]
        assert first[first.index("--budget") + 1] == "60s" and "--resume" not in first
        assert again[again.index("--budget") + 1] == "100s" and "--resume" in again


def trial(rate, outcome="ok", **config):
    return {"config": config, "outcome": outcome, "samples_per_s": rate, "peak_memory_bytes": 1}


def test_tuning_is_judged_by_the_grid():
    grid = tuning.summary([trial(900, batch_size="512", amp="bf16"), trial(500, batch_size="512", amp="off"),
                           trial(None, "gpu_oom", batch_size="1024", amp="off")])
    assert grid["best"]["config"]["amp"] == "bf16"
    assert grid["frontier"] == {"off": {"largest_ok": 512, "smallest_oom": 1024},
                                "bf16": {"largest_ok": 512, "smallest_oom": None}}
    tuned = tuning.summary([trial(810, batch_size="512", amp="bf16")])
    assert tuning.regret(tuned, grid) == pytest.approx(0.1)
    assert tuning.regret(tuning.summary([]), grid) is None

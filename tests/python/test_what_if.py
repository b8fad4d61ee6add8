"""`redline what-if` says what a change would bring, with an interval, or why it cannot."""

import json

import pytest


def slice_of(category, name, begin_us, end_us):
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": begin_us, "dur": end_us - begin_us}


@pytest.fixture
def trace(tmp_path):
    """Five steps of 10 ms, 4 ms of which the loader takes in the main process."""
    events = []
    for step in range(5):
        at = step * 10_000
        events += [slice_of("user_annotation", f"ProfilerStep#{step}", at, at + 10_000),
                   slice_of("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                            at, at + 4_000),
                   slice_of("cpu_op", "aten::mm", at + 4_000, at + 10_000)]
    path = tmp_path / "one.pt.trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


def test_text_has_now_then_and_gain(trace, program, succeed):
    done = succeed([program("redline"), "what-if", trace, "--knob", "loader=free"])
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert lines[0] == "WHAT IF loader=free"
    assert "now          10.0 ms  a step, the mean of 5 steps" in lines
    assert "then          6.0 ms  with 90 % certainty between 5.4 ms and 6.6 ms" in lines
    assert "gain          1.67 x  as fast, between 1.52 x and 1.85 x" in lines


def test_json_has_the_interval_and_several_knobs(trace, program, succeed):
    done = succeed([program("redline"), "what-if", trace, "--knob", "loader=2x", "--knob", "kernels:^aten::mm$=2x",
                    "--format", "json"])
    said = json.loads(done.stdout)
    assert said["schema"] == "redline.what-if/1"
    assert said["knobs"] == ["loader=2x", "kernels:^aten::mm$=2x"]
    assert said["step_ns"] == 10_000_000
    assert said["predicted"]["step_ns"] == 5_000_000
    assert said["predicted"]["low_ns"] < 5_000_000 < said["predicted"]["high_ns"]
    assert said["speedup"]["value"] == 2


def write_cycle(folder, rank, cycle, step_us, own_us):
    """Three steps of a rank: it computes for `own_us`, then is in an all-reduce until the last rank is there, too."""
    events = []
    for step in range(3):
        at = cycle * 60_000_000 + step * step_us
        launched, arrived, end = at + own_us, at + own_us + 10, at + step_us - 20
        call = {"correlation": step + 1}
        collective = {**call, "Group size": 3, "Collective name": "allreduce", "In msg nelems": 1000,
                      "Out msg nelems": 1000, "dtype": "Float", "Process Group Name": "0", "Seq": 3 * cycle + step + 1}
        events += [slice_of("user_annotation", f"ProfilerStep#{10 * cycle + step}", at, at + step_us),
                   slice_of("cpu_op", "aten::mm", at, launched),
                   {**slice_of("cuda_runtime", "cudaLaunchKernel", launched, launched + 5), "args": call},
                   {**slice_of("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", arrived, end),
                    "pid": 0, "tid": 7, "args": collective},
                   slice_of("cuda_runtime", "cudaDeviceSynchronize", arrived, end + 5)]
    info = {"backend": "nccl", "rank": rank, "world_size": 3}
    path = folder / f"node_{100 + rank}.{cycle}.pt.trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "distributedInfo": info, "traceEvents": events}))


def test_of_several_recordings_of_a_rank_the_last_is_replayed(tmp_path, program, succeed):
    for rank, own_us in enumerate([500, 1800, 800]):
        write_cycle(tmp_path, rank, 0, 5000, own_us)
        write_cycle(tmp_path, rank, 1, 2000, own_us)
    done = succeed([program("redline"), "what-if", tmp_path, "--knob", "straggler=cured", "--format", "json"])
    said = json.loads(done.stdout)
    assert said["steps"] == 3
    assert said["step_ns"] == 2_000_000
    # Rank 2 arrives 1 ms before rank 1.
    assert said["predicted"]["step_ns"] == pytest.approx(1_000_000, abs=1000)
    assert said["notes"] == ["rank 1 is as fast as rank 2, whose recording is replayed without waiting for it"]


def test_what_cannot_be_said_is_no_number(trace, program, run):
    done = run([program("redline"), "what-if", trace, "--knob", "amp=bf16"])
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "amp=bf16: the trace has no shapes of operators. Record it with redline record --shapes" in done.stderr
    done = run([program("redline"), "what-if", trace, "--knob", "loader=fast"])
    assert done.returncode == 2
    assert "'loader=fast' is no change" in done.stderr
    logs = trace.parent / "logs"
    logs.mkdir()
    (logs / "rank0.steps.redline").write_text("")
    done = run([program("redline"), "what-if", logs, "--knob", "loader=free"])
    error = f"redline: {logs}: no traces in this folder. Record some: redline record -o {logs} -- CMD\n"
    assert (done.returncode, done.stderr) == (1, error)


def test_report_and_what_if_know_what_doctor_measured_on_this_machine(tmp_path, program, run, succeed):
    environment = {"XDG_DATA_HOME": str(tmp_path / "data")}
    succeed([program("redline"), "doctor", "--measure"], environment=environment)
    ((host, peaks),) = json.loads((tmp_path / "data/redline/cpu-peaks.json").read_text())["hosts"].items()
    # A product that takes ten times as long as the peak says.
    product_us = 10 * 2 * 1000**3 / (peaks["fp32_tflops"] * 1e6)
    inputs = {"Input Dims": [[1000, 1000], [1000, 1000]], "Input type": ["float", "float"],
              "Input Strides": [[1000, 1], [1000, 1]], "Concrete Inputs": ["", ""]}
    product = {**slice_of("cpu_op", "aten::mm", 0, product_us), "args": inputs}

    def asked(name, command, host):
        path = tmp_path / name
        machine = {"machine": {"usable_cores": peaks["cores"]}}
        path.write_text(json.dumps({"schemaVersion": 1, "host_name": host, "run": machine, "traceEvents": [product]}))
        return run([program("redline"), *command, path, "--format", "json"], environment=environment)

    (row,) = json.loads(asked("own.json", ["report"], host).stdout)["traces"][0]["operators_by_shape"]
    assert row["percent_of_peak"] == pytest.approx(10, rel=0.01)
    (row,) = json.loads(asked("other.json", ["report"], "another").stdout)["traces"][0]["operators_by_shape"]
    assert row["percent_of_peak"] is None
    said = asked("own.json", ["what-if", "--knob", "amp=bf16"], host)
    if peaks["bf16_tflops"]:
        predicted = json.loads(said.stdout)["predicted"]["step_ns"]
        of_fp32 = min(1.0, peaks["fp32_tflops"] / peaks["bf16_tflops"])
        assert predicted == pytest.approx(1000 * product_us * of_fp32, rel=0.01)
    else:
        assert "what the device does in bf16 is not known" in said.stderr

"""Tests `redline report` and `redline diff` on real traces: counts with json.load, and compares with what two peers
compute from the same files.

Where a peer is wrong, its mistake is repeated on the trace before we read it (see `as_the_plugin_sees` and
`as_hta_sees`), so that the arithmetic is compared and not the mistake.
"""

import collections
import fcntl
import gzip
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import termios

import pytest

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared"
# Tests are parametrised by the traces that lie in the folder, if there are any.
TRACES = sorted(path.name.removesuffix(".pt.trace.json.gz") for path in (SHARED / "traces").glob("*.gz"))
WITH_PEERS = [name for name in TRACES if (SHARED / "oracles" / f"{name}.hta.json").exists()]
DIALECT = {"Operator": "cpu_op", "Runtime": "cuda_runtime", "Kernel": "kernel", "Memcpy": "gpu_memcpy",
           "Memset": "gpu_memset"}  # fmt: skip
DEVICE_WORK = ("kernel", "gpu_memcpy", "gpu_memset")
PLUGIN_NCCL = [f"nccl:{name}" for name in ("broadcast", "reduce", "all_reduce", "all_gather", "reduce_scatter")]


def pytest_generate_tests(metafunc):
    """`name` is each shared trace, or each that has its peers' figures beside it. pytest runs all tests of one trace
    before those of the next."""
    if "name" in metafunc.fixturenames and not any(mark.name == "parametrize" for mark in metafunc.definition.own_markers):
        of_peers = "oracle" in metafunc.fixturenames
        metafunc.parametrize("name", WITH_PEERS if of_peers else TRACES, scope="module")


@pytest.fixture(scope="module")
def trace(name, shared):
    """The trace as Python's json reads it."""
    with gzip.open(shared / "traces" / f"{name}.pt.trace.json.gz") as file:
        return json.load(file)


@pytest.fixture(scope="module")
def oracle(shared):
    """oracle(name, peer) returns the figures of "tb" or "hta" for a shared trace."""
    return lambda name, peer: json.loads((shared / "oracles" / f"{name}.{peer}.json").read_text())


@pytest.fixture
def report(program, succeed):
    """report(path) returns the JSON report of a file or folder."""

    def of(path):
        done = succeed([program("redline"), "report", "--format", "json", path])
        return json.loads(done.stdout)

    return of


def category(event):
    return DIALECT.get(event.get("cat"), event.get("cat"))


def slices(trace, *categories):
    return [e for e in trace["traceEvents"] if e["ph"] == "X" and category(e) in categories]


def nanoseconds(microseconds):
    return round(microseconds * 1000)


def write(trace, events, path):
    path.write_text(json.dumps({**trace, "traceEvents": events}))
    return path


def test_counts_equal_those_of_json_load(name, trace, shared, report):
    ours = report(shared / "traces" / f"{name}.pt.trace.json.gz")["traces"][0]
    assert ours["events"] == len(trace["traceEvents"])
    assert ours["skipped"] == {} and ours["repaired"] == {}
    info = trace.get("distributedInfo", {})
    assert (ours["rank"], ours["world_size"]) == (info.get("rank"), info.get("world_size"))

    calls, total = collections.Counter(), collections.Counter()
    for event in slices(trace, "kernel"):
        calls[event["name"]] += 1
        total[event["name"]] += nanoseconds(event["dur"])
    assert {row["name"]: row["count"] for row in ours["kernels"]} == calls
    assert {row["name"]: row["total_ns"] for row in ours["kernels"]} == total

    operators = collections.Counter(e["name"] for e in slices(trace, "cpu_op", "user_annotation"))
    operators = {k: v for k, v in operators.items() if not re.match("ProfilerStep#|nccl:|gloo:", k)}
    assert {row["name"]: row["count"] for row in ours["operators"]} == operators

    copies = slices(trace, "gpu_memcpy", "gpu_memset")
    assert sum(row["count"] for row in ours["copies"]) == len(copies)
    # AMD's fills have no bytes.
    assert sum(row["bytes"] for row in ours["copies"]) == sum(e["args"].get("bytes", 0) for e in copies)


def as_the_plugin_sees(trace):
    """The plugin (0.4.3) knows the category names of 2021 only. In newer traces it sees no runtime calls (so it never
    moves a step's end to its last kernel) and no annotations but steps and collectives, takes those on the GPU's rows
    for operators, and counts collectives' kernels as computation, because they have new external ids."""
    if any(event.get("cat") == "Operator" for event in trace["traceEvents"]):
        return trace["traceEvents"]
    seen = []
    for event in trace["traceEvents"]:
        if event["ph"] == "X" and event["cat"] in ("cuda_runtime", "cuda_sync"):
            continue
        if event["ph"] == "X" and event["cat"].endswith("user_annotation"):
            if not re.match("ProfilerStep#", event["name"]) and event["name"] not in PLUGIN_NCCL:
                continue
            event = {**event, "cat": "user_annotation"}
        if event["ph"] == "X" and event["name"].startswith("nccl:") and event["name"] not in PLUGIN_NCCL:
            event = {**event, "name": "plugin:" + event["name"]}
        if event["ph"] == "X" and event["cat"] == "kernel":
            event = {**event, "name": "plugin:" + event["name"]}
        seen.append(event)
    return seen


def test_step_breakdown_equals_the_plugins(name, trace, oracle, report, tmp_path):
    theirs = oracle(name, "tb")
    ours = report(write(trace, as_the_plugin_sees(trace), tmp_path / "t.json"))["traces"][0]
    names = {"kernel": "Kernel", "memcpy": "Memcpy", "memset": "Memset", "runtime": "Runtime",
             "communication": "Communication", "dataloader": "DataLoader", "cpu": "CPU Exec",
             "other": "Other"}  # fmt: skip
    # The plugin prints whole microseconds, so each figure may be off by one. As floats, the absolute stamps
    # of this one trace (16 digits and three decimals) are off by up to 0.125 us, each of 870 kernels a step.
    tolerance = 8 if name == "v100_nanoseconds_rank0" else 1.5
    for part, theirs_name in names.items():
        expected = theirs["step_breakdown_us"].get(theirs_name, 0)
        assert ours["step_breakdown_ns"][part] / 1000 == pytest.approx(expected, abs=tolerance), part
    assert ours["steps"]["mean_ns"] / 1000 == pytest.approx(theirs["average_step_time_us"], abs=1.5)
    assert sum(ours["step_breakdown_ns"].values()) == pytest.approx(ours["steps"]["mean_ns"], abs=8)


def test_gpu_figures_equal_the_plugins(name, trace, oracle, report, tmp_path):
    theirs = {key: float(text.split()[0]) for key, text in oracle(name, "tb")["gpu_summary"].items() if "%" in text}
    gpu = report(write(trace, as_the_plugin_sees(trace), tmp_path / "t.json"))["traces"][0]["gpus"][0]
    rounding = 0.011  # two decimals, and float sums
    assert 100 * gpu["utilization"] == pytest.approx(theirs["GPU Utilization"], abs=rounding)
    assert 100 * gpu["sm_efficiency"] == pytest.approx(theirs["Est. SM Efficiency"], abs=rounding)
    assert 100 * gpu["occupancy"] == pytest.approx(theirs["Est. Achieved Occupancy"], abs=rounding)
    summary = oracle(name, "tb")["gpu_summary"]
    if "Name" in summary:
        assert gpu["name"] == summary["Name"]
        # ROCm writes its own architecture's number there, which the plugin shows as NVIDIA's.
        amd = "AMD" in summary["Name"]
        assert gpu["compute_capability"] == (None if amd else summary["Compute Capability"])
        assert gpu["memory_bytes"] / 2**30 == pytest.approx(float(summary["Memory"].split()[0]), abs=0.006)
    else:
        assert gpu["memory_bytes"] is None and gpu["compute_capability"] is None
    if "Kernel Time using Tensor Cores" in theirs:  # the plugin only knows it in its own dialect
        share = theirs["Kernel Time using Tensor Cores"]
        assert 100 * gpu["tensor_core_share"] == pytest.approx(share, abs=rounding)


def as_hta_sees(trace):
    """HTA drops the last profiler step: host events from its begin on, and the GPU work that they launched."""
    events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    steps = [e["ts"] for e in events if e["name"].startswith("ProfilerStep")
             and category(e) != "gpu_user_annotation"]  # fmt: skip
    if len({e["name"] for e in events if e["name"].startswith("ProfilerStep")}) < 2:
        return trace["traceEvents"]
    last = max(steps)
    host = [e for e in events if category(e) not in (*DEVICE_WORK, "cuda_sync") and e["ts"] < last]
    launched = {e["args"].get("correlation") for e in host if "args" in e} - {None}
    device = [e for e in events if category(e) in DEVICE_WORK and e["args"]["correlation"] in launched]
    return host + device


def test_temporal_breakdown_equals_htas(name, trace, oracle, report, tmp_path):
    theirs = oracle(name, "hta")
    gpu = report(write(trace, as_hta_sees(trace), tmp_path / "t.json"))["traces"][0]["gpus"][0]
    times = theirs["temporal_breakdown"][0]
    tolerance = 0.5  # us: HTA sums 16-digit stamps as floats
    # HTA takes the cuda_sync rows of the one trace that has them for GPU work, "Stream Wait Event" even for
    # computation; they are waits.
    if not slices(trace, "cuda_sync"):
        assert gpu["compute_ns"] / 1000 == pytest.approx(times["compute_time(us)"], abs=tolerance)
        assert gpu["span_ns"] / 1000 == pytest.approx(times["kernel_time(us)"], abs=tolerance)
        assert gpu["idle_ns"] / 1000 == pytest.approx(times["idle_time(us)"], abs=tolerance)
        assert gpu["non_compute_ns"] / 1000 == pytest.approx(times["non_compute_time(us)"], abs=tolerance)
    overlap = theirs["comm_comp_overlap"][0]["comp_comm_overlap_pctg"]
    if overlap is None:
        assert gpu["communication_overlap"] is None
    else:
        assert 100 * gpu["communication_overlap"] == pytest.approx(overlap, abs=0.006)


@pytest.fixture
def as_hta(name, trace, oracle, report, tmp_path):
    """HTA's figures of a trace, and our report on the part of it that HTA sees."""
    return oracle(name, "hta"), report(write(trace, as_hta_sees(trace), tmp_path / "t.json"))["traces"][0]


def describe(rows, column):
    """One column of HTA's tables in the form of pandas' describe()."""
    return {row["index"]: row[column] for row in rows}


# HTA's stamps are floats: at 16 digits they are whole quarters of a microsecond.
FLOAT_STAMP = 0.25


@pytest.fixture
def as_hta_without_graphs(name, trace, oracle, report, tmp_path):
    """Like as_hta(), but without graph launches. HTA does not know them, so their kernels are in none of its
    queues."""
    events = [e for e in as_hta_sees(trace) if e["name"] != "cudaGraphLaunch"]
    return oracle(name, "hta"), report(write(trace, events, tmp_path / "t.json"))["traces"][0]


def test_graph_launches_count_with_all_their_kernels(trace, name, shared, report):
    launches = report(shared / "traces" / f"{name}.pt.trace.json.gz")["traces"][0]["launches"]
    graphs = {e["args"]["correlation"] for e in slices(trace, "cuda_runtime") if e["name"] == "cudaGraphLaunch"}
    works = [e["args"]["correlation"] for e in slices(trace, *DEVICE_WORK)]
    assert launches["graph_launches"] == len(graphs & set(works))
    assert launches["graph_count"] == sum(correlation in graphs for correlation in works)


def test_launch_statistics_equal_htas(as_hta_without_graphs):
    theirs, ours = as_hta_without_graphs[0]["launch_stats"], as_hta_without_graphs[1]["launches"]
    names = {"mean": "mean", "std": "deviation", "min": "min", "25%": "p25", "50%": "p50", "75%": "p75", "max": "max"}
    assert ours["count"] == describe(theirs, "cpu_duration")["count"]
    for column, part in (("cpu_duration", "host"), ("gpu_duration", "device"), ("launch_delay", "delay")):
        for their_name, our_name in names.items():
            expected = describe(theirs, column)[their_name]
            figure = ours[part][f"{our_name}_ns"] / 1000
            assert figure == pytest.approx(expected, rel=1e-4, abs=FLOAT_STAMP), (column, their_name)


def test_queues_equal_htas(trace, as_hta_without_graphs):
    theirs, ours = as_hta_without_graphs[0]["queue_length_summary"], as_hta_without_graphs[1]["queue"]
    # If a launch and a begin have the same microsecond, HTA's sort decides which comes first.
    tolerance = 1e-4 if any(event["dur"] % 1 for event in slices(trace, *DEVICE_WORK)) else 2e-3
    names = {"count": "count", "mean": "mean", "std": "deviation", "min": "min", "25%": "p25", "50%": "p50",
             "75%": "p75", "max": "max"}  # fmt: skip
    for row in theirs or []:
        queue = ours[str(row["('stream', '')"])]
        for their_name, our_name in names.items():
            expected = row[f"('queue_length', '{their_name}')"]
            assert queue[our_name] == pytest.approx(expected, rel=tolerance), (row["('stream', '')"], their_name)


def negative_gaps(trace):
    """By stream, the microseconds by which pieces of work overlap the one before; HTA subtracts them from
    "kernel_wait"."""
    gaps, ends = collections.Counter(), {}
    for event in sorted(slices({"traceEvents": as_hta_sees(trace)}, *DEVICE_WORK), key=lambda e: e["ts"]):
        stream = event["args"]["stream"]
        gaps[stream] += min(0, event["ts"] - ends.get(stream, event["ts"]))
        ends[stream] = event["ts"] + event["dur"]
    return gaps


def test_idle_classes_of_each_stream_equal_htas(name, trace, as_hta):
    streams = {row["stream"]: row for row in as_hta[1]["idle"]["streams"]}
    overlaps = negative_gaps(trace)
    # In this one trace 83 calls begin within a float's precision of the end of the work before, so HTA cannot know
    # which of the two came first.
    tolerance = 50 if name == "v100_nanoseconds_rank0" else 1
    for row in as_hta[0]["idle_breakdown"] or []:
        expected = row["idle_time"]
        if row["idle_category"] == "kernel_wait":
            expected -= overlaps[row["stream"]]
        figure = streams[row["stream"]][row["idle_category"] + "_ns"] / 1000
        assert figure == pytest.approx(expected, rel=1e-4, abs=tolerance), (row["stream"], row["idle_category"])


def test_what_ran_at_once_equals_htas(trace, as_hta):
    mix = as_hta[1]["gpus"][0]["mix_ns"]
    assert sum(mix.values()) == as_hta[1]["gpus"][0]["busy_ns"]
    # HTA cuts each piece down to whole microseconds before it sums them.
    works = slices({"traceEvents": as_hta_sees(trace)}, *DEVICE_WORK)
    has_nanoseconds = any(event["dur"] % 1 for event in works)
    kinds = {"COMPUTATION": "compute", "COMMUNICATION": "communication", "MEMORY": "memory"}
    for row in as_hta[0]["kernel_type_breakdown"]:
        parts = [kinds[part] for part in row["kernel_type"].split(" overlapping ")]
        if slices(trace, "cuda_sync") and "compute" in parts:
            continue  # these are waits, which HTA takes for computation
        figure = mix["_".join(parts)] / 1000
        if has_nanoseconds:
            assert row["sum"] <= figure <= row["sum"] + len(works), row["kernel_type"]
        else:
            assert figure == pytest.approx(row["sum"], rel=1e-4, abs=1), row["kernel_type"]


def test_copy_rates_equal_htas(as_hta):
    kinds = collections.defaultdict(list)  # HTA does not tell pageable and pinned copies apart
    for row in as_hta[1]["copies"]:
        kinds[row["kind"].split(" ")[0]].append(row)
    names = {"count": "count", "mean": "mean", "std": "deviation", "min": "min", "25%": "p25", "50%": "p50",
             "75%": "p75", "max": "max"}  # fmt: skip
    for theirs in as_hta[0]["memory_bw_summary"] or []:
        rows = kinds[theirs["('name', '')"].removeprefix("Memcpy ")]
        if len(rows) > 1:
            continue
        if theirs["('memory_bw_gbps', 'count')"] > rows[0]["count"]:
            # HTA adds up the rates of copies that run at the same time on several streams, and takes rounding errors
            # at the end of such a copy for one more copy.
            assert theirs["('memory_bw_gbps', 'max')"] > rows[0]["single_bandwidth"]["max"] / 1e9
            continue
        for their_name, our_name in names.items():
            expected = theirs[f"('memory_bw_gbps', '{their_name}')"]
            figure = rows[0]["single_bandwidth"][our_name] / (1 if our_name == "count" else 1e9)
            assert figure == pytest.approx(expected or 0, rel=1e-4), (rows[0]["kind"], their_name)


def test_kernels_equal_htas_top(as_hta):
    ours = {row["name"]: row for row in as_hta[1]["kernels"]}
    for row in as_hta[0]["top_kernels"]:
        if row["name"] not in ours:
            continue  # these are "others" and copies
        kernel = ours[row["name"]]
        assert kernel["total_ns"] / 1000 == pytest.approx(row["sum (us)"], rel=1e-4)
        # For types with more than ten names HTA prints the sum in all four columns.
        if row["sum (us)"] != row["max (us)"]:
            assert kernel["max_ns"] / 1000 == pytest.approx(row["max (us)"], rel=1e-4)
            assert kernel["min_ns"] / 1000 == pytest.approx(row["min (us)"], rel=1e-4)
            assert kernel["mean_ns"] / 1000 == pytest.approx(row["mean (us)"], rel=1e-4, abs=0.001)


def test_kernels_equal_the_plugins_top(name, oracle, report, shared):
    ours = {row["name"]: row for row in report(shared / "traces" / f"{name}.pt.trace.json.gz")["traces"][0]["kernels"]}
    for row in oracle(name, "tb")["top_kernels"]:
        kernel = ours[row["Name"]]
        # The plugin's list of names ends before cuDNN 8's TF32 kernels.
        assert kernel["tensor_cores"] == (row["Tensor Cores Used"] == "Yes" or "tf32f32" in row["Name"]), row["Name"]
        assert kernel["count"] == row["Calls"]
        for theirs, figure in (("Total", "total_ns"), ("Mean", "mean_ns"), ("Max", "max_ns"), ("Min", "min_ns")):
            assert kernel[figure] / 1000 == pytest.approx(row[f"{theirs} Duration (us)"], abs=1), row["Name"]
        assert kernel["blocks_per_sm"] == pytest.approx(row["Mean Blocks Per SM"], abs=0.006)
        assert 100 * kernel["occupancy"] == pytest.approx(row["Mean Est. Achieved Occupancy (%)"], abs=0.006)


def test_tensor_core_eligible_share_equals_the_plugins(oracle, report, shared):
    """The plugin says it in words, in its own dialect only, if the share is high."""
    name = "resnet50_v100_workers0"
    words = re.search(r"Kernels with (\d+)% time are launched by Tensor", " ".join(oracle(name, "tb")["recommendations"]))
    share = report(shared / "traces" / f"{name}.pt.trace.json.gz")["traces"][0]["gpus"][0]["tensor_core_eligible_share"]
    assert round(100 * share) == int(words[1])


def test_advice_equals_the_plugins_where_it_sees_all(oracle, report, shared):
    """The plugin's two samples are in its own dialect; on them the same rules fire in the plugin and in ours."""
    for name in ("resnet50_v100_workers0", "resnet50_v100_workers4"):
        rules = {f["rule"] for f in report(shared / "traces" / f"{name}.pt.trace.json.gz")["advice"]}
        theirs = " ".join(oracle(name, "tb")["recommendations"])
        assert ("dataloader_wait" in rules) == ("input data loading" in theirs)
        assert ("tensor_cores_unused" in rules) == ("Tensor Cores eligible" in theirs)
        assert ("low_gpu_utilization" in rules) == ("low utilization" in theirs)
        assert ("communication" in rules) == ("on communication" in theirs)


def test_text_report_fits_80_columns_and_names_its_findings(program, run, shared):
    path = shared / "traces" / "resnet50_v100_workers0.pt.trace.json.gz"
    done = run([program("redline"), "report", path], environment={"LC_ALL": "C.UTF-8"})
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "DataLoader: training waits 59.3 ms a step" in done.stdout
    assert "-> autotune --knob num_workers=0..4" in done.stdout
    assert "\x1b" not in done.stdout
    plain = run([program("redline"), "report", path], environment={"LC_ALL": "C"})
    assert plain.stdout.isascii()


def test_html_report_refers_to_nothing_outside(program, succeed, shared, tmp_path):
    page = tmp_path / "report.html"
    succeed([program("redline"), "report", "--format", "html", "-o", page, shared / "traces"])
    html = page.read_text()
    assert "What holds it back" in html and "default-src 'none'" in html
    assert not re.search(r"(src|href|url)\s*[=(]", html)


@pytest.mark.parametrize(
    "content, why",
    [
        (None, "No such file or directory"),
        ("", "the file is empty"),
        ("hello", "not a JSON trace"),
        ("\n\x03abc\n\x0ftrack_event", "a Perfetto trace (.pftrace), which is not read"),
        ("\n\x09abc\n", "not a JSON trace"),
        ('{"a": 1, "b": 2}', "no trace events in this JSON object (keys: a, b)"),
    ],
)
def test_wrong_input_gives_one_line_that_says_what_to_do(content, why, program, run, tmp_path):
    path = tmp_path / "x.json"
    if content is not None:
        path.write_text(content)
    for command in (["report", path], ["diff", path, path], ["summarize", path]):
        done = run([program("redline"), *command])
        assert done.returncode == 1 and done.stdout == ""
        assert done.stderr.startswith(f"redline: {path}: {why}") and done.stderr.count("\n") == 1


TRACE = '[{"ph": "X", "name": "a", "ts": 1, "dur": 1}]'
FLIGHT_DUMP = '{"pg_config": {}, "entries": []}'
SUMMARY = '{"schema":"redline.summary/1"}'


@pytest.mark.parametrize("name, content, commands", [
    ("a.json", TRACE, [["report"], ["summarize"], ["what-if", "--knob", "loader=free"], ["diff", "OTHER"]]),
    ("rank0.steps.redline", "steps", [["report"], ["diff", "OTHER"]]),
    ("rank0.json", FLIGHT_DUMP, [["report"]]),
    ("nccl_trace_rank_0", FLIGHT_DUMP, [["report"]]),
    ("rank0.hang.redline", "{}", [["report"]]),
    ("a.summary.jsonl", SUMMARY, [["report"], ["summarize"]]),
])
def test_what_is_written_takes_the_place_of_no_input(name, content, commands, program, run, tmp_path):
    folder, other = tmp_path / "given", tmp_path / "other.json"
    folder.mkdir()
    other.write_text(TRACE)
    path = folder / name
    path.write_text(content)
    for command in commands:
        command = [program("redline"), *(other if word == "OTHER" else word for word in command)]
        for given in (path, folder):
            done = run([*command, given, "-o", path])
            assert done.stderr == f"redline: {path}: is one of the files to read. Choose another file with -o\n"
            assert done.returncode == 1 and path.read_text() == content


def test_a_report_is_written_whole_or_not_at_all(program, run, tmp_path):
    path, target = tmp_path / "a.json", tmp_path / "report.html"
    path.write_text('[{"ph": "X", "name": "a", "ts": 1, "dur": 1}]')
    target.write_text("the last report")
    limited = ["bash", "-c", 'trap "" XFSZ; ulimit -f 1; exec "$@"', "bash", program("redline")]
    done = run([*limited, "report", path, "--format", "html", "-o", target])
    assert done.returncode == 1 and "File too large" in done.stderr
    assert target.read_text() == "the last report"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.json", "report.html"]


@pytest.mark.parametrize("command, remedy", [
    (["report", "TRACE"], ". Choose another file with -o FILE"),
    (["diff", "TRACE", "TRACE"], ". Choose another file with -o FILE"),
    (["summarize", "TRACE"], ". Choose another file with -o FILE"),
    (["monitor", "--once"], ""),
    (["doctor", "--format", "json"], ""),
    (["doctor", "--measure"], ""),
])
def test_a_full_disk_is_one_line_with_a_remedy_that_exists(command, remedy, program, run, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(TRACE)
    words = [str(path) if word == "TRACE" else word for word in command]
    done = run(["sh", "-c", 'exec "$@" >/dev/full', "sh", program("redline"), *words],
               environment={"XDG_DATA_HOME": str(tmp_path), "REDLINE_PYTHON": "/no/python"})
    assert (done.returncode, done.stderr) == (1, f"redline: standard output: No space left on device{remedy}\n")


def test_a_file_given_twice_is_one_rank(program, run, tmp_path):
    path = tmp_path / "a.json"
    path.write_text('[{"ph": "X", "name": "a", "ts": 1, "dur": 1}]')
    report = json.loads(run([program("redline"), "report", "--format", "json", path, tmp_path, path]).stdout)
    assert len(report["traces"]) == 1 and report["ranks"] is None


def test_no_rows_are_refused_in_a_short_line(program, run, tmp_path):
    for command in ("report", "diff"):
        done = run([program("redline"), command, "--top", "0", tmp_path, tmp_path])
        assert done.returncode == 2 and max(map(len, done.stderr.splitlines())) < 80


def test_a_folder_without_traces_is_named(program, run, tmp_path):
    done = run([program("redline"), "report", tmp_path])
    assert done.returncode == 1 and f"{tmp_path}: no traces in this folder" in done.stderr


def test_traces_are_not_compared_with_step_logs(program, run, tmp_path):
    trace, logs, empty = tmp_path / "a.json", tmp_path / "logs", tmp_path / "empty"
    trace.write_text(TRACE)
    logs.mkdir()
    empty.mkdir()
    (logs / "rank0.steps.redline").write_text("steps")
    for sides in ((trace, logs), (logs, trace)):
        done = run([program("redline"), "diff", *sides])
        error = f"{logs} has only step logs, {trace} only traces. Compare logs with logs, or traces with traces"
        assert (done.returncode, done.stderr) == (1, f"redline: {error}\n")
    for sides in ((empty, logs), (logs, empty)):
        done = run([program("redline"), "diff", *sides])
        assert done.returncode == 1 and f"{empty}: no traces in this folder" in done.stderr


def test_a_step_is_not_judged_beside_a_whole_trace(program, run, succeed, tmp_path):
    def write(name, *marks):
        slices = [("user_annotation", f"ProfilerStep#{i}", 100 * i, 100) for i in marks]
        slices += [("cpu_op", "aten::mm", 100 * i + 10, 20) for i in range(5)]
        events = [{"ph": "X", "cat": cat, "name": slice_name, "pid": 1, "tid": 1, "ts": ts, "dur": dur}
                  for cat, slice_name, ts, dur in slices]
        (tmp_path / name).write_text(json.dumps(events))
        return tmp_path / name

    marked, unmarked = write("a.json", *range(5)), write("b.json")
    succeed([program("redline"), "diff", marked, write("c.json", *range(5)), "--format", "markdown"])
    done = run([program("redline"), "diff", marked, unmarked, "--format", "markdown"])
    error = f"{marked}, {unmarked}: one side marks no steps, and a step does not compare with a whole trace"
    assert (done.returncode, done.stderr) == (1, f"redline: {error}\n")


@pytest.mark.parametrize("columns, bar", [(80, 40), (30, 8), (10, 0)])
def test_a_progress_bar_stays_in_its_line(program, tmp_path, columns, bar):
    events = [{"ph": "X", "name": "a", "ts": at, "dur": 1} for at in range(20_000)]
    (tmp_path / "a.json").write_text(json.dumps(events))
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    subprocess.run([program("redline"), "export", "a.json", "--sqlite", "a.db"], cwd=tmp_path, stderr=its, check=True,
                   env={**os.environ, "TERM": "xterm"})
    shown = os.read(ours, 65536).decode()
    os.close(its)
    os.close(ours)
    drawn = re.findall(r"\rexporting    \[([#.]*)\] +[0-9]+ %", shown)
    assert drawn and {len(one) for one in drawn} == {bar}


def test_a_page_of_dumps_alone_says_who_holds_the_job_up(program, succeed, tmp_path):
    for rank, entered in ((0, 2), (1, 1)):
        entries = [{"process_group": ["0", ""], "collective_seq_id": number, "profiling_name": "nccl:all_reduce",
                    "input_sizes": [[8]], "input_dtypes": ["Float"], "state": "scheduled" if number == 2 else "completed",
                    "is_p2p": False} for number in range(1, entered + 1)]
        groups = {"0": {"name": "0", "ranks": "[0, 1]"}}
        dump = {"version": "2.10", "comm_lib_version": "", "pg_config": groups, "entries": entries}
        (tmp_path / f"rank{rank}.json").write_text(json.dumps(dump))
    done = succeed([program("redline"), "report", "--format", "html", tmp_path])
    assert "<h2>Hangs: rank 1 did not enter it</h2>" in done.stdout
    assert done.stdout.endswith("</main></body></html>\n")


def test_diff_of_the_two_samples(program, run, shared):
    paths = [shared / "traces" / f"resnet50_v100_workers{n}.pt.trace.json.gz" for n in (0, 4)]
    diff = json.loads(run([program("redline"), "diff", "--format", "json", *paths]).stdout)
    assert diff["schema"] == "redline.diff/1"
    assert diff["speedup"] == pytest.approx(177592 / 141068, rel=1e-4)
    assert diff["step_breakdown_ns"]["dataloader"]["delta"] / 1000 == pytest.approx(1186 - 59262, abs=2)
    changes = [abs(row["delta_ns"]) for row in diff["operators"]]
    assert changes == sorted(changes, reverse=True)


@pytest.mark.parametrize("form", ["markdown", "benchmark-action"])
def test_a_form_without_a_tree_refuses_one(form, program, run, tmp_path):
    (tmp_path / "a.json").write_text(TRACE)
    done = run([program("redline"), "diff", "--tree", "--format", form, tmp_path / "a.json", tmp_path / "a.json"])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"redline: --tree: {form} has no place for it. Use --format text or json\n"


def test_a_compiled_gpt_on_an_h100_fits_the_terminal(run, program, repo_root):
    """The names of its kernels and operators have up to 150 letters."""
    trace = repo_root / "tests/fixtures/gpu/h100_compiled_gpt.redline.pt.trace.json.gz"
    lines = run([program("redline"), "report", trace]).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    text = " ".join(line.strip() for line in lines)
    assert ("not modelled: 922.5 us of GPU time (_foreach_add_ 711.7 us, triton_per_fused__to_copy_…kward_view_20 67.2 us, "
            "nll_loss_forward 54.4 us, …)") in text
    assert 'or the CUDA graphs of torch.compile(mode="reduce-overhead"), give the GPU more work a launch' in text
    assert "multi_tensor_apply_kernel<plus>" in text

"""The reader's counts of real traces and of edge cases agree with those by Python's json."""

import collections
import gzip
import json
import sys

import pytest

EDGE_CASES = "data/trace_event_edge_cases"


@pytest.fixture
def report(program, succeed):
    def of(path):
        done = succeed([program("redline"), "report", "--format", "json", path])
        return json.loads(done.stdout)["traces"][0]

    return of


def events_of(path):
    """All events of a file, also of the edge cases that lack the last bracket."""
    text = gzip.open(path, "rt").read() if path.suffix == ".gz" else path.read_text()
    try:
        trace = json.loads(text)
    except json.JSONDecodeError:
        trace = json.loads(text.rstrip().rstrip(",") + "]")
    return trace if isinstance(trace, list) else trace["traceEvents"]


def test_counts_of_each_phase_equal_pythons(report, shared):
    paths = sorted((shared / "traces").glob("*.gz")) + sorted((shared / EDGE_CASES).glob("*.json"))
    assert len(paths) >= 40
    for path in paths:
        counts = collections.Counter(event.get("ph", "none") for event in events_of(path))
        trace = report(path)
        assert trace["events_by_phase"] == counts, path.name
        assert trace["events"] == sum(counts.values()), path.name
        assert trace["dropped"] == 0


def test_real_traces_need_no_repair(report, shared):
    for path in sorted((shared / "traces").glob("*.gz")):
        trace = report(path)
        assert not trace["skipped"] and not trace["repaired"], path.name


# The name of a file tells what it tests.
@pytest.mark.parametrize(
    "name, skipped, repaired",
    [
        ("simple", {}, {"slice_without_dur": 1}),
        ("simple-partial", {}, {"slice_without_dur": 1, "array_without_end": 1}),
        ("simple-partial-trailing-comma", {}, {"slice_without_dur": 1, "array_without_end": 1}),
        ("simple-partial-whitespace", {}, {"slice_without_dur": 1, "array_without_end": 1}),
        ("end-event-with-empty-stack", {"end_without_begin": 1}, {}),
        ("end-non-top-of-stack", {}, {"begin_without_end": 1}),
        ("mismatched-name", {"end_without_begin": 1}, {"begin_without_end": 1}),
        ("not-enough-end-events", {}, {"begin_without_end": 2}),
        ("only-begin-events", {}, {"begin_without_end": 3}),
        ("too-many-end-events", {"end_without_begin": 2}, {}),
        ("zero-duration-events", {}, {}),
        ("out-of-order-unbalanced-name", {}, {}),
        ("invalid-x-nesting", {}, {}),
        ("simple-with-samples", {"sample_not_shown": 7}, {}),
        ("multi-thread-with-samples", {"sample_not_shown": 8}, {"time_as_string": 2}),
    ],
)
def test_edge_cases_say_what_was_wrong(report, shared, name, skipped, repaired):
    trace = report(shared / EDGE_CASES / f"{name}.json")
    assert trace["skipped"] == skipped
    assert trace["repaired"] == repaired
    assert {issue["name"] for issue in trace["issues"]} == set(skipped) | set(repaired)
    size = (shared / EDGE_CASES / f"{name}.json").stat().st_size
    assert all(0 <= issue["first_offset"] <= size for issue in trace["issues"])


def test_a_bad_file_does_not_refuse_its_folder(program, run, succeed, tmp_path):
    for rank in (0, 1):
        (tmp_path / f"rank{rank}.pt.trace.json").write_text(
            '{"distributedInfo": {"rank": %d, "world_size": 3}, "traceEvents": ['
            '{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 5}]}' % rank)
    bad = tmp_path / "rank2.pt.trace.json"
    bad.write_text("no trace")
    done = succeed([program("redline"), "report", tmp_path])
    assert done.stderr.startswith(f"redline: left out: {bad}: ")
    assert "! left out" in done.stdout and "1 file left out" in done.stdout
    done = run([program("redline"), "report", "--format", "json", tmp_path])
    document = json.loads(done.stdout)
    assert [trace["rank"] for trace in document["traces"]] == [0, 1]
    assert [line.startswith(f"{bad}: ") for line in document["unreadable"]] == [True]
    assert run([program("redline"), "report", bad]).returncode == 1
    summaries = tmp_path / "all.summary.jsonl"
    for part, count in (("1/1", 3), ("3/3", 1)):
        done = succeed([program("redline"), "summarize", "--part", part, tmp_path, "-o", summaries])
        assert done.stderr.startswith(f"redline: left out: {bad}: ")
        assert len(summaries.read_text().splitlines()) == count
    assert run([program("redline"), "diff", tmp_path, tmp_path]).returncode == 1, "a part of a run is not the run"


# A small process of its own, because a program counts the memory of the process that started it as its own.
PEAK_MEMORY = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
"""


def test_a_million_threads_take_less_than_their_text_four_times(succeed, program, tmp_path):
    """Where the trace is read, and stored in the cache, and where it is there."""
    path = tmp_path / "threads.json"
    event = '{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": %d, "ts": %d, "dur": 5}'
    with path.open("w") as file:
        file.write('{"traceEvents": [\n')
        file.write(",\n".join(event % (thread, 3 * thread) for thread in range(1_000_000)))
        file.write("\n]}\n")
    command = [program("redline"), "report", "--format", "json", path]
    cached = {"REDLINE_CACHE": "", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    for files_in_cache in (0, 1):
        assert len(list(tmp_path.glob("cache/redline/*.trace"))) == files_in_cache
        done = succeed([sys.executable, "-c", PEAK_MEMORY, *command], environment=cached)
        trace = json.loads(done.stdout)["traces"][0]
        assert trace["events"] == 1_000_000 and not trace["skipped"]
        assert int(done.stderr.split()[-1]) < 340_000  # kB
    assert path.stat().st_size > 90_000_000

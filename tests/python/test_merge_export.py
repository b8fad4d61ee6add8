"""`redline merge` and `redline export` with right and wrong input, interrupted, and run twice."""

import gzip
import json
import os
import pathlib
import signal
import sqlite3

import pytest


def rank_trace(rank, ahead_us):
    events = [{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}}]
    for i in range(1, 6):
        at = 1000 * i + ahead_us
        events += [
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at, "dur": 1,
             "args": {"correlation": i}},
            {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "pid": 0, "tid": 7,
             "ts": at + 5 + rank, "dur": 50 - rank, "args": {"correlation": i, "stream": 7, "device": 0}},
        ]  # fmt: skip
    return {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2}, "traceEvents": events}


@pytest.fixture
def ranks(tmp_path):
    """A folder of two ranks; the clock of the second one is 123 us ahead."""
    folder = tmp_path / "ranks"
    folder.mkdir()
    for rank, ahead in ((0, 0), (1, 123)):
        (folder / f"r{rank}.pt.trace.json").write_text(json.dumps(rank_trace(rank, ahead)))
    return folder


@pytest.fixture
def big(tmp_path):
    """A trace that takes a while to write."""
    events = [
        {"ph": "X", "cat": "cpu_op", "name": f"op{i % 99}", "pid": 1, "tid": 1, "ts": i, "dur": 0.5, "args": {}}
        for i in range(400_000)
    ]
    path = tmp_path / "big.json"
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def test_merge_writes_no_zstd_under_a_name_that_promises_it(program, run, ranks, tmp_path):
    done = run([program("redline"), "merge", ranks, "-o", tmp_path / "all.json.zst"])
    assert done.returncode == 1 and done.stderr.endswith("a trace is written plain, or as gzip to NAME.gz\n")
    assert [path.name for path in tmp_path.iterdir()] == ["ranks"]


def test_merge_says_each_offset_and_reads_back(program, run, succeed, ranks, tmp_path):
    target = tmp_path / "all.pt.trace.json.gz"
    for _ in range(2):  # the second run replaces the output of the first
        done = succeed([program("redline"), "merge", ranks, "-o", target])
        assert done.stdout.splitlines() == ["rank 0  the clock of all", "rank 1  -123.0 us ± 49.0 us by 5 collectives"]
    merged = json.loads(gzip.open(target).read())
    kernels = [e for e in merged["traceEvents"] if e.get("cat") == "kernel"]
    ends = sorted(round((e["ts"] + e["dur"]) * 1000) for e in kernels)
    assert len(kernels) == 10 and ends[::2] == ends[1::2]
    assert len({e["args"]["correlation"] for e in kernels}) == 10
    names = {e["args"]["name"] for e in merged["traceEvents"] if e["name"] == "process_name"}
    assert {"rank 0 · python", "rank 1 · python"} <= names
    flows = [(e["ph"], e["id"]) for e in merged["traceEvents"] if e["ph"] in "sf"]
    assert len(flows) == len(set(flows)) == 20
    report = json.loads(run([program("redline"), "report", "--format", "json", target]).stdout)
    assert report["traces"][0]["skipped"] == report["traces"][0]["repaired"] == {}
    assert not list(tmp_path.glob("*.partial"))


def test_merge_keeps_clocks_on_request(program, run, ranks, tmp_path):
    done = run([program("redline"), "merge", "--keep-clocks", ranks, "-o", tmp_path / "all.json"])
    assert done.stdout.count("its own clock") == 2
    begins = [e["ts"] for e in json.loads((tmp_path / "all.json").read_text())["traceEvents"] if e["ph"] == "X"]
    assert 1123 in begins


def test_merge_of_real_ranks(program, succeed, shared, tmp_path):
    paths = sorted((shared / "traces").glob("fsdp_sampled_rank*"))
    succeed([program("redline"), "merge", *paths, "-o", tmp_path / "all.json"])
    merged = json.loads((tmp_path / "all.json").read_text())
    before = [json.loads(gzip.open(path).read())["traceEvents"] for path in paths]
    count = sum(e["ph"] == "X" for events in before for e in events)
    assert sum(e["ph"] == "X" for e in merged["traceEvents"]) == count


def test_merge_refuses_to_overwrite_its_input(program, run, ranks):
    source = ranks / "r0.pt.trace.json"
    before = source.read_bytes()
    done = run([program("redline"), "merge", ranks, "-o", source])
    assert done.returncode == 1 and "is one of the files to read" in done.stderr
    assert source.read_bytes() == before


@pytest.mark.parametrize("name", ["k.pt.trace.json", "k.pt.trace.json.gz"])
def test_merge_gives_what_a_killed_process_left_its_name(name, program, succeed, ranks, tmp_path):
    killed = tmp_path / "k.pt.trace.json.gz.partial"
    killed.write_bytes(gzip.compress((ranks / "r0.pt.trace.json").read_bytes()))
    before = killed.read_bytes()
    succeed([program("redline"), "merge", killed, "-o", tmp_path / name])
    assert killed.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"ranks", killed.name, name}


def test_merge_takes_the_place_of_files_only(program, run, ranks, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for target in (pipe, ranks):
        done = run([program("redline"), "merge", ranks, "-o", target])
        assert done.returncode == 1
        assert done.stderr == f"redline: {target}: is not a file. Choose another file with -o\n"
    assert pipe.is_fifo() and not list(tmp_path.glob("*.partial"))
    unnamed = run([program("redline"), "merge", ranks, "-o", ""])  # a script's variable that is not set
    assert unnamed.returncode == 2
    assert unnamed.stderr == "redline: -o: names no file. Example: -o all.pt.trace.json.gz\n"


def test_a_merge_that_finds_no_room_leaves_nothing(program, run, big, tmp_path):
    limited = ["bash", "-c", 'trap "" XFSZ; ulimit -f 100; exec "$@"', "bash", program("redline")]
    for name in ("all.json", "all.json.gz"):
        done = run([*limited, "merge", big, "-o", tmp_path / name])
        assert done.returncode == 1 and "File too large" in done.stderr
    assert list(tmp_path.iterdir()) == [big]


def test_a_report_on_a_merged_file_says_that_it_mixes_ranks(program, run, ranks, tmp_path):
    target = tmp_path / "all.json"
    run([program("redline"), "merge", ranks, "-o", target])
    assert "! note     2 ranks in one file" in run([program("redline"), "report", target]).stdout
    assert "2 ranks in one file" in run([program("redline"), "report", "--format", "html", target]).stdout
    report = json.loads(run([program("redline"), "report", "--format", "json", target]).stdout)
    assert report["traces"][0]["merged_ranks"] == 2
    text = run([program("redline"), "report", ranks]).stdout
    assert "merged" not in text and max(map(len, text.splitlines())) <= 80


def test_a_merged_file_beside_its_ranks_is_left_out_and_named(program, run, ranks):
    target = ranks / "all.pt.trace.json.gz"
    run([program("redline"), "merge", ranks, "-o", target])
    said = f"redline: {target}: left out, as redline merge made it of others; name it alone to read it\n"
    done = run([program("redline"), "report", "--format", "json", ranks])
    assert [trace["rank"] for trace in json.loads(done.stdout)["traces"]] == [0, 1]
    assert done.stderr == said
    done = run([program("redline"), "merge", ranks, "-o", ranks / "again.json"])
    assert len(done.stdout.splitlines()) == 2 and done.stderr == said
    done = run([program("redline"), "export", ranks, "--sqlite", ranks / "t.db"])
    assert done.stderr == said
    with sqlite3.connect(ranks / "t.db") as db:
        assert db.execute("SELECT rank FROM traces ORDER BY 1").fetchall() == [(0,), (1,)]


def test_export_tables(program, succeed, ranks, tmp_path):
    target = tmp_path / "t.db"
    for _ in range(2):
        done = succeed([program("redline"), "export", ranks, "--sqlite", target])
        assert done.stdout == done.stderr == ""
    with sqlite3.connect(target) as db:
        assert db.execute("SELECT rank, count(*) FROM events GROUP BY rank").fetchall() == [(0, 10), (1, 10)]
        assert db.execute("SELECT count(*) FROM collectives WHERE kind = 'all_reduce'").fetchone() == (10,)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_export_of_a_real_trace_has_every_slice(program, succeed, shared, tmp_path):
    path = shared / "traces" / "ddp_a100_nccl_metadata_rank0.pt.trace.json.gz"
    succeed([program("redline"), "export", path, "--sqlite", tmp_path / "t.db"])
    events = [e for e in json.loads(gzip.open(path).read())["traceEvents"] if e["ph"] == "X"]
    with sqlite3.connect(tmp_path / "t.db") as db:
        kernels = [e for e in events if e["cat"] == "kernel"]
        assert db.execute("SELECT count(*) FROM slices").fetchone() == (len(events),)
        total = sum(round(e["dur"] * 1000) for e in kernels)
        assert db.execute("SELECT count(*), sum(dur_ns) FROM kernels").fetchone() == (len(kernels), total)
        shapes = {json.dumps(e["args"]["grid"]) for e in kernels}
        assert {row[0] for row in db.execute("SELECT DISTINCT grid FROM kernels")} == shapes


def test_export_leaves_files_of_others_alone(program, run, ranks, tmp_path):
    diary = tmp_path / "diary.db"
    diary.write_text("dear diary")
    done = run([program("redline"), "export", ranks, "--sqlite", diary])
    assert done.returncode == 1 and "no export of Redline's" in done.stderr
    assert diary.read_text() == "dear diary"


@pytest.mark.parametrize("command, option", [("merge", "-o"), ("export", "--sqlite")])
def test_wrong_input_is_one_line(command, option, program, run, succeed, ranks, tmp_path):
    redline = program("redline")
    done = run([redline, command, tmp_path / "none.json", option, tmp_path / "out"])
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "No such file" in done.stderr
    done = run([redline, command, ranks, option, tmp_path / "no folder" / "out"])
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and str(tmp_path / "no folder") in done.stderr
    assert run([redline, command, ranks]).returncode == 2
    help_text = succeed([redline, command, "--help"])
    assert "Examples" in help_text.stdout
    assert not (tmp_path / "out").exists()


@pytest.fixture
def interrupted(start):
    """interrupted(command, target, has_begun): the exit status and the error text of a command that writes `target` and
    is interrupted once `has_begun(process)`. Where a busy machine let it end before that, it runs again."""

    def run_and_interrupt(command, target, has_begun):
        for _ in range(20):
            with start(command) as process:
                while process.poll() is None and not has_begun(process):
                    pass
                process.send_signal(signal.SIGINT)
                _, stderr = process.communicate(timeout=60)
            if process.returncode != 0:
                return process.returncode, stderr
            target.unlink()
        pytest.fail("no run of 20 was ended by the interrupt")

    return run_and_interrupt


@pytest.mark.parametrize("command, option", [("merge", "-o"), ("export", "--sqlite")])
def test_an_interrupt_leaves_nothing(command, option, program, interrupted, big, tmp_path):
    target = tmp_path / "out" / "file"
    target.parent.mkdir()
    words = [program("redline"), command, big, option, target]
    ended = interrupted(words, target, lambda _: list(target.parent.iterdir()))  # it writes
    assert ended == (1, "redline: interrupted: nothing was written\n")
    assert list(target.parent.iterdir()) == []


def is_stopped(process):
    """Waits until a process to which SIGSTOP was sent has stopped or ended, and returns which."""
    if process.poll() is not None:
        return False
    state = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    return state.si_code == os.CLD_STOPPED


@pytest.mark.parametrize("command, option, name", [("merge", "-o", "all.json.gz"), ("export", "--sqlite", "t.db")])
def test_two_at_once_both_write_the_file_whole(command, option, name, program, run, start, big, tmp_path):
    target = tmp_path / "out" / name
    target.parent.mkdir()
    argv = [program("redline"), command, big, option, target]
    for _ in range(20):
        with start(argv) as process:
            while process.poll() is None and not list(target.parent.iterdir()):  # until it writes
                pass
            process.send_signal(signal.SIGSTOP)
            if not is_stopped(process):  # on a busy machine, it may have ended before
                target.unlink()
                continue
            second = run(argv)
            process.send_signal(signal.SIGCONT)
            _, stderr = process.communicate(timeout=60)
        break
    else:
        pytest.fail("each of 20 runs had ended before the second began")
    assert (process.returncode, stderr, second.returncode, second.stderr) == (0, "", 0, "")
    assert list(target.parent.iterdir()) == [target]
    if command == "merge":
        assert len(json.loads(gzip.open(target).read())["traceEvents"]) > 400_000
    else:
        with sqlite3.connect(target) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_an_interrupt_of_summarize_says_that_nothing_was_written(program, interrupted, big, tmp_path):
    target = tmp_path / "a.summary.jsonl"

    def reads(process):
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        return int(status.split("SigCgt:")[1].split()[0], 16) & 1 << (signal.SIGINT - 1)

    ended = interrupted([program("redline"), "summarize", big, "-o", target], target, reads)
    assert ended == (1, "redline: interrupted: nothing was written\n")
    assert not target.exists()

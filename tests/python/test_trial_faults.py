"""Whatever a trial does, its outcome is right, the sweep goes on, and no process is left."""

import collections
import contextlib
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess

import pytest

JOB = pathlib.Path(__file__).with_name("scripts") / "faulty_job.py"
# The outcome of each fault, and how often it runs: only a crash is tried once more.
FAULTS = {
    "none": ("ok", 1),
    "exits": ("crash", 2),
    "segfaults": ("crash", 2),
    "raises_out_of_memory": ("gpu_oom", 1),
    "is_killed": ("host_oom", 1),
    "fills_shm": ("shm_full", 1),
    "prints_garbage": ("invalid", 1),
    "leaves_deaf_grandchildren": ("ok", 1),
    "is_called_wrong": ("invalid", 1),
}


@pytest.fixture
def sweep(program, python, tmp_path):
    """sweep(*options) gives the words of an autotune command that tries every fault."""

    def words(*options, faults=",".join(FAULTS)):
        job = [python, "-S", JOB, "{fault}", tmp_path / "pids"]
        knob = ["--knob", f"fault={faults}", "--metric", "rate: ([0-9.]+)", "--strategy", "grid"]
        return [program("autotune"), *knob, *options, "--", *job]

    return words


def living(pids):
    """The lines of that file whose processes are alive."""
    return [line for line in pids.read_text().splitlines() if is_alive(*line.split())]


def is_alive(pid, start_time):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[19] == start_time
    return False


def test_every_fault_is_told_apart_and_leaves_nothing(run, sweep, tmp_path, no_process_left):
    done = run(sweep(), cwd=tmp_path)
    assert living(tmp_path / "pids") == [], "by the time that autotune ends"
    assert done.returncode == 0, done.stderr
    query = """SELECT json_extract(config, '$.fault'), outcome, json_extract(result, '$.stderr_tail')
               FROM trials WHERE why != 'confirm'"""
    with contextlib.closing(sqlite3.connect(tmp_path / "autotune.study.db")) as study:
        rows = study.execute(query).fetchall()
    ended = collections.defaultdict(list)
    for fault, outcome, _ in rows:
        ended[fault].append(outcome)
    assert ended == {fault: [outcome] * runs for fault, (outcome, runs) in FAULTS.items()}
    assert {tail for fault, _, tail in rows if fault == "exits"} == {"it says why"}


# As accelerate's launcher of one process does.
ACCELERATE = """
import subprocess, sys, torch
command = [sys.executable, *sys.argv[2:]]
if status := subprocess.run(command).returncode:
    raise subprocess.CalledProcessError(returncode=status, cmd=command)
"""


@pytest.mark.parametrize(
    ("number", "outcomes"),
    [(signal.SIGKILL, ["host_oom"] * 2), (signal.SIGSEGV, ["crash"] * 2)],
)
def test_a_launcher_hides_no_signal_that_ended_the_training(run, program, python, tmp_path, number, outcomes):
    (tmp_path / "accelerate").write_text(ACCELERATE)
    (tmp_path / "train.py").write_text(f"import os, torch\nos.kill(os.getpid(), {int(number)})\n")
    search = [program("autotune"), "--knob", "num_workers=0,1,2", "--strategy", "grid", "--max-trials", "2"]
    run([*search, "--", python, "accelerate", "launch", "train.py"], cwd=tmp_path)
    with contextlib.closing(sqlite3.connect(tmp_path / "autotune.study.db")) as study:
        assert [row for (row,) in study.execute("SELECT outcome FROM trials ORDER BY id")] == outcomes


def test_a_hang_ends_at_the_timeout(run, sweep, tmp_path, no_process_left):
    for attempt in range(20):
        study = ["--study", tmp_path / f"{attempt}.study.db"]
        done = run(sweep(*study, "--trial-timeout", "4s", "--max-trials", "1", faults="hangs,none"), cwd=tmp_path)
        assert done.returncode == 1
        assert done.stderr.startswith("autotune: no trial succeeded; the first ended with: no result within 4.0 s")
        if (tmp_path / "pids").exists():  # on a busy machine, the time may be over before the job has begun
            break
    assert living(tmp_path / "pids") == []


def test_a_full_disk_ends_the_study_with_a_word(run, succeed, sweep, program, tmp_path, no_process_left):
    """Trial 2 fills a file system of 256 KiB with garbage. Trial 1 stays in the study, and autotune says what is
    wrong."""
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        pytest.skip("unshare -m: mounting is not permitted here")
    small = tmp_path / "small"
    small.mkdir()
    command = sweep("--study", small / "a.study.db", faults="none,prints_garbage,is_called_wrong")
    mount = 'mount -t tmpfs -o size=256k none "$0" && "$@"; status=$?; cp "$0"/a.study.db* "$0"/..; exit $status'
    done = run(["unshare", "-m", "sh", "-c", mount, small, *command], cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == f"autotune: {small}/a.study.db: database or disk is full\n"
    shown = succeed([program("autotune"), "show", tmp_path / "a.study.db"])
    assert "BEST  1.00 by --metric" in shown.stdout, shown.stderr


def test_a_torn_study_is_refused_with_a_word(run, succeed, sweep, tmp_path):
    words = sweep("--max-trials", "2", faults="none,is_called_wrong")
    succeed(words, cwd=tmp_path)
    whole = tmp_path / "autotune.study.db"
    pids = (tmp_path / "pids").read_text()
    for share in (0.7, 0.5, 0.1):
        torn = tmp_path / f"torn{share}.db"
        shutil.copy(whole, torn)
        os.truncate(torn, int(share * whole.stat().st_size))
        done = run([words[0], "--resume", "--study", torn, *words[1:]], cwd=tmp_path)
        assert done.returncode == 1, done.stdout
        assert done.stderr.startswith(f"autotune: {torn}") and done.stderr.count("\n") == 1
    assert (tmp_path / "pids").read_text() == pids, "no trial ran"


def test_killed_searches_and_trials_lose_and_repeat_nothing(succeed, program, python, repo_root, no_process_left):
    script = repo_root / "tests" / "fault" / "kill_autotune.py"
    done = succeed([python, script, program("autotune"), "--kills", "3", "--seed", "3"])
    assert json.loads(done.stdout)["kills"] == 3

"""Kills searches and their trials at random moments: kill_autotune.py AUTOTUNE [--kills N].

Each search goes on with --resume until it ends. No finished trial may be lost, changed or run again, no trial may
be without an end, and nothing may outlive a killed autotune for long.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

JOB = """
import random, sys, time
time.sleep(random.random() / 5)
print("rate:", 100 + int(sys.argv[1]))
"""
VALUES = 8
CONFIRMING = 4  # so many of the last trials run the finalists again
MARK = "REDLINE_KILL_MARK"
PATIENCE = 120  # seconds until everything that a killed autotune left must be gone, on a busy machine


def marked_processes(mark):
    """{pid: environment} of every process that descends from this search."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and mark in (variables := (entry / "environ").read_bytes().split(b"\0")):
                found[int(entry.name)] = variables
    return found


def wait_until_gone(mark):
    deadline = time.monotonic() + PATIENCE
    while left := marked_processes(mark):
        assert time.monotonic() < deadline, f"processes left behind: {list(left)}"
        time.sleep(0.01)


def rows_of(path):
    """The trials of a study: {id: (state, config, why, outcome, rate)}."""
    if not path.exists():
        return {}
    with contextlib.closing(sqlite3.connect(path)) as study:
        with contextlib.suppress(sqlite3.OperationalError):  # it was killed before it made its tables
            rows = study.execute("SELECT id, state, config, why, outcome, samples_per_s FROM trials").fetchall()
            return {row[0]: row[1:] for row in rows}
    return {}


def kill_something(search, mark, generator):
    """Kills autotune or one of its trials by SIGKILL. Returns which it was; None if the search had ended."""
    if generator.random() < 0.5:
        trials = [pid for pid, variables in marked_processes(mark).items() if is_trial(pid, variables)]
        if trials:
            with contextlib.suppress(ProcessLookupError):
                os.kill(generator.choice(trials), signal.SIGKILL)
                return "trial"
    if search.poll() is not None:
        return None
    search.kill()
    return "autotune"


def is_trial(pid, variables):
    return any(variable.startswith(b"REDLINE_TRIAL_ID=") for variable in variables)


def check(before, after, over):
    for number, row in before.items():
        assert row[0] != "finished" or after.get(number) == row, f"trial {number}: {row} became {after.get(number)}"
    explored = [
        config
        for state, config, why, *_ in after.values()
        if state == "finished" and why not in ("confirm", "once more after a crash")
    ]
    again = {config for config in explored if explored.count(config) > 1}
    assert not again, f"run again: {again}"
    if over:
        assert all(state in ("finished", "interrupted") for state, *_ in after.values()), after
        assert len(explored) == VALUES, f"lost: {VALUES - len(explored)} of {VALUES}"


def kill_until_it_ends(autotune, generator, left):
    """Runs one search to its end and returns {what was killed: how often}."""
    killed = {"autotune": 0, "trial": 0}
    mark = f"{MARK}={os.getpid()}.{generator.random()}".encode()
    environment = {**os.environ, MARK: mark.decode().partition("=")[2]}
    with tempfile.TemporaryDirectory() as folder:
        study = pathlib.Path(folder) / "autotune.study.db"
        values = ",".join(map(str, range(VALUES)))
        words = [autotune, "--resume", "--strategy", "grid", "--knob", f"n={values}", "--metric", "rate: ([0-9]+)"]
        words += ["--max-trials", str(VALUES + CONFIRMING), "--", sys.executable, "-S", "-c", JOB, "{n}"]
        over = False
        while not over:
            before = rows_of(study)
            with open(os.path.join(folder, "stderr"), "w+") as stderr, subprocess.Popen(
                words, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=stderr
            ) as search:
                if sum(killed.values()) < left:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        search.wait(generator.random() * generator.choice((0.05, 0.5, 1.0)))
                    what = kill_something(search, mark, generator)
                    if what:
                        killed[what] += 1
                search.wait()
                stderr.seek(0)
                over = search.returncode != -signal.SIGKILL
                assert not over or search.returncode == 0, stderr.read()
            wait_until_gone(mark)
            check(before, rows_of(study), over)
    return killed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("autotune")
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    generator = random.Random(arguments.seed)
    autotune = os.path.abspath(arguments.autotune)
    killed, searches = {"autotune": 0, "trial": 0}, 0
    while (done := sum(killed.values())) < arguments.kills:
        of_one = kill_until_it_ends(autotune, generator, arguments.kills - done)
        killed = {what: killed[what] + of_one[what] for what in killed}
        searches += 1
    print(json.dumps({"kills": sum(killed.values()), **killed, "searches": searches, "lost": 0, "repeated": 0}))


if __name__ == "__main__":
    main()

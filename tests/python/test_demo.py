"""./scripts/demo in its short form ends with what it promises. If Ctrl-C stops it, what was recorded is readable, its
study can go on, and no process is left."""

import gzip
import json
import os
import re
import signal
import sqlite3

import pytest

from conftest import ROOT


@pytest.fixture
def demo(start, python, program, tmp_path):
    program("autotune"), program("redline-viewer")
    output = tmp_path / "demo"

    def interrupted_at(line_start):
        """Runs the demo until it prints a line that begins with `line_start`, then presses Ctrl-C."""
        with start([ROOT / "scripts/demo", "--short", "--output", output]) as process:
            for line in process.stdout:
                if line.startswith(line_start):
                    os.killpg(process.pid, signal.SIGINT)
                    break
            rest, errors = process.communicate(timeout=60)
            return process.returncode, rest, errors

    interrupted_at.output = output
    return interrupted_at


def test_it_ends_with_traces_a_configuration_and_a_picture(run, program, no_process_left):
    program("autotune"), program("redline-viewer")
    output = ROOT / "build" / "demo"
    done = run([ROOT / "scripts/demo", "--short", "--output", output], timeout=1500)
    print(done.stdout)
    assert done.returncode == 0, done.stderr
    for folder in ("before", "after"):
        ranks = set()
        for path in (output / folder).glob("*.pt.trace.json.gz"):
            ranks.add(json.load(gzip.open(path))["distributedInfo"]["rank"])
        assert ranks == {0, 1}
    assert "WHAT HOLDS IT BACK" in done.stdout and "  3  " in done.stdout, "three findings"
    best = json.loads((output / "best.json").read_text())
    assert best["schema"] == "redline.config/1"
    how_sure = "too few runs to be certain|with 95 % certainty"  # even two pairs are enough if they hardly differ
    assert re.search(rf" 2 runs · .* change [^\n]*({how_sure})", done.stdout, re.DOTALL), "whole runs are compared"
    # All trials may stay below the limit, so the study's own outcomes decide.
    with sqlite3.connect(output / "study.db") as study:
        outcomes = [outcome for (outcome,) in study.execute("SELECT outcome FROM trials")]
    assert best["trials"] == len(outcomes) == 4 and outcomes.count("ok") >= 2, outcomes
    assert best["oom_trials"] == outcomes.count("host_oom")
    assert 0 < best["peak_memory_bytes"] <= 1200 << 20
    interval = best["throughput"]
    assert interval["low"] <= interval["samples_per_s"] <= interval["high"]
    assert (output / "timeline.png").read_bytes().startswith(b"\x89PNG")


def test_while_it_records(demo, no_process_left):
    status, _, errors = demo("$ redline record")
    assert status == 130
    assert "demo: stopped" in errors
    for path in (demo.output / "before").glob("*.gz"):
        assert json.load(gzip.open(path))["traceEvents"]


@pytest.mark.long
def test_while_it_tunes(demo, no_process_left):
    status, _, errors = demo(" 1 ")
    assert status == 130
    assert "demo: stopped" in errors
    assert len(list((demo.output / "before").glob("*.pt.trace.json.gz"))) == 2
    with sqlite3.connect(demo.output / "study.db") as study:
        outcomes = [outcome for (outcome,) in study.execute("SELECT outcome FROM trials ORDER BY id")]
    assert outcomes[0] == "ok"

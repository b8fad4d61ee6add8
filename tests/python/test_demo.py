"""Ctrl-C in ./scripts/demo: what was recorded stays readable, the study goes on, nothing keeps running."""

import gzip
import json
import os
import signal
import sqlite3

import pytest

from conftest import ROOT


@pytest.fixture
def demo(start, python, program, tmp_path):
    program("autotune"), program("redline-viewer")
    output = tmp_path / "demo"

    def interrupted_at(line_start):
        """Runs the demo until it prints a line that starts so, then presses Ctrl-C."""
        with start([ROOT / "scripts/demo", "--short", "--output", output]) as process:
            for line in process.stdout:
                if line.startswith(line_start):
                    os.killpg(process.pid, signal.SIGINT)
                    break
            rest, errors = process.communicate(timeout=60)
            return process.returncode, rest, errors

    interrupted_at.output = output
    return interrupted_at


def test_while_it_records(demo, no_process_left):
    status, _, errors = demo("$ redline record")
    assert status == 130
    assert "demo: stopped" in errors
    for path in (demo.output / "before").glob("*.gz"):
        assert json.load(gzip.open(path))["traceEvents"]


def test_while_it_tunes(demo, no_process_left):
    status, _, errors = demo(" 1 ")
    assert status == 130
    assert "demo: stopped" in errors
    assert len(list((demo.output / "before").glob("*.pt.trace.json.gz"))) == 2
    with sqlite3.connect(demo.output / "study.db") as study:
        outcomes = [outcome for (outcome,) in study.execute("SELECT outcome FROM trials ORDER BY id")]
    assert outcomes[0] == "ok"

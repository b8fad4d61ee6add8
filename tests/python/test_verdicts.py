"""Whole runs with a planted fault, and a healthy one: the verdict names the fault, and no other. scripts/verdicts has
all 40."""

import pytest

import verdict_runs

FAST = ("slow_loader", "loader_stalls", "oom", "exception", "mlp, short")


@pytest.mark.parametrize("name", FAST)
def test_the_verdict_names_what_was_planted(name, run, python, program, tmp_path, monkeypatch):
    program("redline")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    wanted = (verdict_runs.PLANTED | verdict_runs.HEALTHY)[name]
    report, others, _ = verdict_runs.make_run(name, wanted, run, python, tmp_path)
    wrong = verdict_runs.complaints(wanted, report, others)
    assert not wrong, (others, report["findings"])

"""Whole runs with a planted fault: the verdict names it.

Other tests run beside these and slow them down, so the verdict may name more. scripts/verdicts, for a quiet machine,
has all 40 runs, also healthy ones, and allows nothing else.
"""

import pytest

import verdict_runs

FAST = ("slow_loader", "oom", "exception")


@pytest.mark.parametrize("name", FAST)
def test_the_verdict_names_what_was_planted(name, run, python, program, tmp_path, monkeypatch):
    program("redline")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    wanted = verdict_runs.PLANTED[name]
    report, _, _ = verdict_runs.make_run(name, wanted, run, python, tmp_path)
    findings = report["findings"]
    assert any(not verdict_runs.mistakes(wanted, report, finding) for finding in findings), findings

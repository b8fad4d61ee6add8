"""`redline run --log DIR --every TIME`: windows with operators, and their marks in the step log."""

import json
import pathlib
import re
import signal
import time

import pytest
import step_logs
from recording import load, stubbed_environment

JOB = pathlib.Path(__file__).with_name("scripts") / "logged_job.py"


def test_traces_of_the_flight_recorder_are_marked_too(start, succeed, program, python, tmp_path):
    job = [python, JOB, "--epochs", "100000", "--delay", "0.001"]
    with start([program("redline"), "record", "--ring", "30s", "-o", tmp_path, "--", *job]) as process:
        log = tmp_path / "rank0.steps.redline"
        step_logs.wait_for_steps(process, log, lambda steps: steps)
        done = succeed([program("redline"), "trigger", str(process.pid)])
        written_us = time.time_ns() // 1000
        # What a block holds came before the steps of the next one.
        step_logs.wait_for_steps(process, log, lambda steps: steps[-1]["begin"] > written_us)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM
    marks = [text for kind, text in step_logs.read(log).marks if kind == "window"]
    assert done.stdout.strip() in marks


@pytest.mark.parametrize("language", ["python", "c++"])
def test_windows_with_operators_are_recorded_now_and_then(start, run, program, python, tmp_path, language):
    job = [program("mnist")] if language == "c++" else [python, JOB, "--delay", "0.001"]
    command = [program("redline"), "run", "--log", tmp_path, "--every", "1s", "--", *job, "--epochs", "100000"]
    with start(command) as process:
        log = tmp_path / "rank0.steps.redline"
        while not log.exists() or not (marks := [text for kind, text in step_logs.read(log).marks if kind == "window"]):
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM
        said = process.stderr.read()
    assert not list((tmp_path / "windows").glob("*.trace.json*")), "the whole run"
    assert "nothing was recorded" not in said
    assert re.search(rf"redline: \d+ windows? with operators in {tmp_path}/windows\n", said)
    # The end may have cut a later one.
    report = json.loads(run([program("redline"), "report", marks[0], "--format", "json"]).stdout)
    (trace,) = report["traces"]
    assert len(trace["steps"]["durations_ns"]) == 2
    assert not list(tmp_path.glob("**/.redline*"))
    assert marks[0].startswith(f"{tmp_path}/windows/")


@pytest.mark.parametrize("teardown", ["off", "on"])
def test_windows_that_come_by_themselves_leave_no_gpu_slower(start, program, python, tmp_path, teardown):
    job = [python, JOB, "--epochs", "100000", "--delay", "0.001"]
    command = [program("redline"), "run", "--log", tmp_path, "--every", "1s", "--", *job]
    with start(command, {**stubbed_environment(), "REDLINE_GPU_TEARDOWN": teardown}) as process:
        while not (written := list(tmp_path.glob("windows/*Z/*.pt.trace.json.gz"))):
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    why = load(written[0])["redline"]["gpu"].get("off")
    assert why == {"on": None, "off": "GPUs were left out of the recording"}[teardown]


def test_what_trains_nothing_is_not_recorded_though_windows_are_asked_for(succeed, program, python, tmp_path):
    code = "import torch\nfor _ in range(100): torch.ones(3).sum()"
    done = succeed([program("redline"), "run", "--log", tmp_path, "--every", "1h", "--", python, "-c", code])
    assert done.stderr.startswith("redline: no step log: no process of the command made a training step")
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.glob("windows/*"))


def test_windows_need_a_log_to_stand_beside(run, program):
    needs_log, too_short = ("--every", "10m"), ("--log", "x", "--every", "0.1s")
    for words, why in [(needs_log, "--every needs --log DIR"), (too_short, "at least 1s")]:
        done = run([program("redline"), "run", *words, "--", "true"])
        assert done.returncode == 2 and why in done.stderr

"""Runs `redline monitor` as users do, without a GPU and, with stubs of the driver's libraries, with two."""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import termios
import time

import pytest
import step_logs
from conftest import need_programs, stub


@pytest.fixture
def stubs():
    """The environment in which the stubs show a machine with two GPUs."""
    return {"LD_LIBRARY_PATH": str(stub("libnvidia-ml.so.1").parent), "REDLINE_STUB_GPUS": "2", "LC_ALL": "C.UTF-8"}


@pytest.fixture
def once(run, program):
    def look(*flags, check=True, **environment):
        return run([program("redline"), "monitor", "--once", *flags], environment=environment, check=check)

    return look


def test_this_machine_in_json(once):
    done = once("--format", "json")
    (line,) = done.stdout.splitlines()
    look = json.loads(line)
    assert next(iter(look)) == "schema" and look["schema"] == "redline.monitor/1"
    host = look["host"]
    assert 0 <= host["busy"] <= 1
    assert {core["core"] for core in host["cores"]} <= os.sched_getaffinity(0)
    assert 0 < host["memory_used_bytes"] < host["memory_bytes"]
    assert 0 <= host["shm_used_bytes"] <= host["shm_bytes"]
    if look["driver"] is None and look["driver_error"] is None:
        assert look["gpus"] == []


@pytest.fixture
def logged_job(start, program, python, tmp_path):
    """The folder of the step log of a job that trains as long as the test takes."""
    job = pathlib.Path(__file__).with_name("scripts") / "logged_job.py"
    folder = tmp_path / "logs of one\"job"
    command = [program("redline"), "run", "--log", folder, "--", python, job, "--epochs", "100000", "--delay", "0.001"]
    with start(command) as process:
        log = folder / "rank0.steps.redline"
        while not log.exists() or len(step_logs.read(log).steps) < 20:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.05)
        yield folder


def test_a_job_that_logs_its_steps_is_shown_while_it_runs(once, logged_job):
    jobs = json.loads(once("--format", "json").stdout)["jobs"]
    (job,) = [job for job in jobs if job["folder"] == str(logged_job)]
    assert job["world_size"] == 1 and job["steps"] >= 20
    assert job["samples_per_s"] == pytest.approx(8 * job["steps_per_s"], rel=0.01)
    assert 0 < job["data_wait_share"] < 1
    assert job["ranks"][0]["last_step_ns"] <= time.time_ns() and not job["ranks"][0]["ended"]
    text = once(LC_ALL="C.UTF-8").stdout
    assert "\nJOB " in text and "  1 rank\n" in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_job_in_a_container_has_its_logs_at_a_path_of_its_own(start, once, logged_job, tmp_path):
    inside = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*inside, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("this user may not have mounts of its own")
    place = tmp_path / "place"
    place.mkdir()
    environment = {"REDLINE_LOG": str(place),
                   "REDLINE_LOG_RUN": step_logs.read(logged_job / "rank0.steps.redline").run}
    script = 'mount --bind "$0" "$1" && echo mounted && exec sleep 1000'
    with start([*inside, "sh", "-c", script, logged_job, place], environment) as container:
        assert container.stdout.readline() == "mounted\n"
        jobs = json.loads(once("--format", "json").stdout)["jobs"]
    (job,) = [job for job in jobs if job["folder"] == str(place)]
    assert job["steps"] >= 20


def test_figures_of_jobs_for_prometheus(once, logged_job, tmp_path):
    need_programs("promtool")
    file = tmp_path / "redline.prom"
    done = once("--prom", file)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    text = file.read_text()
    assert 'log="' + str(logged_job).replace('"', '\\"') + '"} ' in text
    check = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    assert (check.returncode, check.stdout, check.stderr) == (0, "", "")


def test_a_file_for_prometheus_that_cannot_be_written_is_an_error(once, tmp_path):
    done = once("--prom", tmp_path / "no" / "folder.prom", check=False)
    assert done.returncode == 1
    assert done.stderr.endswith(": No such file or directory. Choose another file with --prom FILE\n")


def test_a_file_for_prometheus_that_cannot_be_written_for_a_while_comes_back(start, program, tmp_path):
    file = tmp_path / "metrics" / "redline.prom"
    file.parent.mkdir()
    with start([program("redline"), "monitor", "--interval", "0.1", "--prom", file]) as monitor:
        while not file.exists():
            assert monitor.poll() is None, monitor.stderr.read()
            time.sleep(0.01)
        file.parent.rename(tmp_path / "away")
        assert monitor.stderr.readline() == f"redline: {file}: No such file or directory. It is tried again at each look\n"
        file.parent.mkdir()
        while not file.exists():
            assert monitor.poll() is None, monitor.stderr.read()
            time.sleep(0.01)
        monitor.send_signal(signal.SIGTERM)
        assert (monitor.wait(60), monitor.stderr.read()) == (0, "")
    assert not file.exists()


def test_gpus_in_json(once, stubs):
    look = json.loads(once("--format", "json", **stubs).stdout)
    assert look["driver"] == "580.65.06"
    first, second = look["gpus"]
    assert first["name"] == "NVIDIA H200" and first["uuid"] == "GPU-1"
    assert (first["busy"], second["busy"]) == (0.97, 0.87)
    assert first["memory_used_bytes"] == 703 << 20
    assert first["power_w"] == 512.3 and first["temperature_c"] == 64
    assert first["throttled"] == ["power cap", "heat"]
    assert first["pcie_received_bytes_per_s"] == pytest.approx(12e9, rel=0.5)
    assert first["ecc_corrected"] == 3 and first["xids"] == []


def test_what_a_gpu_does_not_tell_is_said_so(once, stubs):
    denied = once(**stubs, REDLINE_STUB_DENIED="1")
    assert "n/a · memory bus n/a · GB/s in/out: PCIe n/a, NVLink n/a" in denied.stdout
    lost = once(**stubs, REDLINE_STUB_LOST_AFTER="1", REDLINE_STUB_XID="79")
    assert "  1 NVIDIA H200            lost: it fell off the bus" in lost.stdout
    assert "corrected ECC errors · Xid 79" in lost.stdout
    refused = once(**stubs, REDLINE_STUB_NVML_STATUS="18")
    assert "GPUs              Driver/library version mismatch" in refused.stdout


def test_the_table_is_plain_in_a_pipe_and_80_columns_wide(once, stubs):
    done = once(**stubs)
    assert "\033" not in done.stdout
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert any("512 of 700 W" in line for line in lines)
    assert once(**{**stubs, "LC_ALL": "C"}).stdout.isascii()


@pytest.mark.parametrize("flags", [("--format", "yaml"), ("--interval", "0"), ("--interval", "2h"), ("--twice",), ("now",), ("--prom", "/dev/stdout", "--format", "json")])
def test_wrong_options_are_usage(once, flags):
    assert once(*flags, check=False).returncode == 2


def test_a_line_of_json_an_interval_until_interrupted(start, program):
    command = [program("redline"), "monitor", "--format", "json", "--interval", "0.1"]
    with start(command) as monitor:
        looks = [json.loads(monitor.stdout.readline()) for _ in range(3)]
        monitor.send_signal(signal.SIGINT)
        assert monitor.wait(60) == 0
        assert monitor.stderr.read() == ""
    assert looks[0]["time_ns"] < looks[1]["time_ns"] < looks[2]["time_ns"]


def test_tables_in_a_pipe_are_apart(start, program):
    with start([program("redline"), "monitor", "--interval", "0.1"]) as monitor:
        first = [monitor.stdout.readline(), monitor.stdout.readline()]
        assert first[1].startswith("CPU ")
        while (line := monitor.stdout.readline()) != first[0]:
            first.append(line)
        assert first[-1] == "\n"
        monitor.send_signal(signal.SIGTERM)
        assert monitor.wait(60) == 0


@pytest.mark.parametrize("columns", [80, 40])
def test_a_terminal_is_drawn_again_in_place(program, stubs, columns):
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
        os.environ.update(stubs)
        os.environ.pop("NO_COLOR", None)
        os.execv(program("redline"), ["redline", "monitor", "--interval", "100ms"])
    shown = b""
    while shown.count(b"\033[J") < 3:
        shown += os.read(terminal, 4096)
    os.write(terminal, b"\x03")
    # The terminal is gone once the program has ended.
    with contextlib.suppress(OSError):
        while more := os.read(terminal, 4096):
            shown += more
    assert os.waitpid(pid, 0)[1] == 0
    os.close(terminal)
    text = shown.decode()
    table = text[:text.index("\033[J")]
    lines = table.count("\n")
    assert f"\033[{lines}A" in text
    widths = [len(re.sub(r"\033\[[0-9;]*[mK]", "", line)) for line in table.splitlines()]
    assert 40 <= max(widths) <= columns
    assert re.search(r"\033\[[0-9;]*m", table), "no colours"

"""`redline run --log DIR -- CMD`: every step of the whole job, whatever becomes of it."""

import functools
import json
import pathlib
import re
import resource
import signal
import subprocess
import time

import pytest
import step_logs
from conftest import wait_until

SCRIPTS = pathlib.Path(__file__).with_name("scripts")
JOB = SCRIPTS / "logged_job.py"


@pytest.fixture
def logged(log_of):
    """logged(*arguments): log_of() that job."""
    return functools.partial(log_of, JOB)


def test_a_plain_training_is_logged_step_by_step(logged, run, python, tmp_path):
    done, log = logged("workers")
    alone = run([python, JOB, "workers"])
    assert done.stdout == alone.stdout  # with the bits of the loss
    assert done.stderr.endswith(f"\nredline: 1 step log: redline report {tmp_path}/logs says more\n")
    assert (log.rank, log.world_size, log.damaged, log.lost_steps) == (0, 1, 0, 0)
    assert log.ended and log.status == 0
    assert str(JOB) in log.command
    assert [step["step"] for step in log.steps] == list(range(12))
    assert [step["samples"] for step in log.steps] == [8] * 12
    assert all(step["tokens"] is None for step in log.steps)
    for before, step in zip(log.steps, log.steps[1:]):
        assert step["begin"] == before["begin"] + before["length"]
    for step in log.steps:
        parts = [step[part] for part in step_logs.PARTS if step[part] is not None]
        assert sum(parts) <= step["length"] + len(parts)
        assert min(step["forward"], step["backward"], step["optimizer"]) > 0
        assert (step["data_wait"] > 0) != (step["batch_hand_over"] > 0)
        assert step["communication_wait"] is None  # nobody waited for any
        assert step["checkpoint"] == step["compile"] == 0
    assert [mark for mark in log.marks if mark[0] == "epoch"] == [("epoch", "1"), ("epoch", "2"), ("epoch", "3")]
    assert log.memory[0][0] > 1 << 20


def test_a_rank_that_cannot_be_is_none(logged):
    _, log = logged(environment={"RANK": "-1", "WORLD_SIZE": "-1"})
    assert (log.rank, log.world_size, len(log.steps)) == (0, 1, 12)


def test_a_slow_loader_shows_in_the_wait(logged):
    _, log = logged("--delay", "0.01")
    for step in log.steps:
        assert 80_000 <= step["data_wait"] <= step["length"]


@pytest.mark.parametrize("queue", ["of workers", "pinned"])
def test_a_batch_that_lay_ready_was_not_waited_for(log_of, queue):
    _, log = log_of(SCRIPTS / "takes_ready_batches.py", queue)
    assert len(log.steps) == 8
    for number, step in enumerate(log.steps):
        taken, waited = step["batch_hand_over"], step["data_wait"]
        if number == 4:  # the batch after it lay ready
            assert (taken, waited > 100_000) == (0, True)
        else:
            assert (taken > 0, waited) == (True, 0)


def test_evaluation_and_checkpoints_stand_in_the_step_that_follows(logged):
    _, log = logged("evaluate", "save")
    assert len(log.steps) == 12
    for step in log.steps:
        follows = step["step"] in (4, 8)
        assert bool(step["evaluation"]) == follows
        assert bool(step["checkpoint"]) == follows
    files = [pathlib.Path(text).name for kind, text in log.marks if kind == "checkpoint"]
    assert files == [f"epoch{n}.pt" for n in range(3)]


def test_a_closure_of_the_optimizer_has_its_own_parts(logged):
    _, log = logged("closure")
    assert len(log.steps) == 12
    for step in log.steps:
        assert min(step["forward"], step["backward"], step["optimizer"]) > 0


def test_garbage_collection_and_caught_out_of_memory_are_told(logged):
    _, log = logged("collect", "oom")
    assert all(step["garbage_collection"] > 0 for step in log.steps[1:])
    [text] = [text for kind, text in log.marks if kind == "out_of_memory"]
    assert "memory" in text


@pytest.mark.parametrize(("how", "status"), [("raise", 1), ("exit", 7), ("hard", 5), ("terminate", 143)])
def test_the_log_has_the_exit_status(logged, how, status):
    done, log = logged(how, check=False)
    assert done.returncode == status
    assert log.ended and log.status == status
    assert len(log.steps) == 12
    assert (("exception", "KeyError: 'three'") in log.marks) == (how == "raise")


@pytest.mark.parametrize("how", ["no_grad", "eval"])
def test_inference_counts_batches(run, program, python, tmp_path, how):
    run([program("redline"), "run", "--log", tmp_path, "--", python, SCRIPTS / "infers.py", how])
    log = step_logs.read(tmp_path / "rank0.steps.redline")
    assert [step["samples"] for step in log.steps] == [10] * 10
    assert all(step["forward"] > 0 and step["backward"] is None for step in log.steps)


def test_what_trains_nothing_has_no_log(succeed, program, tmp_path):
    done = succeed([program("redline"), "run", "--log", tmp_path / "logs", "--", "true"])
    assert done.stderr.startswith("redline: no step log: no process of the command made a training step")
    assert done.stderr.count("\n") == 1
    assert list((tmp_path / "logs").iterdir()) == []


def test_at_its_end_a_command_is_told_of_its_own_job(run, program, python, tmp_path):
    """Another one logs into the same folder meanwhile."""
    folder = tmp_path / "logs"
    log = [program("redline"), "run", "--log", folder, "--"]
    other = " ".join(map(str, [*log, python, JOB]))
    own = f"{python} {JOB} exit"
    done = run([*log, "sh", "-c", f"{own}; status=$?; {other}; exit $status"])
    assert done.returncode == 7
    said = done.stderr.splitlines()
    assert f"redline: 1 step log: redline report {folder} says more" in said  # the other one
    assert said[-1] == (f"redline: a later run has its logs in {folder}, too, and redline report {folder} tells of it. "
                        "Give each run a folder of its own with --log DIR")
    assert "status 7" in done.stderr
    without = run([*log, "sh", "-c", f"{other}; exit 3"])
    assert without.stderr.splitlines()[-1] == (
        "redline: no step log: the command ended with status 3 before a training step that Redline could see")


def test_a_command_that_sets_pythonpath_anew_learns_why_it_has_no_log(run, succeed, program, python, tmp_path):
    job = f"PYTHONPATH=. {python} {JOB}"
    done = succeed([program("redline"), "run", "--log", tmp_path, "--", "bash", "-c", job])
    assert "made a training step where Redline could see it (a step has backward()" in done.stderr
    assert "PYTHONPATH=src without :$PYTHONPATH" in done.stderr
    assert "PYTHONPATH=src without :$PYTHONPATH" in done.stderr
    kept = job.replace("PYTHONPATH=.", "PYTHONPATH=.:$PYTHONPATH")
    done = run([program("redline"), "run", "--log", tmp_path, "--", "bash", "-c", kept])
    assert "1 step log" in done.stderr


def test_two_ranks_have_a_log_each(succeed, program, torchrun, tmp_path):
    command = [*torchrun, "--nproc_per_node", "2", SCRIPTS / "two_ranks.py", "6", "8"]
    succeed([program("redline"), "run", "--log", tmp_path, "--", *command])
    logs = [step_logs.read(tmp_path / f"rank{rank}.steps.redline") for rank in range(2)]
    assert [(log.rank, log.world_size, log.ended) for log in logs] == [(0, 2, True), (1, 2, True)]
    assert logs[0].run == logs[1].run != ""
    for log in logs:
        assert [step["samples"] for step in log.steps] == [8] * 6
        assert all(step["communication_wait"] > 0 for step in log.steps[1:])


DYING_RANK = """
import os, signal, sys, torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
step = 0
while True:
    model(torch.ones(8, 4)).sum().backward()
    optimizer.step()
    step += 1
    if os.environ["RANK"] == "1" and step % 300 == 0 and os.path.getsize(sys.argv[1]) > 0:  # its log has steps
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_of_ranks_that_a_launcher_ends_only_the_one_that_died_is_named(run, program, torchrun, script, tmp_path):
    job = [*torchrun, "--nproc_per_node", "2", script(DYING_RANK), tmp_path / "logs" / "rank1.steps.redline"]
    done = run([program("redline"), "run", "--log", tmp_path / "logs", "--", *job])
    logs = [step_logs.read(tmp_path / "logs" / f"rank{rank}.steps.redline") for rank in range(2)]
    assert [(log.ended, log.status) for log in logs] == [(True, 128 + signal.SIGTERM), (False, None)]
    assert "Rank 1 died after" in done.stderr


def test_a_job_that_handles_its_termination_does_so(log_of, script):
    job = script("""
import os, signal, sys, torch
signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(3):
    model(torch.ones(8, 4)).sum().backward()
    optimizer.step()
os.kill(os.getpid(), signal.SIGTERM)
""")
    done, log = log_of(job, check=False)
    assert (done.returncode, log.ended, log.status, len(log.steps)) == (9, True, 9, 3)


def test_killed_the_log_is_there_to_the_last_second(start, program, python, tmp_path):
    job = [python, JOB, "--epochs", "100000", "--delay", "0.001"]
    command = [program("redline"), "run", "--log", tmp_path, "--", *job]
    path = tmp_path / "rank0.steps.redline"
    with start(command) as process:
        while not path.exists() or len(step_logs.read(path).steps) < 50:
            assert process.poll() is None
            time.sleep(0.05)
        signs = set()

        def is_there_to_the_last_second():
            now = time.time()
            log = step_logs.read(path)  # while it is written
            assert not log.ended
            signs.add(log.last_sign / 1e6)
            return sum(now - sign < 3 for sign in signs) > 1  # a second, then another one

        wait_until(is_there_to_the_last_second, "the log lags behind the job")
        process.send_signal(signal.SIGSTOP)
    log = step_logs.read(path)
    assert not log.ended and log.status is None and log.damaged == 0
    assert [step["step"] for step in log.steps] == list(range(len(log.steps)))


def test_a_rank_that_kills_itself_leaves_a_log_without_an_end(logged):
    done, log = logged("--epochs", "40", "--delay", "0.002", "kill", check=False)
    assert done.returncode == 128 + signal.SIGKILL
    assert not log.ended
    assert 0 < len(log.steps) <= 160


def test_a_full_disk_stops_the_log_and_not_the_training(run, program, python, tmp_path):
    def limit_file_size():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    command = [program("redline"), "run", "--log", tmp_path, "--", python, JOB]
    done = run(command, preexec_fn=limit_file_size)
    alone = run([python, JOB])
    assert (done.returncode, done.stdout) == (0, alone.stdout)
    assert "redline: the step log cannot be written, training goes on" in done.stderr
    assert "File too large" in done.stderr
    assert "redline: the step log lacks the last 12 steps: " in done.stderr


def test_a_folder_that_cannot_be_made_is_said_before_the_job_starts(run, program, tmp_path):
    (tmp_path / "file").touch()
    done = run([program("redline"), "run", "--log", tmp_path / "file" / "logs", "--", "echo", "started"])
    assert done.returncode == 1
    assert done.stdout == ""
    assert "Choose another folder with --log DIR" in done.stderr


JUMPING_JOB = """
import pathlib, time, torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
before = time.time()
for step in range(40):
    if step == 20:
        pathlib.Path("{jump}").touch()
        assert time.time() < before - 3000
        print("the clock went back")
    model(torch.ones(8, 4)).sum().backward()
    optimizer.step()
"""


def test_a_clock_that_is_set_back_moves_no_step(start, program, python, tmp_path):
    """The wall clock of the job goes back by an hour as soon as the file `jump` exists."""
    source, library, jump = tmp_path / "clock.c", tmp_path / "clock.so", tmp_path / "jump"
    source.write_text(
        """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <time.h>
        #include <unistd.h>
        int clock_gettime(clockid_t clock, struct timespec* time) {
          static int (*real)(clockid_t, struct timespec*);
          if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
          int status = real(clock, time);
          if (clock == CLOCK_REALTIME && access(JUMP, F_OK) == 0) time->tv_sec -= 3600;
          return status;
        }
        """
    )
    subprocess.run(["gcc", "-shared", "-fPIC", f'-DJUMP="{jump}"', source, "-o", library, "-ldl"], check=True)
    job = ["env", f"LD_PRELOAD={library}", python, "-c", JUMPING_JOB.format(jump=jump)]
    log = tmp_path / "rank0.steps.redline"
    with start([program("redline"), "run", "--log", tmp_path, "--", *job]) as process:
        assert process.wait(120) == 0
        assert process.stdout.read().strip() == "the clock went back"
    steps = step_logs.read(log).steps
    assert len(steps) == 40
    for before, step in zip(steps, steps[1:]):
        assert step["begin"] == before["begin"] + before["length"]
        assert 0 < step["length"] < 600e6


ENDS_AT_ONCE = """
import runpy, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
runpy.run_path(sys.argv[1], run_name="__main__")
"""


@pytest.mark.parametrize("how", [[], ["-c", ENDS_AT_ONCE]], ids=["Python", "what ends as C++ does"])
def test_who_stops_a_job_by_hand_is_not_told_that_it_failed(start, run, program, python, tmp_path, how):
    """Also right after its end, when its last sign of life is young."""
    job = [python, *how, JOB, "--epochs", "100000", "--delay", "0.001"]
    with start([program("redline"), "run", "--log", tmp_path, "--", *job]) as process:
        step_logs.wait_for_steps(process, tmp_path / "rank0.steps.redline", lambda steps: steps)
        process.send_signal(signal.SIGINT)  # which it passes on; the job must not get two
        assert process.wait(60) == 128 + signal.SIGINT
        report = json.loads(run([program("redline"), "report", tmp_path, "--format", "json"]).stdout)
        assert " · interrupted\n" in process.stderr.read()
    assert (report["run"]["running"], report["run"]["interrupted"]) == (False, True)
    assert {finding["cause"] for finding in report["run"]["findings"]}.isdisjoint({"failed", "died"})


def test_run_needs_something_to_do(run, program):
    done = run([program("redline"), "run", "--", "true"])
    assert done.returncode == 2
    assert done.stderr == "redline: run needs --config FILE, --log DIR or both\n"


def test_the_end_says_what_held_the_run_back(logged, tmp_path):
    done, _ = logged("--delay", "0.01")
    head, *lines = done.stderr.splitlines()
    assert head.startswith("RUN  1 rank · 12 steps · ")
    assert any(re.match(r"  \d  Waiting for data takes ", line) for line in lines)
    assert max(map(len, lines)) <= 80 + len(str(tmp_path))
    assert "\x1b" not in done.stderr  # colours are for terminals
    assert done.stdout.startswith("loss bits ")


def test_the_end_names_a_job_that_failed_and_a_rank_that_was_killed(logged):
    raised, _ = logged("raise", check=False)
    assert "Rank 0 ended with status 1" in raised.stderr
    assert "KeyError: 'three'" in raised.stderr
    killed, _ = logged("--epochs", "40", "--delay", "0.002", "kill", check=False)
    assert killed.returncode == 128 + signal.SIGKILL
    logged_steps = re.match(r"RUN  1 rank · (\d+) steps", killed.stderr)[1]  # without those of the last second
    assert re.search(rf"^  1  Rank 0 .*died after {logged_steps} steps\b", killed.stderr, re.MULTILINE)


def test_a_recording_has_a_log_of_the_whole_job_beside_the_traces(run, succeed, program, python, tmp_path):
    succeed([program("redline"), "record", "-o", tmp_path, "--", python, JOB, "--epochs", "10"])
    [trace] = tmp_path.glob("*.pt.trace.json.gz")
    log = step_logs.read(tmp_path / "rank0.steps.redline")
    assert len(log.steps) == 40 and log.ended
    assert ("window", str(trace)) in log.marks
    report = run([program("redline"), "report", tmp_path]).stdout
    assert report.index("WHAT HOLDS IT BACK") < report.index("RUN  1 rank · 40 steps")
    assert "WHERE AN HOUR OF IT GOES" not in report  # the trace says that of the step


def test_ranks_that_are_not_recorded_have_no_log(run, program, torchrun, tmp_path):
    command = [*torchrun, "--nproc_per_node", "2", SCRIPTS / "two_ranks.py", "8", "8"]
    run([program("redline"), "record", "--ranks", "1", "-o", tmp_path, "--", *command])
    assert [path.name for path in tmp_path.glob("*.steps.redline")] == ["rank1.steps.redline"]

"""Who hangs: `redline record --ring` and `redline run --log` say it while the job hangs, `redline report` afterwards.

These are a few of the cases of tests/hang/job.py. `./scripts/hangs` runs all of them, several times.
"""

import json
import os
import pathlib
import pickle
import re
import signal
import socket
import subprocess
import sys
import time

import conftest
import one_node_slurm
import pytest

HANG = pathlib.Path(__file__).parents[1] / "hang"
sys.path.append(str(HANG))
import job as cases  # noqa: E402

HANG_AFTER = "3s"
KINDS = {case.__name__: expected for case, expected in {**cases.HANGS, **cases.FAILURES}.items()}

pytestmark = pytest.mark.usefixtures("no_process_left")


WAYS = {"log": ["run", "--log"], "ring": ["record", "--ring", "30s", "-o"]}


@pytest.fixture
def command(program, python, tmp_path):
    def words(way, case, ranks=3, options=(), step=()):
        return [program("redline"), *WAYS[way], tmp_path / "traces", "--hang-after", HANG_AFTER, *options,
                "--", python, HANG / "job.py", case, ranks, *step]

    return words


def lines_until_verdict(process, words="redline: the job hangs: "):
    """`words`: how the verdict begins. A launcher may say another one before it knows all."""
    lines = []
    for line in process.stderr:
        lines.append(line)
        if line.startswith(words):
            return [line, next(process.stderr), next(process.stderr)]
    raise AssertionError(f"no verdict: {''.join(lines)}")


def assert_tables_have_the_runs_name(folder):
    """Jobs that use one folder do not overwrite each other's tables."""
    names = [path.name for path in folder.glob("*.hang.redline")]
    assert names
    assert all(re.fullmatch(r"rank[0-2]\.\d{19}\.\d+(\.seen)?\.hang\.redline", name) for name in names), names


def assert_report_says(run, program, folder, expected):
    """Waits until the report on a job that hangs gives these figures. Its ranks write their tables and dumps one after
    another, so a report may mix two moments, and on a busy machine these lie far apart."""
    deadline = time.monotonic() + 120
    found = None
    while found != expected and time.monotonic() < deadline:
        hang = json.loads(run([program("redline"), "report", "--format", "json", folder]).stdout or "{}").get("hang")
        found = hang and {key: hang[key] for key in expected}
    assert found == expected
    return hang


@pytest.mark.parametrize(("way", "case"), [
    ("ring", "sleeping_hook"), ("log", "barrier_in_one_branch"), ("log", "stuck_loader"),
    ("log", "interpreter_lock_held"), ("log", "out_of_memory"), ("log", "in_the_first_step"),
])
def test_the_verdict_names_kind_rank_and_line(start, run, command, program, tmp_path, way, case):
    kind, function = KINDS[case]
    with start(command(way, case), cwd=tmp_path) as process:
        said = lines_until_verdict(process)
        # Two all-reduces a step come first.
        step = getattr(getattr(cases, case), "step", 10)
        hang = assert_report_says(run, program, tmp_path / "traces", {
            "kind": kind, "ranks": [1], "waiting_ranks": [0, 2], "group": "0", "step": step, "sequence": 2 * step + 1,
            "operation": "all_reduce"})
        assert_tables_have_the_runs_name(tmp_path / "traces")
    text = run([program("redline"), "report", tmp_path / "traces"])
    assert said[0].startswith("redline: the job hangs: rank 1 "), said
    if function:
        assert hang["stack"][0].endswith(" " + function)
        assert f"at {hang['stack'][0]}" in said[1]
    assert "! hangs    rank 1 " in text.stdout


def test_a_rank_that_died_is_named_where_the_others_wait_in_no_collective(start, command, tmp_path):
    with start(command("log", "killed"), cwd=tmp_path) as process:
        said = lines_until_verdict(process)
    assert said[0].startswith("redline: the job hangs: rank 1 has ended"), said


def test_launchers_on_two_machines_say_the_same(start, command, tmp_path):
    """Only the second one sees that its rank is stopped. A Slurm job may have a step for each machine."""
    if subprocess.run(["unshare", "--uts", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("this user may not give a process another name of the machine")
    common = {"WORLD_SIZE": "3", "MEETING": f"file://{tmp_path}/ranks", "MASTER_ADDR": "node0", "MASTER_PORT": "7",
              "OMP_NUM_THREADS": "1", "SLURM_JOB_ID": "7"}
    words = list(map(str, command("log", "stopped")))
    at = words.index("--") + 1
    two_ranks = [*words[:at], "sh", "-c", 'RANK=0 "$@" & RANK=2 "$@"; wait', "sh", *words[at:]]
    other_machine = ["unshare", "--uts", "sh", "-c", 'hostname node1 && exec "$@"', "sh", *words]
    with start(two_ranks, {**common, "SLURM_STEP_ID": "0"}, cwd=tmp_path) as first, \
            start(other_machine, {**common, "SLURM_STEP_ID": "1", "RANK": "1"}, cwd=tmp_path) as second:
        for process in (first, second):
            lines_until_verdict(
                process, "redline: the job hangs: rank 1 was stopped by a signal or a debugger (node1)\n")


def test_launchers_without_a_shared_folder_meet_by_tcp(run, command, program, tmp_path):
    """On two nodes of Slurm, of which one listens and judges. The other sees that its rank is stopped."""
    one_node_slurm.need()
    words = list(map(str, command("log", "stopped", 2, options=["--on-hang", "abort"])))
    folder = words.index(str(tmp_path / "traces"))
    words[folder] += "$SLURM_PROCID"
    node = f"hostname node$SLURM_PROCID && RANK=$SLURM_PROCID exec {' '.join(words)}"
    common = {"WORLD_SIZE": "2", "MEETING": f"file://{tmp_path}/ranks", "OMP_NUM_THREADS": "1",
              "REDLINE_HANG_MEET": f"127.0.0.1:{one_node_slurm.free_port()}",
              "REDLINE_HANG_TOKEN": "a secret of the job"}
    (tmp_path / "slurm").mkdir()
    with one_node_slurm.running(tmp_path / "slurm", nodes=2) as environment:
        done = run(["srun", "--nodes", 2, "--ntasks", 2, "unshare", "--uts", "sh", "-c", node],
                   environment={**environment, **common}, cwd=tmp_path)
    verdict = "redline: the job hangs: rank 1 was stopped by a signal or a debugger (node1)"
    assert done.stderr.splitlines().count(verdict) == 2, done.stderr
    assert done.stderr.count("redline: the job is ended (--on-hang abort)") == 2
    hangs = [json.loads(run([program("redline"), "report", "--format", "json", path]).stdout)["hang"]
             for path in tmp_path.glob("traces[01]")]
    (known,) = [hang for hang in hangs if hang]  # the other folder has only the tables of its own rank
    assert (known["kind"], known["ranks"], known["waiting_ranks"]) == ("stopped", [1], [0])


def test_launchers_meet_only_with_a_token(run, command, tmp_path):
    refused = run(command("log", "stopped"), environment={"REDLINE_HANG_MEET": "127.0.0.1:1"}, cwd=tmp_path)
    assert refused.returncode == 1
    assert "REDLINE_HANG_TOKEN" in refused.stderr


def test_where_nobody_answers_a_launcher_judges_its_own_ranks(run, command, tmp_path):
    done = run(command("log", "sleeping_hook", 2, options=["--on-hang", "abort"]), cwd=tmp_path, environment={
        "REDLINE_HANG_MEET": "192.0.2.9:29700", "REDLINE_HANG_TOKEN": "a secret of the job"})
    assert done.returncode == 75, done.stderr
    assert "redline: the job hangs: rank 1 sleeps" in done.stderr
    alone = "redline: nobody answers at 192.0.2.9:29700, so only this machine's ranks are looked at"
    assert done.stderr.splitlines().count(alone) == 1, done.stderr


@pytest.fixture
def tables_of_others(program, python, tmp_path):
    script = pathlib.Path(__file__).parent / "scripts" / "hang_tables.py"
    return lambda late_seconds, rank_1: [
        program("redline"), "run", "--log", tmp_path / "logs", "--hang-after", HANG_AFTER, "--on-hang", "abort",
        "--", python, script, late_seconds, json.dumps(rank_1)]


@pytest.mark.parametrize("late_seconds", [0, 36_000])
def test_a_machine_whose_clock_is_late_does_not_hide_a_hang_nor_hasten_it(
        run, tables_of_others, tmp_path, late_seconds):
    done = run(tables_of_others(late_seconds, {}), cwd=tmp_path)
    assert done.stderr.startswith("redline: the job hangs: rank 1 sleeps (node1)\n"), done.stderr
    (waited,) = re.findall(r"rank 0 waits in all_reduce 21 of group 0, step 10, for ([\d.]+) s\n", done.stderr)
    assert 3 <= float(waited) < 36_000


def test_a_rank_whose_process_is_of_another_container_has_not_ended(start, tables_of_others, tmp_path):
    """With the network of the host, a container has its name, too."""
    own = {"host": socket.gethostname(), "process": 2**30, "pid_namespace": 1, "phase": "checkpoint"}
    with start(tables_of_others(0, own), cwd=tmp_path) as process:
        said = lines_until_verdict(process, "redline: the job ")
    assert said[0].startswith("redline: the job is slow: rank 1 saves a checkpoint ("), said


def test_a_rank_of_which_nothing_is_known_does_not_end_the_job(start, tables_of_others, tmp_path):
    """It may live where the launcher does not see its table."""
    with start(tables_of_others(0, None), cwd=tmp_path) as process:
        said = [next(process.stderr) for _ in range(3)]
        assert process.poll() is None
    assert said[0] == "redline: the job hangs: rank 1 did not enter it\n", said
    assert said[2] == "redline: the job is not ended, because nothing is known of what holds it up\n", said


def test_of_a_job_that_failed_the_first_rank_is_named(run, command, program, tmp_path):
    """The connections of the others break once it has ended."""
    done = run(command("log", "exception"), cwd=tmp_path)
    said = done.stderr.splitlines()
    verdict = "rank 1 has ended: ValueError: of this rank alone"  # "hangs" if the others take long to see that
    first = [i for i, line in enumerate(said)
             if line.startswith((f"redline: the job failed: {verdict}", f"redline: the job hangs: {verdict}"))]
    assert first, done.stderr
    assert " exception < " in said[first[0] + 1]
    report = json.loads(run([program("redline"), "report", "--format", "json", tmp_path / "traces"]).stdout)
    assert (report["hang"]["kind"], report["hang"]["ranks"]) == ("died", [1])
    assert report["hang"]["error"] == "ValueError: of this rank alone"


def test_other_sizes_are_named_though_gloo_aborts_a_rank(run, command, program, tmp_path):
    """No rank is overdue then. The one that is aborted says in its last moment what it entered."""
    done = run(command("log", "wrong_size", 2), environment={"FORK": "1"}, cwd=tmp_path)
    assert done.returncode == signal.SIGABRT
    assert "entered different ones: all_reduce [[" in done.stderr
    hang = json.loads(run([program("redline"), "report", "--format", "json", tmp_path / "traces"]).stdout)["hang"]
    assert (hang["kind"], hang["ranks"], hang["sequence"], hang["step"]) == ("mismatch", [0, 1], 21, 10)
    assert hang["stack"][0].endswith(" wrong_size")


def test_each_rank_writes_a_trace_of_the_hang_once(start, command, tmp_path):
    # In its first steps the flight recorder does not know yet how long a step takes.
    with start(command("ring", "sleeping_hook", step=[6]), cwd=tmp_path) as process:
        lines_until_verdict(process)
        written = [next(process.stderr) for _ in range(3)]
    assert all(line.startswith("redline: written while the job hangs: ") for line in written), written
    assert len(list((tmp_path / "traces").glob("*.pt.trace.json.gz"))) == 3


def test_dumps_of_torch_tell_who_holds_the_others_up(start, run, program, python, tmp_path):
    folder = tmp_path / "dumps"
    folder.mkdir()
    with start([python, HANG / "job.py", "barrier_in_one_branch", 3], {"DUMPS": str(folder)}, cwd=tmp_path):
        assert_report_says(run, program, folder, {
            "kind": "mismatch", "ranks": [1], "waiting_ranks": [0, 2], "group": "0", "sequence": 21,
            "operation": "all_reduce"})
    assert "! hangs    rank 1 " in run([program("redline"), "report", folder]).stdout
    # Torch itself writes pickles, and to read one is to run it.
    pickled = tmp_path / "nccl_trace_rank_0"
    pickled.write_bytes(pickle.dumps({"entries": []}))
    refused = run([program("redline"), "report", pickled])
    assert refused.returncode == 1
    assert "a pickle, which could run code" in refused.stderr


@pytest.mark.parametrize("way", WAYS)
def test_a_job_that_hangs_is_ended_if_asked(run, command, tmp_path, way):
    done = run(command(way, "stopped", options=["--on-hang", "abort"]), cwd=tmp_path)
    assert done.returncode == 75, done.stderr
    said = done.stderr.splitlines()
    verdict = next(i for i, line in enumerate(said) if line.startswith("redline: the job hangs: rank 1 was stopped"))
    assert "redline: the job is ended (--on-hang abort)" in said[verdict:]
    mark = f"REDLINE_TEST_MARK={os.environ['REDLINE_TEST_MARK']}".encode()
    conftest.wait_until(lambda: not conftest.marked_processes(mark), "a process of the job is left")


@pytest.mark.parametrize(("way", "case"), [
    ("ring", "uneven_work"), ("log", "stopped_all"), ("log", "compiling"),
    *(pytest.param("log", case, marks=pytest.mark.long)
      for case in ("slow_loader", "paused", "evaluation", "checkpoint", "slow_first_step")),
])
def test_a_slow_job_gets_no_verdict(succeed, command, tmp_path, way, case):
    done = succeed(command(way, case, 2), cwd=tmp_path)
    assert "hangs" not in done.stderr
    assert list((tmp_path / "traces").glob("*.hang.redline")) == []


@pytest.mark.parametrize(("case", "kind", "steps", "function", "line"), [
    ("lock", "lock", ["steps"], "wait_for_a_lock", "try_lock_for"),
    ("loop", "computes", ["steps"], "compute_for_ever", "count"),
    ("barrier", "mismatch", [], "enter_a_barrier", "barrier()->wait()"),
])
def test_a_program_in_cpp_tells_of_its_collectives_and_is_asked_where_it_is(
        start, run, program, tmp_path, case, kind, steps, function, line):
    """With steps that it tells, and by its collectives alone, which needs no change of the program."""
    ranks = 'for rank in 0 1 2; do RANK=$rank "$@" & done; wait'
    folder = tmp_path / "logs"
    command = [program("redline"), "run", "--log", folder, "--hang-after", HANG_AFTER, "--", "sh", "-c", ranks, "sh",
               program("hang_cpp_job"), case, *steps]
    with start(command, {"WORLD_SIZE": "3", "MEETING": str(tmp_path / "meeting")}, cwd=tmp_path) as process:
        said = lines_until_verdict(process)
        assert said[0].startswith("redline: the job hangs: rank 1 "), said
        hang = assert_report_says(run, program, folder, {
            "kind": kind, "ranks": [1], "waiting_ranks": [0, 2], "group": "0", "step": 5 if steps else None,
            "sequence": 12, "operation": "all_reduce"})
        assert_tables_have_the_runs_name(folder)
    place, _, name = hang["stack"][0].partition(" ")
    assert name == function
    file, _, number = place.partition(":")
    assert line in (HANG / file).read_text().splitlines()[int(number) - 1]
    assert hang["stack"][-1].endswith(" main")
    assert f"at {hang['stack'][0]}" in said[1]


def test_launchers_of_one_rank_each_ask_a_program_where_it_is(start, program, tmp_path):
    """What stops a rank for a moment must not look like its end to the launcher that started it."""
    common = {"WORLD_SIZE": "2", "MEETING": str(tmp_path / "meeting"), "MASTER_ADDR": "node0", "MASTER_PORT": "7",
              "SLURM_JOB_ID": "7"}
    command = [program("redline"), "run", "--log", tmp_path / "logs", "--hang-after", HANG_AFTER, "--",
               program("hang_cpp_job"), "loop", "steps"]
    with start(command, {**common, "SLURM_STEP_ID": "0", "RANK": "0"}, cwd=tmp_path) as first, \
            start(command, {**common, "SLURM_STEP_ID": "1", "RANK": "1"}, cwd=tmp_path) as second:
        for launcher in (first, second):
            said = lines_until_verdict(launcher)
            assert said[0].startswith("redline: the job hangs: rank 1 computes outside of torch"), said
            assert "compute_for_ever" in said[1]
        assert first.poll() is None
        assert second.poll() is None

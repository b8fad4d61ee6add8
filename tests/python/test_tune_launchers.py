"""`autotune` with the launchers that people use: each trial is a whole torchrun, mpirun or Slurm step. And
`redline report` by the nodes of a Slurm job."""

import contextlib
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import time

import one_node_slurm
import pytest
import step_logs
from conftest import marked_processes, need_programs, wait_until

pytestmark = pytest.mark.usefixtures("no_process_left")

# Data-parallel training that takes its rank from its launcher, and never ends by itself.
TRAIN = """
import os, torch, torch.distributed
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
launchers = (("RANK", "WORLD_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
             ("SLURM_PROCID", "SLURM_NTASKS"))
rank, size = next((int(os.environ[r]), int(os.environ[s])) for r, s in launchers if r in os.environ)
os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
torch.distributed.init_process_group("gloo", rank=rank, world_size=size)
data = TensorDataset(torch.randn(4096, 8))
loader = DataLoader(data, 16, sampler=DistributedSampler(data, shuffle=True))
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
while True:
    for (inputs,) in loader:
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()
"""


@pytest.fixture
def tuned(succeed, program, tmp_path):
    """tuned(command…) returns the finished trials of a study with one knob."""
    (tmp_path / "train.py").write_text(TRAIN)

    def trials(*command, most=1, options=(), environment=None):
        tune = [program("autotune"), "--knob", "batch_size=64,128", "--max-trials", most]
        # A second trial needs as much time as the first took, which may be long on a busy machine.
        limits = ["--budget", "4m", "--trial-timeout", "100s", "--format", "json"]
        done = succeed([*tune, *limits, *options, "--", *command], cwd=tmp_path, environment=environment)
        return json.loads(done.stdout)["trials"]

    return trials


def assert_two_ranks_ran(trial, batch_size):
    assert (trial["outcome"], trial["ranks"]) == ("ok", 2), trial
    assert trial["effective"] == {"batch_size": batch_size}
    assert trial["throughput"]["samples_per_s"] > 0
    assert trial["epoch_samples"] == 4096


def test_mpirun(tuned, python):
    need_programs("mpirun")
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    command = ["mpirun", "--oversubscribe", "-np", "2", python, "train.py"]
    (trial,) = tuned(*command, environment=allowed)
    assert_two_ranks_ran(trial, "16")


def test_torchrun_on_two_nodes(tuned, python, tmp_path):
    """Two agents with one rank each are one trial, which has its own port."""
    agent = f"{python} -m torch.distributed.run --nnodes 2 --nproc_per_node 1 --master_addr 127.0.0.1"
    both = f"{agent} --node_rank 0 train.py & {agent} --node_rank 1 train.py & wait"
    (trial,) = tuned("sh", "-c", both)
    assert_two_ranks_ran(trial, "16")
    logs = [step_logs.read(path) for path in tmp_path.glob("autotune.study.trials/*/*.steps.redline")]
    assert sorted((log.rank, log.world_size) for log in logs) == [(0, 2), (1, 2)]
    assert all(step["samples"] == 16 for log in logs for step in log.steps)


def test_a_rank_on_another_machine_reports_into_a_file(succeed, python, repo_root, tmp_path):
    """On that machine the FIFO's name is visible, too, but nobody reads it."""
    os.mkfifo(tmp_path / "reports")
    (tmp_path / "reports.d").mkdir()
    code = "from redline._trial_channel import Channel; import sys; Channel(sys.argv[1]).send('note', text='here')"
    environment = {"PYTHONPATH": str(repo_root / "python"), "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}
    succeed([python, "-c", code, tmp_path / "reports"], environment=environment)
    (file,) = (tmp_path / "reports.d").iterdir()
    line = json.loads(file.read_text())
    clock = line.pop("clock")
    assert line == {"type": "note", "rank": 1, "text": "here"}
    assert abs(clock - (time.time_ns() - time.monotonic_ns())) < 60e9


def test_a_file_of_the_script_that_got_the_channels_number_is_left_alone(succeed, python, repo_root, tmp_path):
    os.mkfifo(tmp_path / "reports")
    reader = os.open(tmp_path / "reports", os.O_RDONLY | os.O_NONBLOCK)
    code = """
from redline._trial_channel import Channel
import os, sys
channel = Channel(sys.argv[1])
channel.send("note", text="here")
os.closerange(3, 100)
with open("checkpoint", "wb") as file:
    assert file.fileno() == channel.descriptor
    channel.send("note", text="again")
"""
    environment = {"PYTHONPATH": str(repo_root / "python")}
    succeed([python, "-c", code, tmp_path / "reports"], cwd=tmp_path, environment=environment)
    assert (tmp_path / "checkpoint").read_bytes() == b""
    lines = os.read(reader, 4096).splitlines()
    os.close(reader)
    assert [json.loads(line)["text"] for line in lines] == ["here", "again"]


class Slurm:
    """An allocation on two nodes of this machine."""

    def __init__(self, environment):
        self.environment = environment
        granted = self("salloc", "--no-shell", "--nodes", "2", "--ntasks-per-node", "1").stderr
        job = granted.partition("Granted job allocation ")[2].split()[0]
        self.inside = {**environment, "SLURM_JOB_ID": job, "SLURM_NTASKS": "2", "SLURM_NNODES": "2"}

    def __call__(self, *command):
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=300)

    def steps(self):
        return self("squeue", "-h", "--steps", "-o", "%i %j").stdout.splitlines()


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    one_node_slurm.need()
    with one_node_slurm.running(tmp_path_factory.mktemp("slurm"), nodes=2) as environment:
        yield Slurm(environment)


def test_slurm_steps_on_two_nodes(tuned, python, slurm):
    options = ["--launcher", "slurm", "--strategy", "grid"]
    trials = tuned(python, "train.py", most=2, options=options, environment=slurm.inside)
    for trial, batch_size in zip(trials, ("16", "64"), strict=True):
        assert_two_ranks_ran(trial, batch_size)
    assert slurm.steps() == []


@pytest.fixture
def job_traces(tmp_path):
    """The traces of five ranks with a step and an all-reduce each; the last ones work longer."""

    def event(category, name, begin, length, **args):
        thread = {"pid": 0, "tid": 7} if category == "kernel" else {"pid": 1, "tid": 1}
        return {"ph": "X", "cat": category, "name": name, "ts": begin, "dur": length, "args": args, **thread}

    (tmp_path / "job").mkdir()
    for rank in range(5):
        work = 1000 + 100 * rank
        events = [
            event("user_annotation", "ProfilerStep#1", 0, 5000),
            event("cpu_op", "aten::mm", 0, work),
            event("kernel", "gemm", 10, work, stream=7),
            event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", work + 10, 3000 - work, stream=7),
        ]
        trace = {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 5}, "traceEvents": events}
        (tmp_path / f"job/rank{rank}.pt.trace.json").write_text(json.dumps(trace))
    return tmp_path / "job"


def test_a_report_by_two_nodes_is_that_by_one_machine(run, program, slurm, job_traces):
    report = [program("redline"), "report", "--format", "json", "--peak-tflops", "bf16=989,fp32=67.5", job_traces]
    alone = run(report)
    shared = run([*report, "--launcher", "slurm"], environment=slurm.inside)
    assert (alone.returncode, shared.returncode) == (0, 0), shared.stderr
    assert shared.stdout == alone.stdout
    assert json.loads(alone.stdout)["ranks"]["straggler"]["rank"] == 4


def test_a_node_that_fails_is_named_with_the_traces_that_it_had(succeed, program, slurm, job_traces):
    report = [program("redline"), "report", "--format", "json", "--launcher", "slurm", job_traces]
    done = succeed(report, environment={**slurm.inside, "SLURM_JOB_NUM_NODES": "3"})  # it has no third node
    assert "left out: node 3 of 3: 1 trace: srun ended with status 1: srun: error: " in done.stderr
    said = json.loads(done.stdout)
    assert [trace["rank"] for trace in said["traces"]] == [0, 1, 3, 4]
    assert said["unreadable"][0].startswith("node 3 of 3: 1 trace: ")


def test_a_report_by_nodes_needs_a_slurm_job_and_srun(run, program, slurm, job_traces):
    report = [program("redline"), "report", "--launcher", "slurm", job_traces]
    done = run(report)
    assert (done.returncode, done.stdout) == (1, "")
    assert "this is no Slurm job. Start it in one: salloc" in done.stderr
    done = run(report, environment={**slurm.inside, "PATH": "/nowhere"})
    assert done.returncode == 1
    assert "node 1 of 2: 3 traces: srun did not start: " in done.stderr


@pytest.fixture
def submitted(slurm, program, python, repo_root, tmp_path):
    """submitted(sample, words…, NAME=value) runs a job of samples/slurm to its end and returns what it printed."""

    def run_job(sample, *words, options=(), **variables):
        path = f"{program('redline').parent}:{pathlib.Path(python).parent}:{slurm.environment['PATH']}"
        environment = {**slurm.environment, "PATH": path, "OMP_NUM_THREADS": "1", **variables}
        script = repo_root / "samples/slurm" / sample
        done = subprocess.run(["sbatch", "--wait", *options, script, *words], env=environment, cwd=tmp_path,
                              capture_output=True, text=True, timeout=300)
        (output,) = tmp_path.glob("redline-*.out")
        assert done.returncode == 0, done.stderr + output.read_text()
        return output.read_text()

    return run_job


def test_the_sample_job_records_and_reports(submitted, repo_root):
    # The allocation of these tests has only one of the two cores.
    sample = repo_root / "samples/python/ddp.py"
    said = submitted("job.sbatch", sample, "--steps", "12", options=["--cpus-per-task=1"], RANKS="2")
    assert "samples/s" in said and "2 ranks" in said and "STEP" in said, said


@pytest.mark.long
def test_the_sample_job_of_two_nodes_tunes_and_runs_tuned(submitted, repo_root, tmp_path):
    sample = repo_root / "samples/python/ddp.py"
    knobs = "--strategy grid --knob batch_size=32,128 --max-trials 2"
    said = submitted("two_nodes.sbatch", sample, "--steps", "400", KNOBS=knobs, MASTER_ADDR="127.0.0.1")
    assert "BEST" in said and "2 ranks" in said, said
    assert (tmp_path / "best.json").exists()
    assert len(list(tmp_path.glob("traces-*/*.pt.trace.json.gz"))) == 2


@pytest.fixture
def deaf_task(tmp_path):
    """The words of a task that ends by SIGKILL alone, and a function that waits until it runs on both nodes: Slurm
    cannot end a step whose srun died before that, not before its job's end."""
    script = f"trap '' TERM; touch {tmp_path}/runs.$SLURM_PROCID; sleep 1000"
    # Without the trial's mark, so that a search through this machine's processes does not find it.
    words = ["env", "-u", "REDLINE_TRIAL_ID", "-u", "REDLINE_TEST_MARK", "sh", "-c", script]
    return words, lambda: wait_until(lambda: len(list(tmp_path.glob("runs.*"))) == 2, "a node does not run its task")


@pytest.mark.parametrize("how", ["hang", "interrupt", "kill"])
def test_no_slurm_step_outlives_its_trial(start, program, slurm, deaf_task, tmp_path, how):
    task, wait_for_task = deaf_task
    options = ["--knob", "n=1,2", "--metric", r"(\d+)", "--launcher", "slurm", "--max-trials", "1"]
    timeout = ["--trial-timeout", "5s"] if how == "hang" else []
    command = [program("autotune"), *options, *timeout, "--", *task, "{n}"]
    with start(command, cwd=tmp_path, environment=slurm.inside) as autotune:
        if how == "hang":  # autotune must not end the trial before its step runs, however long Slurm needs
            mark = f"REDLINE_TEST_MARK={os.environ['REDLINE_TEST_MARK']}".encode()
            wait_until(lambda: any("srun" in words for words in marked_processes(mark).values()), "no srun started")
            autotune.send_signal(signal.SIGSTOP)
        wait_for_task()
        if how == "hang":
            autotune.send_signal(signal.SIGCONT)
        if how == "interrupt":
            autotune.send_signal(signal.SIGINT)
        if how == "kill":
            autotune.kill()
        autotune.communicate(timeout=180)
        if how == "kill":
            wait_until(lambda: not slurm.steps(), "a step is left after a minute")
    assert slurm.steps() == []
    with contextlib.closing(sqlite3.connect(tmp_path / "autotune.study.db")) as study:
        row = study.execute("SELECT state, outcome FROM trials").fetchone()
    assert row == {"hang": ("finished", "hang"), "interrupt": ("interrupted", None), "kill": ("started", None)}[how]


def descendants(pid):
    """`pid` and all its descendants."""
    found = [pid]
    for parent in found:
        for task in pathlib.Path(f"/proc/{parent}/task").iterdir():
            found += [int(child) for child in (task / "children").read_text().split()]
    return found


def test_steps_that_a_crashed_host_left_are_ended_at_resume(start, run, program, slurm, deaf_task, tmp_path):
    task, wait_for_task = deaf_task
    options = ["--knob", "n=1,2", "--metric", r"(\d+)", "--launcher", "slurm", "--max-trials", "1"]
    command = [program("autotune"), *options, "--", *task, "{n}"]
    with start(command, cwd=tmp_path, environment=slurm.inside) as autotune:
        wait_for_task()
        # Kills all of them as a crash of the host would, so that nobody is left to tell Slurm. They are stopped first,
        # so that none sees another die.
        crashed = descendants(autotune.pid)
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in crashed:
                os.kill(pid, number)
        autotune.communicate(timeout=60)
    (left,) = slurm.steps()
    again = [command[0], "--resume", "--budget", "1s", "--trial-timeout", "1s", *command[1:]]
    done = run(again, cwd=tmp_path, environment=slurm.inside)
    assert "1 job step of an earlier run was still there, and ended" in done.stderr, done.stderr
    assert left.split()[0] not in " ".join(slurm.steps())

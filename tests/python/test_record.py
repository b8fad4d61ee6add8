"""redline record makes traces of unmodified programs, which otherwise behave as without it."""

import json
import os
import shutil
import signal
import subprocess

import pytest
from conftest import ROOT
from recording import SPAWNED_RANKS, import_redline, names, slices, step_numbers, traces

pytestmark = pytest.mark.usefixtures("no_process_left")

# A training loop of a few steps; its arguments say how many steps, and how it ends.
TRAIN = """
import os, signal, sys, torch
steps, end = int(sys.argv[1]), sys.argv[2]
torch.manual_seed(0)
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(steps):
    optimizer.zero_grad()
    loss = model(torch.full((2, 4), float(step))).square().sum()
    loss.backward()
    optimizer.step()
print(loss.item().hex(), flush=True)
if end == "status":
    sys.exit(3)
if end == "hard":
    os._exit(5)
if end == "exec":
    os.execlp("sh", "sh", "-c", "exit 6")
if end == "exception":
    raise ValueError("the job's own")
if end.startswith("SIG"):
    os.kill(os.getpid(), signal.Signals[end])
    signal.pause()
"""


@pytest.fixture
def script(tmp_path):
    """script(text) writes a Python file and returns its path."""

    def write(text):
        path = tmp_path / "job.py"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def record(program, run, tmp_path):
    """record(command, *options, check=True) returns the finished process and its traces."""

    def recorded(command, *options, check=True, **how):
        folder = tmp_path / "traces"
        words = [program("redline"), "record", "-o", folder, *options, "--", *command]
        end = run(words, cwd=tmp_path, check=check, **how)
        assert not list(folder.glob(".*")), "hidden files are left behind"
        return end, traces(folder)

    return recorded


THREADS = """
import threading, torch
def train():
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(200):
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
threads = [threading.Thread(target=train) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_several_threads_may_train(record, python, script):
    recorded, (trace,) = record([python, script(THREADS)])
    assert "ended early" not in recorded.stderr
    assert step_numbers(trace) == [2, 3, 4]


def test_two_ranks_train_to_the_same_bits_and_leave_a_trace_each(record, succeed, torchrun, train_cifar):
    """R24 on the sample: compares exit status, stdout and loss bits, and checks what the traces hold."""
    command = [*torchrun, "--nproc_per_node", "2", train_cifar, "--steps", "6", "--batch-size", "8",
               "--num-workers", "1", "--train-size", "96", "--print-loss-bits"]
    plain = succeed(command)
    recorded, (first, second) = record(command)
    assert without_speed(recorded.stdout) == without_speed(plain.stdout) != ""
    assert "redline: 2 traces in " in recorded.stderr
    assert [trace["distributedInfo"]["rank"] for trace in (first, second)] == [0, 1]
    for trace in (first, second):
        info = trace["distributedInfo"]
        assert (info["backend"], info["world_size"], info["pg_count"]) == ("gloo", 2, 1)
        assert step_numbers(trace) == [2, 3, 4]
        assert trace["redline"]["samples_per_step"] == 16
        assert trace["redline"]["dropped"] == 0
        annotations = names(trace, "user_annotation")
        assert annotations["enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"] == 3
        assert annotations["Optimizer.step#AdamW.step"] == 3
        assert annotations["gloo:all_reduce"] >= 3


def without_speed(stdout):
    """The sample's output without the only figure that differs from run to run."""
    return stdout.partition("samples/s")[0]


@pytest.fixture(scope="module")
def loss_of_four_steps(python):
    """What TRAIN prints after four steps if nothing records it."""
    command = [python, "-c", TRAIN, "4", "return"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("end, status", [
    ("return", 0), ("status", 3), ("hard", 5), ("exec", 6), ("exception", 1), ("SIGINT", 130), ("SIGTERM", 143),
])
def test_however_a_job_ends_it_ends_as_ever_and_its_trace_is_written(
    record, python, script, loss_of_four_steps, end, status
):
    recorded, (trace,) = record([python, script(TRAIN), "4", end], check=False)
    assert (recorded.returncode, recorded.stdout) == (status, loss_of_four_steps)
    # The end cut the window after two of three steps, and a part of a step is not called a step.
    assert step_numbers(trace) == [2, 3]
    if end != "SIGTERM":
        assert "the command ended within the window" in recorded.stderr


def test_a_killed_job_leaves_what_had_reached_the_disk_and_says_so(record, succeed, program, python, script, tmp_path):
    waits = "while not any(path.stat().st_size for path in pathlib.Path('traces').glob('*.partial')): pass"
    text = TRAIN.replace("import os", "import pathlib, os").replace("print(loss", waits + "\nprint(loss")
    recorded, whole = record([python, script(text), "4", "SIGKILL"], check=False)
    assert recorded.returncode == 128 + signal.SIGKILL
    assert whole == []
    assert "1 unfinished trace (.partial)" in recorded.stderr
    # What it says next works.
    read = succeed([program("redline"), "report", tmp_path / "traces"])
    assert "gzip_cut" in read.stdout


def test_a_job_that_ends_before_the_window_says_so(record, python, script):
    recorded, none = record([python, script(TRAIN), "1", "return"])
    assert none == []
    assert "made 1 step, the schedule leaves out the first 2. Give a shorter --schedule" in recorded.stderr


def test_a_window_that_the_end_cuts_needs_no_further_thread(record, python, script):
    """Python 3.12.0 to 3.12.2 start no thread while the interpreter ends."""
    ends = """
import atexit, threading
def start(self):
    raise RuntimeError("can't create new thread at interpreter shutdown")
atexit.register(setattr, threading.Thread, "start", start)
"""
    _, traces = record([python, script(TRAIN + ends), "3", "return"], "--schedule", "active=100")
    assert len(traces) == 1


def test_each_cycle_is_a_trace(record, python, script):
    schedule = "skip_first=1,wait=1,warmup=0,active=2,repeat=2"
    _, cycles = record([python, script(TRAIN), "8", "return"], "--schedule", schedule)
    assert sorted(map(step_numbers, cycles)) == [[2, 3], [5, 6]]


def test_the_cycles_of_a_process_are_no_ranks(record, run, program, python, script, tmp_path):
    record([python, script(TRAIN), "8", "return"], "--schedule", "wait=1,warmup=0,active=2,repeat=2")
    report = run([program("redline"), "report", tmp_path / "traces", "--format", "json"])
    said = json.loads(report.stdout)
    assert (len(said["traces"]), said["ranks"]) == (2, None)


@pytest.mark.parametrize(("schedule", "steps"), [
    ("wait=0,warmup=0,active=1,repeat=0", [[0], [1], [2], [3]]),
    ("wait=1,warmup=1,active=2,repeat=0", [[2, 3]]),
    ("wait=0,warmup=0,active=3,repeat=0", [[0, 1, 2], [3]]),
])
def test_what_follows_the_last_step_is_no_trace_of_its_own(record, python, script, schedule, steps):
    _, recorded = record([python, script(TRAIN), "4", ""], "--schedule", schedule)
    assert sorted(step_numbers(trace) for trace in recorded) == steps


def test_without_wait_the_first_step_is_recorded(record, python, script):
    schedule = "wait=0,warmup=0,active=2"
    _, (trace,) = record([python, script(TRAIN), "4", "return"], "--schedule", schedule, "--shapes")
    assert step_numbers(trace) == [0, 1]
    assert trace["record_shapes"] == 1


def test_set_up_is_no_part_of_a_first_step_that_is_recorded(record, python, script):
    set_up = """
import torch, torch.utils.data
for i in range(100):
    with torch.profiler.record_function("set-up"):
        torch.ones(1000).sum()
loader = torch.utils.data.DataLoader(torch.ones(8, 4), batch_size=2, shuffle=True)
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in loader:
    model(batch).sum().backward()
    optimizer.step()
"""
    _, (trace,) = record([python, script(set_up)], "--schedule", "wait=0,warmup=0,active=2")
    assert step_numbers(trace) == [0, 1]
    (first,) = [event for event in slices(trace) if event["name"] == "ProfilerStep#0"]
    before = [event for event in slices(trace) if event["name"] == "set-up"]
    assert len(before) == 100
    assert max(event["ts"] + event["dur"] for event in before) <= first["ts"]
    fetches = [event for event in slices(trace) if "DataLoader" in event["name"]]
    assert first["ts"] <= min(event["ts"] for event in fetches)


def test_batches_of_an_evaluation_are_no_samples(record, python, script):
    text = """
import torch, torch.utils.data
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in torch.utils.data.DataLoader(torch.ones(48, 4), batch_size=8, shuffle=True):
    model(batch).sum().backward()
    optimizer.step()
    with torch.no_grad():
        for batch in torch.utils.data.DataLoader(torch.ones(64, 4), batch_size=32):
            model(batch)
"""
    _, (trace,) = record([python, script(text)])
    assert trace["redline"]["samples_per_step"] == 8


def test_a_command_that_refuses_its_arguments_leaves_no_trace(record, python, script):
    text = """
import argparse, torch
torch.ones(3).sum()
argparse.ArgumentParser().parse_args()
"""
    recorded, none = record([python, script(text), "--nonsense"], check=False)
    assert recorded.returncode == 2
    assert none == []
    assert "/traces: the command failed (exit status 2); " in recorded.stderr
    assert "next:" not in recorded.stderr


def test_a_folder_with_two_recordings_stands_for_the_latest(record, run, program, python, script, tmp_path):
    for schedule in ("wait=1,warmup=1,active=3", "wait=1,warmup=1,active=2"):
        _, found = record([python, script(TRAIN), "8", "return"], "--schedule", schedule)
    assert len(found) == 2
    assert len({trace["run"]["recording"] for trace in found}) == 2
    report = run([program("redline"), "report", tmp_path / "traces"])
    assert "1 rank · 2 steps" in report.stdout
    assert report.stderr.endswith("traces: the latest recording; 1 trace of earlier ones left out\n")
    diff = run([program("redline"), "diff", tmp_path / "traces", tmp_path / "traces"])
    assert diff.stdout.count("1 rank · 2 steps") == 2 and diff.stderr.count("left out") == 2


def test_the_step_log_of_an_earlier_recording_does_not_count_either(record, run, program, python, script, tmp_path):
    for steps in ("60", "40"):
        record([python, script(TRAIN), steps, "return"])
    traces = tmp_path / "traces"
    diff = run([program("redline"), "diff", "--format", "json", traces, traces])
    assert diff.returncode == 0, diff.stderr
    for side in ("before", "after"):
        (latest,) = json.loads(diff.stdout)["run"][side]
        assert 8 <= latest["steps"] <= 40


def test_the_next_command_can_be_pasted(run, program, python, script, tmp_path):
    train = ["--", python, script(TRAIN), "8", "return"]
    done = run([program("redline"), "record", "-o", "my traces", *train], cwd=tmp_path)
    assert done.stderr.endswith("redline: next: redline report 'my traces'\n")
    done = run([program("redline"), "run", "--log", "my logs", *train], cwd=tmp_path)
    assert done.stderr.endswith("redline: 1 step log: redline report 'my logs' says more\n")
    empty = tmp_path / "no traces"
    empty.mkdir()
    done = run([program("redline"), "report", empty])
    assert f"Record some: redline record -o '{empty}' -- CMD" in done.stderr


def test_a_job_without_optimizer_is_recorded_whole(record, python, script):
    text = """
import torch
with torch.no_grad():
    for batch in range(3):
        torch.nn.Linear(4, 3)(torch.ones(2, 4))
"""
    recorded, (trace,) = record([python, script(text)])
    assert names(trace, "cpu_op")["aten::linear"] == 3
    assert step_numbers(trace) == []
    assert "no training step was seen" in recorded.stderr


INFERS = """
import sys, torch
from torch.utils.data import DataLoader
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
def infer(batches):
    model.eval()
    loader = DataLoader(torch.ones(8 * batches, 4), batch_size=8)
    if sys.argv[1] == "around":
        with torch.inference_mode():
            for batch in loader:
                model(batch)
    elif sys.argv[1] == "inside":
        for batch in loader:
            with torch.no_grad():
                model(batch)
    else:
        for batch in loader:
            model(batch)
def train(steps):
    model.train()
    for batch in DataLoader(torch.ones(16 * steps, 4), batch_size=16, shuffle=True):
        model(batch).sum().backward()
        optimizer.step()
def make_optimizer():
    return torch.optim.SGD(model.parameters(), lr=0.1)
"""


@pytest.mark.parametrize("how", ["around", "inside", "eval"])
def test_without_training_a_batch_is_a_step(record, python, script, how):
    recorded, (trace,) = record([python, script(INFERS + "infer(12)"), how])
    assert step_numbers(trace) == list(range(2, 12))
    assert (trace["redline"]["samples_per_step"], trace["redline"]["inference"]) == (8, True)
    assert names(trace, "user_annotation")[FETCH("SingleProcess")] == 11  # with the call that ends the loader
    assert "redline: the command" not in recorded.stderr


def test_a_schedule_that_is_given_holds_for_batches(record, python, script):
    _, cycles = record([python, script(INFERS + "infer(12)"), "around"], "--schedule", "active=3,repeat=2")
    assert sorted(map(step_numbers, cycles)) == [[2, 3, 4], [7, 8, 9]]


def test_a_short_inference_is_recorded_whole(record, python, script):
    recorded, (trace,) = record([python, script(INFERS + "infer(1)"), "around"])
    assert step_numbers(trace) == [0]
    assert trace["redline"]["inference"]
    assert "only 1 batch of inference was seen: the trace holds the whole run" in recorded.stderr


def test_what_lies_between_two_passes_is_in_no_batch(record, python, script):
    between = """
infer(4)
with torch.profiler.record_function("between"):
    torch.ones(1000).sum()
infer(4)
"""
    _, (trace,) = record([python, script(INFERS + between), "around"])
    steps = [event for event in slices(trace) if event["name"].startswith("ProfilerStep#")]
    (gap,) = [event for event in slices(trace) if event["name"] == "between"]
    assert len(steps) == 6
    assert not any(step["ts"] < gap["ts"] < step["ts"] + step["dur"] for step in steps)


@pytest.mark.parametrize(("text", "schedule", "steps"), [
    ("infer(12); optimizer = make_optimizer(); train(8)", "wait=1,warmup=1,active=3", [2, 3, 4]),
    pytest.param("infer(12); optimizer = make_optimizer(); train(8)", "wait=0,warmup=0,active=3", [0, 1, 2], marks=pytest.mark.long),
    ("infer(1); optimizer = make_optimizer(); train(8)", "wait=0,warmup=0,active=3", [0, 1, 2]),
    pytest.param("optimizer = make_optimizer(); infer(2); train(8)", "wait=1,warmup=1,active=3", [2, 3, 4], marks=pytest.mark.long),
    # The first step had begun before anything showed that the program trains.
    ("optimizer = make_optimizer(); infer(2); train(8)", "wait=0,warmup=0,active=3", [1, 2, 3]),
])
def test_an_evaluation_before_the_training_is_forgotten(record, python, script, text, schedule, steps):
    _, (trace,) = record([python, script(INFERS + text), "around"], "--schedule", schedule)
    assert step_numbers(trace) == steps
    assert trace["redline"]["samples_per_step"] == 16
    assert "inference" not in trace["redline"]


def test_a_script_that_only_makes_an_optimizer_infers(record, python, script):
    _, (trace,) = record([python, script(INFERS + "optimizer = make_optimizer(); infer(12)"), "around"])
    assert step_numbers(trace) == list(range(2, 12))


def test_gradients_in_a_model_that_evaluates_are_no_inference(record, python, script):
    text = """
model.eval()
for batch in DataLoader(torch.ones(64, 4), batch_size=8):
    torch.autograd.grad(model(batch).sum(), list(model.parameters()))
"""
    recorded, (trace,) = record([python, script(INFERS + text), "eval"])
    assert step_numbers(trace) == []
    assert "no training step was seen" in recorded.stderr


def test_gradients_of_an_iterator_of_parameters_are_all_there(record, python, script):
    path = script("""
import torch
model = torch.nn.Linear(2, 2)
for _ in range(3):
    print(*(tuple(gradient.shape) for gradient in torch.autograd.grad(model(torch.ones(1, 2)).sum(), model.parameters())))
""")
    recorded, _ = record([python, path])
    assert set(recorded.stdout.splitlines()) == {"(2, 2) (2,)"}


LOADERS = """
import sys, torch
class Images(torch.utils.data.Dataset):
    def __len__(self): return 48
    def __getitem__(self, index): return torch.full((4,), float(index)).sin().cos()
def main():
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for workers in map(int, sys.argv[2:]):
        loader = torch.utils.data.DataLoader(
            Images(), batch_size=8, num_workers=workers,
            multiprocessing_context=sys.argv[1] if workers else None)
        for batch in loader:
            model(batch).sum().backward()
            optimizer.step()
if __name__ == "__main__":
    main()
"""
FETCH = "enumerate(DataLoader)#_{}DataLoaderIter.__next__".format


def test_workers_that_are_forked_record_nothing_be_there_0_2_or_8(record, python, script):
    command = [python, script(LOADERS), "fork", "0", "2", "8"]
    _, (trace,) = record(command, "--schedule", "wait=0,warmup=1,active=17")
    assert step_numbers(trace) == list(range(1, 18))
    assert len({event["pid"] for event in slices(trace, "cpu_op")}) == 1
    assert names(trace, "cpu_op")["aten::sin"] == 40  # only those of the loader without workers
    waits = names(trace, "user_annotation")
    # With the call that ends a loader.
    assert (waits[FETCH("SingleProcess")], waits[FETCH("MultiProcessing")]) == (6, 7 + 6)


def test_workers_that_are_spawned_record_nothing(record, python, script):
    _, (trace,) = record([python, script(LOADERS), "spawn", "2"])
    assert step_numbers(trace) == [2, 3, 4]
    assert len({event["pid"] for event in slices(trace, "cpu_op")}) == 1
    assert names(trace, "cpu_op")["aten::sin"] == 0
    assert names(trace, "user_annotation")[FETCH("MultiProcessing")] == 3


@pytest.mark.parametrize("options", [[], ["-X", "faulthandler"], ["-W", "ignore", "-E", "-W", "default"]])
def test_a_spawned_process_is_known_by_its_command(options):
    import_redline()
    from redline._record import is_spawned

    started = ["python", *options, "-c", "from multiprocessing.spawn import spawn_main; spawn_main(pipe_handle=3)"]
    assert is_spawned([*started, "--multiprocessing-fork"])
    assert not is_spawned(["python", *options, "-c", "import torch.multiprocessing as mp; mp.spawn(train)"])
    assert not is_spawned(["python", *options, "train.py", "--multiprocessing", "import"])


def test_spawned_ranks_are_recorded_and_their_launcher_is_not(record, python, script):
    _, ranks = record([python, script(SPAWNED_RANKS)])
    assert [trace["distributedInfo"]["rank"] for trace in ranks] == [0, 1]
    assert [step_numbers(trace) for trace in ranks] == [[2, 3, 4]] * 2


TWO_OPTIMIZERS = """
import torch
generator, critic = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
step_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
step_generator = torch.optim.Adam(generator.parameters(), lr=0.1)
for iteration in range(8):
    for part in range(3):
        critic(generator(torch.ones(4, 2)).detach()).sum().backward()
    step_critic.step()
    critic(generator(torch.ones(4, 2))).sum().backward()
    step_generator.step()
"""


def test_ranks_that_are_forked_are_not_recorded_and_that_is_said(record, python, script):
    forked = SPAWNED_RANKS.replace(
        "torch.multiprocessing.spawn(train, nprocs=2)",
        "torch.multiprocessing.start_processes(train, nprocs=2, start_method='fork')",
    )
    recorded, (launcher,) = record([python, script(forked)])
    assert step_numbers(launcher) == []
    said = "redline: training in processes that were forked after `import torch` is not recorded"
    assert recorded.stderr.count(said) == 1


def test_two_optimizers_and_accumulation_are_one_step_an_iteration(record, python, script):
    _, (trace,) = record([python, script(TWO_OPTIMIZERS)])
    assert step_numbers(trace) == [2, 3, 4]
    assert names(trace, "user_annotation")["Optimizer.step#SGD.step"] == 3
    assert names(trace, "user_annotation")["Optimizer.step#Adam.step"] == 3


OWN_PROFILER = """
import torch
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
schedule = torch.profiler.schedule(wait=0, warmup=1, active=20)
with torch.profiler.profile(schedule=schedule) as profiler:
    for step in range(8):
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
        profiler.step()
profiler.export_chrome_trace("own.json")
"""


def test_a_script_with_torch_profiler_keeps_it_and_its_steps(record, python, script, tmp_path):
    _, (trace,) = record([python, script(OWN_PROFILER)])
    assert step_numbers(trace) == [2, 3, 4]
    own = json.loads((tmp_path / "own.json").read_text())
    assert step_numbers(own) == list(range(1, 9))


def test_a_profiler_that_is_never_stepped_leaves_the_optimizer_in_charge(record, python, script):
    """Tutorials call step() behind the block."""
    text = OWN_PROFILER.replace("        profiler.step()\n", "").replace("wait=0, warmup=1, active=20", "wait=1")
    text = text.replace('profiler.export_chrome_trace("own.json")', "profiler.step()")
    text = text.replace("wait=1", "wait=1, warmup=1, active=2")
    _, (trace,) = record([python, script(text)])
    assert step_numbers(trace) == [2, 3, 4]
    assert names(trace, "user_annotation")["Optimizer.step#SGD.step"] == 3


def test_a_script_with_redline_profile_has_the_recorder_to_itself(record, python, script, tmp_path):
    text = """
import torch
from redline import profile
torch.nn.Linear(2, 2)(torch.ones(2))
with profile() as profiler:
    torch.ones(2) + 1
profiler.export_chrome_trace("own.json")
"""
    recorded, none = record([python, script(text)])
    assert none == []
    assert "the script records itself with redline.profile" in recorded.stderr
    assert names(json.loads((tmp_path / "own.json").read_text()), "cpu_op")["aten::add"] == 1


def test_a_full_disk_ends_the_recording_and_not_the_job(
    record, python, script, loss_of_four_steps
):
    text = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n" + TRAIN
    recorded, none = record([python, script(text), "4", "status"], check=False)
    assert (recorded.returncode, recorded.stdout) == (3, loss_of_four_steps)
    assert none == []
    assert recorded.stderr.count("recording ended early, training went on") == 1
    assert "File too large" in recorded.stderr


def test_ctrl_c_under_torchrun_leaves_readable_traces(start, program, torchrun, train_cifar, tmp_path):
    """Sends SIGINT to the whole process group, as a terminal does, once the ranks train."""
    command = [program("redline"), "record", "-o", tmp_path / "traces", "--schedule", "active=1000000",
               "--", *torchrun, "--nproc_per_node", "2", train_cifar, "--steps", "100000",
               "--batch-size", "4", "--log-every", "5"]
    with start(command) as process:
        for line in process.stdout:
            if "step 10" in line or "step 15" in line:
                break
        os.killpg(process.pid, signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "redline: 2 traces in " in stderr
    first, second = traces(tmp_path / "traces")
    for trace in (first, second):
        assert step_numbers(trace)[:3] == [2, 3, 4]


def test_a_libtorch_program_is_recorded(record, succeed, program):
    """The program has a redline::Profiler, which follows the schedule of the command line."""
    command = [program("mnist"), "--steps", "6", "--print-loss-bits"]
    plain = succeed(command)
    recorded, (trace,) = record(command)
    assert without_speed(recorded.stdout) == without_speed(plain.stdout) != ""
    assert step_numbers(trace) == [2, 3, 4]
    assert names(trace, "cpu_op")["aten::conv2d"] > 0


def test_a_script_that_first_looks_whether_torch_is_there_is_recorded(record, python, script):
    """transformers, Lightning and many others do this: they ask for the spec and throw it away."""
    looks = "import importlib.util\nassert importlib.util.find_spec('torch')"
    _, (trace,) = record([python, script(looks + TRAIN), "6", "return"])
    assert step_numbers(trace) == [2, 3, 4]


def test_compiled_models_are_compiled_as_ever_and_without_a_warning(record, run, python, script):
    """torch.compile must not see our hooks: it would warn of them and compile again without them."""
    compiled = """
import torch
graphs = []
def backend(graph, inputs):
    graphs.append(graph)
    return graph
model, called = torch.nn.Linear(4, 3), torch.nn.Linear(4, 3)
@torch.compile(backend=backend)
def function(x):
    return called(x).sum()
function(torch.ones(2, 4))
called(torch.ones(2, 4))
function(torch.ones(2, 4))
whole = torch.compile(model, backend=backend)
whole(torch.ones(2, 4))
with torch.no_grad():
    for batch in torch.utils.data.DataLoader(torch.ones(10, 4), batch_size=2):
        function(batch)
        whole(batch)
print(len(graphs))
"""
    command = [python, "-W", "error:.*global hooks", script(compiled)]
    plain = run(command)
    recorded, (trace,) = record(command)
    assert (recorded.returncode, recorded.stdout) == (plain.returncode, plain.stdout) == (0, "4\n")
    assert names(trace, "cpu_op")["aten::linear"] > 0
    assert step_numbers(trace) == [2, 3, 4]


@pytest.mark.parametrize("command, why", [
    (["true"], "no process of the command used a GPU"),
    (["sh", "-c", "exit 7"], "the command failed (exit status 7) before Redline saw it load torch"),
])
def test_a_command_without_torch_is_passed_through(record, command, why):
    recorded, none = record(command, check=False)
    assert recorded.returncode == (7 if "exit 7" in command else 0)
    assert none == []
    assert why in recorded.stderr


def test_output_of_the_command_is_untouched(record):
    recorded, _ = record(["sh", "-c", "printf 'a\\0b'; printf c >&2"])
    assert recorded.stdout == "a\0b"
    assert recorded.stderr.startswith("c")


def test_usage_errors_are_one_line_with_an_example(program, run, tmp_path):
    redline = program("redline")
    wrong = run([redline, "record", "--schedule", "activ=3", "--", "true"], cwd=tmp_path)
    assert wrong.returncode == 2
    assert wrong.stderr.count("\n") == 1 and "Example: --schedule skip_first=0" in wrong.stderr
    (tmp_path / "file").write_text("")
    wrong = run([redline, "record", "-o", "file/traces", "--", "touch", "ran"], cwd=tmp_path)
    assert wrong.returncode == 1
    assert wrong.stderr.startswith("redline: file/traces: Not a directory.")
    wrong = run([redline, "record", "--", "no-such-program"], cwd=tmp_path)
    assert wrong.returncode == 1
    assert wrong.stderr.startswith("redline: no-such-program: No such file or directory.")
    wrong = run([redline, "recrod", "--", "true"], cwd=tmp_path)
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert wrong.stderr == "redline: no such command: recrod; did you mean record? See redline --help\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "traces"]


@pytest.mark.parametrize("options, status, error", [
    (["--stack"], 2, "redline: no such option: --stack; did you mean --stacks? See redline record --help\n"),
    (["--cheese"], 2, "redline: no such option or argument: --cheese, see redline record --help\n"),
    (["--max-size", "10KB"], 2, "redline: --max-size: must be at least 1MB, see"),
    (["--max-size", "x"], 2, "redline: --max-size: 'x' is no size. Example: 1500MB, 1.5GiB (see"),
    (["--ring", "9x"], 2, "redline: --ring: '9x' is no duration. Example: 90s, 10m, 1.5h (see"),
    (["--ring", "25h"], 2, "redline: --ring: must be from 0 to a day, see"),
    (["--ranks", "0-3"], 2, "redline: --ranks: must be ranks such as 0,3, not '0-3', see"),
    (["--ring", "9s", "--slow-step", "x"], 2, "redline: --slow-step: must be above 1, or 0, not 'x', see"),
    (["-o", ""], 1, "redline: -o '': Invalid argument"),
    (["-o"], 2, "redline: --output has no value before --, see redline record --help\n"),
    (["--step-marker"], 2, "redline: --step-marker has no value before --, see redline record --help\n"),
    (["--ring"], 2, "redline: --ring has no value before --, see redline record --help\n"),
])
def test_what_makes_no_sense_is_said_in_one_line(program, run, tmp_path, options, status, error):
    wrong = run([program("redline"), "record", *options, "--", "touch", "ran"], cwd=tmp_path)
    assert (wrong.returncode, wrong.stderr.count("\n")) == (status, 1)
    assert wrong.stderr.startswith(error)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_whose_name_a_request_cannot_hold_is_refused(program, run, tmp_path):
    name = os.fsdecode(b"f\xfcr")
    done = run([program("redline"), "record", "-o", name, "--", "true"], cwd=tmp_path)
    assert done.returncode == 1
    assert "the name of the folder is not UTF-8. Choose another folder with -o DIR" in done.stderr
    done = run([program("redline"), "run", "--log", name, "--every", "10m", "--", "true"], cwd=tmp_path)
    assert done.returncode == 1 and "the name of the folder is not UTF-8" in done.stderr
    assert [path for path in tmp_path.iterdir() if path.name != name] == []


def install_into(place, program, library):
    for source in (program("redline"), library("libredline.so"), library("libredline_torch.so")):
        (place / source.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copy(source, place / source.parent.name)
    shutil.copytree(ROOT / "python", place / "share/redline/python")


def test_redline_may_not_lie_in_a_folder_with_a_colon(program, library, run, tmp_path):
    """PYTHONPATH splits at it, so that no Python process would find the start-up hook."""
    place = tmp_path / "v1:2"
    install_into(place, program, library)
    shutil.copy(program("autotune"), place / "bin")
    for command in (["redline", "record", "-o", "traces"], ["redline", "run", "--log", "logs"], ["autotune", "--max-trials", "2"]):
        done = run([place / "bin" / command[0], *command[1:], "--", "touch", "ran"], cwd=tmp_path)
        assert done.returncode == 1, done.stderr
        said = f"{place}/share/redline/python: PYTHONPATH splits at the colon. Redline needs another folder"
        assert said in done.stderr and not (tmp_path / "ran").exists()


def test_redline_may_lie_in_a_folder_with_a_blank(program, library, run, tmp_path):
    """LD_PRELOAD splits at blanks and knows no escape."""
    place = tmp_path / "My Projects"
    install_into(place, program, library)
    look = ["grep", "-c", "r-xp.*/My Projects/lib/libredline.so", "/proc/self/maps"]
    for command in (["record", "-o", "traces"], ["run", "--log", "logs"]):
        done = run([place / "bin/redline", *command, "--", *look], cwd=tmp_path)
        assert done.stdout == "1\n" and "ld.so" not in done.stderr, done.stderr


def test_a_size_of_0_is_any_size_as_in_python(program, succeed, tmp_path):
    succeed([program("redline"), "record", "--max-size", "0", "--", "true"], cwd=tmp_path)


def test_a_time_may_be_in_hours(program, succeed, tmp_path):
    succeed([program("redline"), "record", "--ring", "1h", "--hang-after", "0.5h", "--", "true"], cwd=tmp_path)


def test_the_command_may_stand_without_dashes(program, run, tmp_path):
    """The same holds for autotune's command: all words behind its name belong to it."""
    words = ["record", "-o", "traces", "sh", "-c", "echo $0 $*", "--shapes", "-o", "x", "--", "y"]
    recorded = run([program("redline"), *words], cwd=tmp_path)
    assert (recorded.returncode, recorded.stdout) == (0, "--shapes -o x -- y\n")

"""redline record with the threads and processes of a job: ranks, loader workers and what starts them."""

import os
import signal

import pytest
from recording import FETCH, SPAWNED_RANKS, import_redline, names, slices, step_numbers, traces, without_speed

pytestmark = pytest.mark.usefixtures("no_process_left")


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


def test_ranks_that_are_forked_are_not_recorded_and_that_is_said(record, python, script):
    forked = SPAWNED_RANKS.replace(
        "torch.multiprocessing.spawn(train, nprocs=2)",
        "torch.multiprocessing.start_processes(train, nprocs=2, start_method='fork')",
    )
    recorded, (launcher,) = record([python, script(forked)])
    assert step_numbers(launcher) == []
    said = "redline: training in processes that were forked after `import torch` is not recorded"
    assert recorded.stderr.count(said) == 1


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

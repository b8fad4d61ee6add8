"""A small training on Gloo ranks of which one gets into trouble: job.py CASE RANKS [STEP].

Each function below is a case. It is called by all ranks in step 10, and rank 1 does something else than the others. The
functions of HANGS let the job hang for ever, those of FAILURES end it with an error, those of HEALTHY only take long.
In the environment, CULPRIT makes it another rank than 1, and FORK lets all ranks have one start of Python and torch.
"""

import ctypes
import datetime
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

CULPRIT = int(os.environ.get("CULPRIT", 1))
LONG_SECONDS = 8


def barrier_in_one_branch():
    if rank == CULPRIT:
        dist.barrier()
    dist.all_reduce(torch.ones(8))


def other_operation():
    if rank == CULPRIT:
        dist.broadcast(torch.ones(8), 0)
    else:
        dist.all_reduce(torch.ones(8))


def skipped():
    if rank != CULPRIT:
        dist.all_gather([torch.empty(8) for _ in range(dist.get_world_size())], torch.ones(8))


def reordered():
    calls = [lambda: dist.all_reduce(torch.ones(8)), lambda: dist.broadcast(torch.ones(8), 0)]
    for call in reversed(calls) if rank == CULPRIT else calls:
        call()


def reordered_groups():
    calls = [lambda: dist.all_reduce(torch.ones(8)), lambda: dist.all_reduce(torch.ones(8), group=other_group)]
    for call in reversed(calls) if rank == CULPRIT else calls:
        call()


def wrong_group():
    dist.all_reduce(torch.ones(8), group=other_group if rank == CULPRIT else None)
    dist.barrier()


def ends_early():
    if rank == CULPRIT:
        dist.barrier()
        sys.exit()
    dist.all_reduce(torch.ones(8))


def killed():
    """The others wait for what it should put into the store."""
    if rank == CULPRIT:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.distributed_c10d._get_default_store().get("from rank 1")


def interpreter_lock_held():
    if rank == CULPRIT:
        ctypes.PyDLL(None).sleep(10_000)
    dist.all_reduce(torch.ones(8))


def unused_parameters():
    class Branches(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.always, self.sometimes = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

        def forward(self, inputs, takes_both):
            inputs = self.always(inputs)
            return self.sometimes(inputs) if takes_both else inputs

    parallel = torch.nn.parallel.DistributedDataParallel(Branches())
    parallel(torch.ones(4, 8), rank != CULPRIT).sum().backward()
    dist.barrier()


def out_of_memory():
    try:
        if rank == CULPRIT:
            torch.empty(1 << 55)
        dist.all_reduce(torch.ones(8))
    except RuntimeError:
        pass
    dist.barrier()


def in_the_first_step():
    barrier_in_one_branch()


in_the_first_step.step = 0


def waits_for_a_signal():
    if rank == CULPRIT:
        signal.pause()
    dist.all_reduce(torch.ones(8))


def uneven_data():
    parallel = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8))
    for _ in range(2 if rank == CULPRIT else 3):
        parallel(torch.ones(4, 8)).sum().backward()
    dist.barrier()


def exception_swallowed():
    try:
        if rank == CULPRIT:
            raise ValueError("of this rank alone")
        dist.all_reduce(torch.ones(8))
    except ValueError:
        pass
    dist.barrier()


def stopped():
    if rank == CULPRIT:
        # A rank that is stopped before its first table is not known to the launcher.
        while "REDLINE_HANG_TABLES" in os.environ and not has_table():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGSTOP)
    dist.all_reduce(torch.ones(8))


def has_table():
    tables = pathlib.Path(os.environ["REDLINE_LOG"]).glob(f"rank{rank}.*hang.redline")
    return any(table.stat().st_size for table in tables)


def sleeping_hook():
    if rank == CULPRIT:
        weight = torch.ones(3, requires_grad=True)
        weight.register_hook(lambda gradient: time.sleep(10_000))
        weight.sum().backward()
    dist.all_reduce(torch.ones(8))


def lock_held():
    if rank == CULPRIT:
        lock = threading.Lock()
        thread = threading.Thread(target=lock.acquire)
        thread.start()
        thread.join()
        lock.acquire()
    dist.all_reduce(torch.ones(8))


def blocked_file():
    if rank == CULPRIT:
        path = os.path.join(tempfile.mkdtemp(), "pipe")
        os.mkfifo(path)
        with open(path, "rb") as pipe:
            pipe.read()
    dist.all_reduce(torch.ones(8))


def endless_loop():
    if rank == CULPRIT:
        while True:
            sum(range(1000))
    dist.all_reduce(torch.ones(8))


class StuckData:
    def __len__(self):
        return 8

    def __getitem__(self, index):
        threading.Event().wait()


def stuck_loader():
    if rank == CULPRIT:
        next(iter(torch.utils.data.DataLoader(StuckData(), batch_size=2, num_workers=1)))
    dist.all_reduce(torch.ones(8))


def wrong_size():
    """Gloo aborts a rank that receives too much, and the connections of the others break."""
    dist.all_reduce(torch.ones(16 if rank == CULPRIT else 8))


def wrong_type():
    dist.all_reduce(torch.ones(8, dtype=torch.float64 if rank == CULPRIT else torch.float32))


def exception():
    """The connections of the others break."""
    if rank == CULPRIT:
        raise ValueError("of this rank alone")
    dist.all_reduce(torch.ones(8))


def aborts():
    """As a failed assertion in C++ does."""
    if rank == CULPRIT:
        ctypes.CDLL(None).abort()
    dist.all_reduce(torch.ones(8))


def others_give_up():
    """And a launcher ends the rank that they waited for."""
    group = dist.new_group(timeout=datetime.timedelta(seconds=2))
    if rank == CULPRIT:
        time.sleep(2.5)
        os.kill(os.getpid(), signal.SIGTERM)
    dist.all_reduce(torch.ones(8), group=group)


def evaluation():
    if rank == CULPRIT:
        model.eval()
        deadline = time.monotonic() + LONG_SECONDS
        with torch.no_grad():
            while time.monotonic() < deadline:
                model(torch.ones(64, 8))
        model.train()
    dist.barrier()


class SlowFile:
    def __init__(self):
        self.deadline = time.monotonic() + LONG_SECONDS

    def write(self, data):
        time.sleep(max(0, self.deadline - time.monotonic()))
        return len(data)

    def flush(self):
        pass


def checkpoint():
    if rank == CULPRIT:
        torch.save(model.state_dict(), SlowFile())
    dist.barrier()


def uneven_work():
    if rank == CULPRIT:
        deadline = time.monotonic() + LONG_SECONDS
        while time.monotonic() < deadline:
            torch.ones(64, 64) @ torch.ones(64, 64)
    dist.all_reduce(torch.ones(8))


class SlowData(StuckData):
    def __getitem__(self, index):
        deadline = time.monotonic() + LONG_SECONDS / 2
        while time.monotonic() < deadline:
            sum(range(1000))
        return torch.ones(1)


def slow_loader():
    if rank == CULPRIT:
        next(iter(torch.utils.data.DataLoader(SlowData(), batch_size=2, num_workers=1)))
    dist.all_reduce(torch.ones(8))


def paused():
    """All ranks, as when somebody holds the job with a debugger."""
    dist.barrier()
    time.sleep(LONG_SECONDS)


def compiling():
    def slow_backend(graph, inputs):
        time.sleep(LONG_SECONDS)
        return graph.forward

    if rank == CULPRIT:
        torch.compile(torch.nn.Linear(8, 8), backend=slow_backend)(torch.ones(4, 8))
    dist.all_reduce(torch.ones(8))


def slow_first_step():
    if rank == CULPRIT:
        time.sleep(LONG_SECONDS)
    dist.all_reduce(torch.ones(8))


slow_first_step.step = 0


def stopped_all():
    """As a debugger or a scheduler does."""
    processes = [None] * dist.get_world_size()
    dist.all_gather_object(processes, os.getpid())
    if rank == 0:
        script = "kill -STOP $@; sleep $0; kill -CONT $@"
        subprocess.Popen(["sh", "-c", script, str(LONG_SECONDS), *map(str, processes)])


HANGS = {
    barrier_in_one_branch: ("mismatch", "barrier_in_one_branch"),
    other_operation: ("mismatch", "other_operation"),
    skipped: ("mismatch", "train"),
    reordered: ("mismatch", "<lambda>"),
    reordered_groups: ("order", "<lambda>"),
    wrong_group: ("order", "wrong_group"),
    ends_early: ("mismatch", "ends_early"),
    exception_swallowed: ("mismatch", "exception_swallowed"),
    uneven_data: ("mismatch", "uneven_data"),
    unused_parameters: ("mismatch", "unused_parameters"),
    in_the_first_step: ("mismatch", "barrier_in_one_branch"),
    out_of_memory: ("out_of_memory", "out_of_memory"),
    waits_for_a_signal: ("not_entered", "waits_for_a_signal"),
    killed: ("died", None),
    interpreter_lock_held: ("sleeps", "interpreter_lock_held"),
    stopped: ("stopped", None),
    sleeping_hook: ("sleeps", "<lambda>"),
    lock_held: ("lock", "lock_held"),
    blocked_file: ("io", "blocked_file"),
    endless_loop: ("computes", "endless_loop"),
    stuck_loader: ("data", "stuck_loader"),
}
FAILURES = {
    wrong_size: ("mismatch", "wrong_size"),
    wrong_type: ("mismatch", "wrong_type"),
    exception: ("died", "exception"),
    aborts: ("died", "aborts"),
    others_give_up: ("not_entered", "others_give_up"),
}
HEALTHY = [evaluation, checkpoint, uneven_work, slow_loader, paused, compiling, slow_first_step, stopped_all]


def train(case):
    for step in range(16):
        if step == getattr(case, "step", int((*sys.argv, 10)[3])):
            case()
        optimizer.zero_grad()
        model(torch.ones(4, 8)).sum().backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()


def dump_twice_a_second(path):
    """As somebody does who has only torch's flight recorder."""
    while True:
        time.sleep(0.5)
        with open(path + ".partial", "wb") as file:
            file.write(torch._C._distributed_c10d._dump_fr_trace_json(True, False))
        os.replace(path + ".partial", path)


def launch(count):
    """Starts the ranks. This process needs no torch, so it is soon there."""
    with tempfile.TemporaryDirectory() as folder:
        ranks = [
            subprocess.Popen([sys.executable, *sys.argv], env={**os.environ, **environment_of(number, count, folder)})
            for number in range(count)
        ]
        sys.exit(max(abs(process.wait()) for process in ranks))


def fork(count):
    """The same, but torch is loaded once for all, which is most of what a run takes. Returns in the ranks."""
    import torch.distributed  # noqa: F401
    folder = tempfile.mkdtemp()
    ranks = []
    for number in range(count):
        ranks.append(os.fork())
        if ranks[-1] == 0:
            os.environ.update(environment_of(number, count, folder))
            return
    ends = [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in ranks]
    shutil.rmtree(folder)
    sys.exit(max(abs(end) for end in ends))


def environment_of(number, count, folder):
    return {"RANK": str(number), "WORLD_SIZE": str(count), "MEETING": f"file://{folder}/ranks", "OMP_NUM_THREADS": "1"}


if __name__ == "__main__":
    if "RANK" not in os.environ:
        (fork if "FORK" in os.environ else launch)(int(sys.argv[2]))
    import torch
    import torch.distributed as dist

    rank = int(os.environ["RANK"])
    torch.manual_seed(0)
    if "DUMPS" in os.environ:
        path = f"{os.environ['DUMPS']}/rank{rank}.json"
        threading.Thread(target=dump_twice_a_second, args=(path,), daemon=True).start()
    world_size = int(sys.argv[2])
    dist.init_process_group("gloo", init_method=os.environ["MEETING"], rank=rank, world_size=world_size)
    other_group = dist.new_group()
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(globals()[sys.argv[1]])
    dist.destroy_process_group()

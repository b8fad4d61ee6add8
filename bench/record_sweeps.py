"""Records full sweeps of small trainings: every configuration of the grid, several times. Each run is a process
with a real memory limit, and writes one JSON line. `bench/replay.py` searches the recorded runs offline. A recording
that was broken off goes on when it is run again.

The processes are forked from one that has imported torch, which saves each run the seconds of a real start. The
time of a real start is measured once for each workload and kept in the first line. Runs on a GPU share one process,
because each process would first load CUDA's libraries for some seconds.
"""

import argparse
import contextlib
import gc
import itertools
import json
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import platform
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from sweep_workloads import WORKLOADS
from torch import nn
from torch.utils.data import DataLoader

OUTPUT = pathlib.Path(__file__).with_name("sweeps")
WARM_UP_STEPS = 3
WARM_UP_SECONDS = 0.15
MEASURED_STEPS = 8
MEASURED_SECONDS = 0.5
BLOCKS = 4
STUDENT_T = 3.182  # 97.5 %, 3 degrees of freedom
OUT_OF_MEMORY = ("allocate memory", "could not create a primitive")  # the second is oneDNN's
FORK = multiprocessing.get_context("fork")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workloads", nargs="*", default=[name for name in WORKLOADS if WORKLOADS[name].device == "cpu"])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--pause", type=float, default=0.5, help="after each run, of its time: for others on this machine")
    parser.add_argument("--peaks", action="store_true", help="print memory by batch size, to choose a limit; record nothing")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    OUTPUT.mkdir(exist_ok=True)
    for name in arguments.workloads:
        if arguments.peaks:
            print_peaks(WORKLOADS[name])
        else:
            record(name, WORKLOADS[name], arguments)


def record(name, workload, arguments):
    grid = [dict(zip(workload.knobs, values)) for values in itertools.product(*workload.knobs.values())]
    runs = [(repeat, config) for repeat in range(arguments.repeats) for config in shuffled(grid, repeat)]
    partial = OUTPUT / f"{name}.jsonl.partial"
    done = max(0, len(partial.read_text().splitlines()) - 1) if partial.exists() else 0
    one = run_on_gpu if workload.device == "cuda" else run
    with partial.open("a", encoding="utf-8") as file:
        if not done:
            file.truncate(0)
            print(json.dumps(header(name, workload)), file=file, flush=True)
        for number, (repeat, config) in enumerate(runs[done:], done):
            begin = time.monotonic()
            result = one(workload, config, workload.memory_limit)
            print(json.dumps({"config": config, "repeat": repeat, **result}), file=file, flush=True)
            time.sleep(arguments.pause * (time.monotonic() - begin))
            if number % 20 == 0:
                print(f"{name}: {number + 1} of {len(runs)} {config} {result}", file=sys.stderr)
    partial.rename(OUTPUT / f"{name}.jsonl")


def shuffled(grid, seed):
    """Another order in each block, so that a machine that slowly gets slower favours no end of the grid."""
    return random.Random(seed).sample(grid, len(grid))


def header(name, workload):
    gpu = f"{torch.cuda.get_device_name()}, " if workload.device == "cuda" else ""
    processor = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    return {
        "schema": "redline.sweep/1",
        "workload": name,
        "ranks": workload.ranks,
        "knobs": workload.knobs,
        "defaults": workload.defaults,
        "memory_limit_bytes": workload.memory_limit,
        "start_up_s": start_up_seconds(workload.device),
        "machine": f"{gpu}{processor}, {os.cpu_count()} cores, Linux {platform.release()}, torch {torch.__version__}",
        "day": time.strftime("%Y-%m-%d"),
    }


def start_up_seconds(device):
    """How long a fresh interpreter takes to its first training step."""
    begin = time.monotonic()
    words = (
        f"import torch, sweep_workloads; torch.set_default_device('{device}'); "
        "torch.nn.Linear(4, 4)(torch.rand(4, 4)).sum().backward()"
    )
    subprocess.run([sys.executable, "-c", words], cwd=OUTPUT.parent, check=True, preexec_fn=undisturbed)
    return round(time.monotonic() - begin, 2)


def undisturbed():
    """Gives this process priority, because the time of other processes would be measured, too. Not all may."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(20))


def run(workload, config, limit):
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        queue = FORK.SimpleQueue()
        ranks = [
            FORK.Process(target=rank_main, args=(workload, config, limit, rank, folder, queue))
            for rank in range(workload.ranks)
        ]
        for rank in ranks:
            rank.start()
        results = []
        # A rank that runs out of memory may die without a message, and the others wait for it for ever.
        multiprocessing.connection.wait([rank.sentinel for rank in ranks], timeout=60)
        for rank in ranks:
            rank.join(1 if any(rank.exitcode for rank in ranks) else 10)
            rank.kill()
            rank.join()
        while not queue.empty():
            results.append(queue.get())
        return {**summary(results, workload.ranks), "wall_s": round(time.monotonic() - begin, 3)}


def run_on_gpu(workload, config, limit):
    begin = time.monotonic()
    if limit:
        torch.cuda.set_per_process_memory_fraction(limit / torch.cuda.get_device_properties(0).total_memory)
    try:
        torch.cuda.reset_peak_memory_stats()
        result = summary([{"outcome": "ok", **train(workload, config, 0, None)}], 1)
    except torch.OutOfMemoryError as error:
        result = {"outcome": "gpu_oom", "message": str(error).splitlines()[0][:200]}
    gc.collect()  # the step's graph, which the error's frames held
    torch.cuda.empty_cache()
    return {**result, "wall_s": round(time.monotonic() - begin, 3)}


def summary(results, ranks):
    failures = [result for result in results if result["outcome"] != "ok"]
    if failures or len(results) < ranks:
        return failures[0] if failures else {"outcome": "host_oom", "message": "killed"}
    slowest = min(results, key=lambda result: result["samples_per_s"])
    return {
        "outcome": "ok",
        "samples_per_s": round(ranks * slowest["samples_per_s"], 3),
        "half_width": round(ranks * slowest["half_width"], 3),
        "peak_memory_bytes": max(result["peak_memory_bytes"] for result in results),
    }


def rank_main(workload, config, limit, rank, folder, queue):
    undisturbed()
    if limit:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    try:
        queue.put({"outcome": "ok", **train(workload, config, rank, folder)})
    except (RuntimeError, MemoryError, OSError) as error:
        memory = isinstance(error, MemoryError) or any(words in str(error) for words in OUT_OF_MEMORY)
        queue.put({"outcome": "gpu_oom" if memory else "crash", "message": str(error).splitlines()[0][:200]})
        os._exit(1)
    os._exit(0)


def train(workload, config, rank, folder):
    torch.manual_seed(0)
    torch.set_num_threads(config.get("threads", 1))
    torch.backends.cudnn.benchmark = config.get("cudnn_benchmark") == "on"
    layout = torch.channels_last if config.get("channels_last") == "on" else torch.contiguous_format
    model = workload.model().to(workload.device, memory_format=layout)
    if workload.ranks > 1:
        store = torch.distributed.FileStore(f"{folder}/store", workload.ranks)
        torch.distributed.init_process_group("gloo", store=store, rank=rank, world_size=workload.ranks)
        model = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=config.get("bucket_cap_mb", 25))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    batches = iter(loader(workload, config))
    times = [time.perf_counter()]
    begun = None
    peak = 0
    on_gpu = workload.device == "cuda"
    look = gpu_bytes if on_gpu else data_bytes
    # All workers bring their first batches at the same time: a rate is that of whole rounds of them.
    workers = config.get("num_workers", 0) if on_gpu else 0
    measured_steps = max(MEASURED_STEPS, 2 * workers)
    while True:
        held = step(model, optimizer, batches, config, layout, look if begun is None or on_gpu else int)
        now = time.perf_counter()
        peak = max(peak, held)
        if begun is None:
            if len(times) >= max(WARM_UP_STEPS, workers) and now - times[0] > WARM_UP_SECONDS:
                begun, times = now, []
            times.append(now)
            continue
        times.append(now)
        # All ranks must leave after the same step: otherwise the last would wait for ever.
        if all_ranks_agree(len(times) > measured_steps and now - begun > MEASURED_SECONDS, workload.ranks):
            return {**rate(times, config), "peak_memory_bytes": peak}


def all_ranks_agree(mine, ranks):
    if ranks == 1:
        return mine
    vote = torch.tensor(int(mine))
    torch.distributed.all_reduce(vote, torch.distributed.ReduceOp.MIN)
    return bool(vote)


def loader(workload, config):
    workers = config.get("num_workers", 0)
    prefetch = {"prefetch_factor": config.get("prefetch_factor", 2)} if workers else {}
    pinned = workload.device == "cuda"
    return DataLoader(
        workload.data, config["batch_size"], shuffle=False, num_workers=workers, pin_memory=pinned, **prefetch
    )


def step(model, optimizer, batches, config, layout, look):
    """Runs a step. Gives what `look` saw between forward and backward, when all activations and inputs exist."""
    accumulation = config.get("accumulation", 1)
    device = next(model.parameters()).device
    for micro in range(accumulation):
        inputs, labels = (tensor.to(device, non_blocking=True) for tensor in next(batches))
        if inputs.dim() == 4:
            inputs = inputs.contiguous(memory_format=layout)
        wait = micro + 1 < accumulation and hasattr(model, "no_sync")
        with model.no_sync() if wait else torch.enable_grad():
            with torch.autocast(device.type, torch.bfloat16, enabled=config.get("amp") == "bf16"):
                loss = nn.functional.cross_entropy(model(inputs), labels)
            seen = look()
            loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return seen


def rate(times, config):
    samples = config["batch_size"] * config.get("accumulation", 1)
    steps = len(times) - 1
    edges = [steps * block // BLOCKS for block in range(BLOCKS + 1)]
    rates = [samples * (b - a) / (times[b] - times[a]) for a, b in itertools.pairwise(edges)]
    return {
        "samples_per_s": samples * steps / (times[-1] - times[0]),
        "half_width": STUDENT_T * statistics.stdev(rates) / BLOCKS**0.5,
    }


def gpu_bytes():
    """The most memory that PyTorch took from the GPU so far."""
    return torch.cuda.max_memory_reserved()


def data_bytes():
    """The memory of this process as RLIMIT_DATA counts it."""
    status = open("/proc/self/status").read()
    return int(status.partition("VmData:")[2].split()[0]) << 10


def print_peaks(workload):
    for batch in workload.knobs["batch_size"]:
        for amp in workload.knobs.get("amp", ("off",)):
            print(batch, amp, run(workload, {**workload.defaults, "batch_size": batch, "amp": amp}, 0), flush=True)


if __name__ == "__main__":
    main()

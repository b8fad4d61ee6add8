"""Measures what a profiler costs a training: in the loop, to stop, to export, and in the loop after its end. Prints
JSON."""

import argparse
import gzip
import json
import os
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from models import Training  # noqa: E402


def loop(training, steps):
    """Runs some steps and returns the milliseconds of each."""
    training.wait()
    begin = time.perf_counter()
    for _ in range(steps):
        training.step()
    training.wait()
    return (time.perf_counter() - begin) * 1e3 / steps


def profiler(name):
    """Makes a profiler. Both record the same kinds of events: Redline without its samples of the machine,
    torch.profiler with waits, which Redline always records."""
    if name == "redline":
        import redline

        return redline.profile(host_samples_hz=0)
    import torch
    from torch._C._profiler import _ExperimentalConfig

    return torch.profiler.profile(experimental_config=_ExperimentalConfig(enable_cuda_sync_events=True))


def measure(training, name, steps, rounds, path):
    loop(training, max(3, steps // 2))  # compiles, tunes, fills caches
    rows = {"before_ms": [], "loop_ms": [], "stop_ms": [], "export_ms": [], "after_ms": []}
    never_profiled = statistics.median(loop(training, steps) for _ in range(7))  # CUPTI is not loaded yet
    for index in range(rounds + 1):
        before = loop(training, steps)
        window = profiler(name)
        window.start()
        inside = loop(training, steps)
        began = time.perf_counter()
        window.stop()
        stopped = time.perf_counter()
        window.export_chrome_trace(path)
        exported = time.perf_counter()
        after = loop(training, steps)
        if index == 0:
            continue  # the first window also loads libraries
        values = (before, inside, (stopped - began) * 1e3, (exported - stopped) * 1e3, after)
        for row, value in zip(rows.values(), values):
            row.append(value)
    medians = {key: statistics.median(row) for key, row in rows.items()}
    medians["slow_down"] = medians["loop_ms"] / medians["before_ms"]
    medians["never_profiled_ms"] = never_profiled
    medians["slow_down_after"] = medians["after_ms"] / never_profiled
    medians["trace_bytes"] = os.path.getsize(path)
    with gzip.open(path, "rb") as file:
        medians["kernels"] = file.read().count(b'"cat": "kernel"')  # both profilers write it so
    return medians


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=("resnet50", "gpt"), required=True)
    parser.add_argument("--dtype", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--mode", choices=("eager", "compiled", "graphs"), default="eager")
    parser.add_argument("--profiler", choices=("redline", "torch"), default="redline")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="sizes for a CPU")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    training = Training(options.model, options.device, options.dtype, options.mode, options.small)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json.gz")
        figures = measure(training, options.profiler, options.steps, options.rounds, path)
    print(json.dumps({**vars(options), **figures}))


if __name__ == "__main__":
    main()

"""A small training with loader workers, for soak.py: see its options.

With --windows it records a window of two steps again and again, each with a trace, until its input ends. Without it,
it trains its steps, or until its input ends.
"""

import argparse
import pathlib
import select
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EPOCH = 24  # batches, so that workers start and end all the time


def batches(steps, workers):
    """The batches of so many steps; without a number, of all steps until the input ends."""
    data = TensorDataset(torch.rand(EPOCH * 8, 3, 16, 16), torch.arange(EPOCH * 8) % 10)
    done = 0
    while steps is None or done < steps:
        for batch in DataLoader(data, 8, num_workers=workers):
            if done == steps or (steps is None and select.select([sys.stdin], [], [], 0)[0]):
                return
            yield batch
            done += 1


def recorded(arguments):
    """What is told of each step: a profiler that records window after window."""
    import redline

    def keep(profile):
        name = f"{time.monotonic_ns()}.pt.trace.json.gz"
        profile.export_chrome_trace(str(arguments.windows / ("." + name)))
        (arguments.windows / ("." + name)).rename(arguments.windows / name)
        time.sleep(arguments.pause)

    return redline.profile(schedule=redline.schedule(wait=3, warmup=1, active=2), on_trace_ready=keep)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--gap", type=float, default=0.005, help="seconds of sleep after each step")
    parser.add_argument("--windows", type=pathlib.Path)
    parser.add_argument("--pause", type=float, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 14 * 14, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    profile = recorded(arguments) if arguments.windows else None
    if profile:
        profile.start()
    print("ready", flush=True)
    for inputs, labels in batches(arguments.steps, arguments.workers):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
        if profile:
            profile.step()
        if arguments.gap:
            time.sleep(arguments.gap)
    if profile:
        profile.stop()


if __name__ == "__main__":
    main()

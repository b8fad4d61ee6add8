"""The small training that gate.py compares with itself, with a change planted or without one.

gate.py measures a step and the operator first (--measure). Then it tells how many samples a batch has, and how large
the planted change has to be.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time

import torch
import torch.distributed
from torch import nn
from torch.utils.data import DataLoader, Dataset

CHANGES = ("none", "operator", "loader", "synchronisation")


class Digits(Dataset):
    """Every first sample of a batch takes `delay_s` longer."""

    def __init__(self, count, batch, delay_s):
        self.count, self.batch, self.delay_s = count, batch, delay_s

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if self.delay_s and index % self.batch == 0:
            time.sleep(self.delay_s)
        return torch.full((256,), index % 10 / 10), index % 10


class Model(nn.Module):
    """The cumulative sums are the operator that is doubled; nothing else calls it."""

    def __init__(self, sums):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU())
        self.head = nn.Linear(1024, 10)
        self.sums = sums

    def forward(self, inputs):
        hidden = self.layers(inputs)
        sums_of(hidden, self.sums)
        return self.head(hidden)


def sums_of(hidden, count):
    """Over a quarter of the batch, so that a whole number of them is about 5 % of a step."""
    with torch.no_grad():
        quarter = hidden[:max(1, len(hidden) // 4)]
        for _ in range(count):
            quarter.cumsum(1)


class Descent(torch.optim.Optimizer):
    """Descends as torch.optim.SGD does. That one imports torch's compiler, which takes a second of each run."""

    add_param_group = torch.optim.Optimizer.add_param_group.__wrapped__
    zero_grad = torch.optim.Optimizer.zero_grad.__wrapped__

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.sub_(parameter.grad, alpha=0.01)


class LatePeer:
    """Another rank that comes to each collective `delay_s` later than this one. All runs have it, because runs of
    different ranks are not compared."""

    def __init__(self, delay_s):
        store = tempfile.mktemp(prefix="gate-store-")
        reading, self.writing = os.pipe()
        if os.fork() == 0:
            os.close(self.writing)
            self.join(store, 1)
            while os.read(reading, 1):
                time.sleep(delay_s)
                torch.distributed.all_reduce(self.token)
            os._exit(0)
        os.close(reading)
        self.join(store, 0)

    def join(self, store, rank):
        torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
        self.token = torch.zeros(1)

    def wait(self):
        os.write(self.writing, b"x")
        torch.distributed.all_reduce(self.token, async_op=True).wait()


def sum_ms(batch):
    hidden = torch.rand(batch, 1024)
    times = []
    for _ in range(3000):  # so long that those of several processes run at once
        begin = time.perf_counter()
        sums_of(hidden, 1)
        times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1e3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--change", choices=CHANGES, default="none")
    parser.add_argument("--planted-ms", type=float, default=1.0)
    parser.add_argument("--sums", type=int, default=1)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--measure", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    planted_s = arguments.planted_ms / 1e3
    peer = LatePeer(planted_s)
    delay_s = planted_s if arguments.change == "loader" else 0
    data = DataLoader(Digits(arguments.batch * arguments.steps, arguments.batch, delay_s), arguments.batch)
    model = Model(arguments.sums * (2 if arguments.change == "operator" else 1))
    optimizer = Descent(model.parameters(), {})
    times, begin = [], time.perf_counter()
    for inputs, labels in data:
        nn.functional.cross_entropy(model(inputs), labels).backward()
        if arguments.change == "synchronisation":
            peer.wait()
        optimizer.step()
        optimizer.zero_grad()
        end = time.perf_counter()
        times.append(end - begin)
        begin = end
    if arguments.measure:
        json.dump({"step_ms": statistics.median(times) * 1e3, "sum_ms": sum_ms(arguments.batch)}, sys.stdout)


if __name__ == "__main__":
    main()

"""Gradient accumulation: one optimizer step for several batches, and one exchange of gradients, too.

    torchrun --nproc_per_node 2 accumulate.py --accumulation 4               no_sync: one all-reduce a step
    torchrun --nproc_per_node 2 accumulate.py --accumulation 4 --sync-all    all-reduce after each batch
    python accumulate.py --accumulation 4                                    one process: saves memory alone

Redline accumulates without a change: autotune --global-batch 256 -- torchrun --nproc_per_node 2 train.py
"""

import argparse
import contextlib
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as functional
from torch import nn

WARM_UP = 2
distributed = "RANK" in os.environ  # torchrun sets it
device = torch.device("cpu")
if torch.cuda.is_available():
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
    torch.cuda.set_device(device)


def step(model, optimizer, batches, sync_all):
    """One optimizer step; the same gradients as one batch of all samples."""
    optimizer.zero_grad()
    for place, (inputs, labels) in enumerate(batches, start=1):
        keep_local = distributed and place < len(batches) and not sync_all
        # Forward belongs inside, too: there DDP decides whether the next backward exchanges gradients.
        with model.no_sync() if keep_local else contextlib.nullcontext():
            # Each loss is a mean over its batch, so the sum of all needs this division.
            loss = functional.cross_entropy(model(inputs), labels) / len(batches)
            loss.backward()
    optimizer.step()
    return loss * len(batches)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accumulation", type=int, default=4, help="batches in one optimizer step (4)")
    parser.add_argument("--sync-all", action="store_true", help="exchange gradients after each batch")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--steps", type=int, default=20, help="optimizer steps")
    arguments = parser.parse_args()

    if distributed:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    rank = dist.get_rank() if distributed else 0
    ranks = dist.get_world_size() if distributed else 1
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(256, 2048), nn.ReLU(), nn.Linear(2048, 512), nn.ReLU(), nn.Linear(512, 10))
    model = model.to(device)
    teacher = torch.randn(256, 10, device=device)
    if distributed:
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(1 + rank)  # each rank has its own samples

    for done in range(WARM_UP + arguments.steps):
        inputs = torch.randn(arguments.accumulation, arguments.batch_size, 256, device=device)
        batches = [(x, (x @ teacher).argmax(1)) for x in inputs]
        loss = step(model, optimizer, batches, arguments.sync_all)
        if done == WARM_UP - 1:
            loss.item()  # waits for the GPU
            started = time.perf_counter()
    final = loss.item()
    samples = arguments.steps * arguments.accumulation * arguments.batch_size * ranks
    if rank == 0:
        print(f"loss {final:.4f} samples/s {samples / (time.perf_counter() - started):.1f}")
    if distributed:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()

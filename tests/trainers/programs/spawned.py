"""Starts DDP as the tutorials do: by mp.spawn within the script, without a launcher."""

import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from outcome import Outcome, all_knobs

parser = argparse.ArgumentParser()
parser.add_argument("--batch_size", type=int, default=16)
parser.add_argument("--steps", type=int, default=12)
parser.add_argument("--world", type=int, default=2)


def train(rank, arguments, store):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=arguments.world)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 1)))
    data = TensorDataset(torch.randn(4096, 64), torch.randn(4096, 1))
    loader = DataLoader(data, batch_size=arguments.batch_size, sampler=DistributedSampler(data))
    optimizer = torch.optim.AdamW(model.parameters())
    outcome = Outcome()
    while len(outcome.losses) < arguments.steps:
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs), targets)
            loss.backward()
            optimizer.step()
            outcome.step(loss, len(inputs) * arguments.world)
            if len(outcome.losses) == arguments.steps:
                break
    outcome.print(rank=rank, world=dist.get_world_size(), knobs=all_knobs(loader, model))
    dist.destroy_process_group()


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        arguments = parser.parse_args()
        mp.spawn(train, args=(arguments, os.path.join(folder, "store")), nprocs=arguments.world)

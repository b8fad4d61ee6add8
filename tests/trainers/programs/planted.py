"""A plain loop with a planted cause of slowness: --cause slow_loader, tiny_operators, uneven_ranks, none."""

import argparse
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset

from outcome import Outcome, loader_knobs

parser = argparse.ArgumentParser()
parser.add_argument("--cause", default="none")
parser.add_argument("--batch_size", type=int, default=16)
parser.add_argument("--steps", type=int, default=12)
arguments = parser.parse_args()
torch.manual_seed(0)
torch.set_num_threads(1)
rank = int(os.environ.get("RANK", 0))


class Images(Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, index):
        if arguments.cause == "slow_loader":
            time.sleep(0.002)
        return torch.full((256,), index / 4096)


model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256))
if "RANK" in os.environ:
    dist.init_process_group("gloo")
    model = nn.parallel.DistributedDataParallel(model)
loader = DataLoader(Images(), batch_size=arguments.batch_size, shuffle=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, fused=True)
outcome = Outcome()
while len(outcome.losses) < arguments.steps:
    for batch in loader:
        if arguments.cause == "tiny_operators":
            for _ in range(2000):
                batch = batch + 0.0
        if arguments.cause == "uneven_ranks" and rank == 1:
            for _ in range(20):
                torch.mm(torch.ones(512, 512), torch.ones(512, 512))
        loss = (model(batch) - batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        outcome.step(loss, len(batch) * int(os.environ.get("WORLD_SIZE", 1)))
        if len(outcome.losses) == arguments.steps:
            break
outcome.print(knobs=loader_knobs(loader))
if "RANK" in os.environ:
    dist.destroy_process_group()

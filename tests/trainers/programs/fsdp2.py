"""Trains with FSDP2 (fully_shard), under torchrun with gloo on the CPU."""

import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from outcome import Outcome, leave_together, loader_knobs

parser = argparse.ArgumentParser()
parser.add_argument("--batch_size", type=int, default=8)
parser.add_argument("--steps", type=int, default=12)
arguments = parser.parse_args()
torch.set_num_threads(1)
dist.init_process_group("gloo")
torch.manual_seed(0)
mesh = init_device_mesh("cpu", (dist.get_world_size(),))
model = nn.Sequential(*(nn.Sequential(nn.Linear(128, 128), nn.ReLU()) for _ in range(4)), nn.Linear(128, 1))
for layer in model:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
data = TensorDataset(torch.randn(2048, 128), torch.randn(2048, 1))
loader = DataLoader(data, batch_size=arguments.batch_size, sampler=DistributedSampler(data))
optimizer = torch.optim.AdamW(model.parameters())
outcome = Outcome()
while len(outcome.losses) < arguments.steps:
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        outcome.step(loss, len(inputs) * dist.get_world_size())
        if len(outcome.losses) == arguments.steps:
            break
outcome.print(knobs=loader_knobs(loader))
leave_together()

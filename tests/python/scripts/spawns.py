"""A script that starts its two ranks itself, as torch's DDP tutorial does."""

import os

import torch
import torch.distributed
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def train(rank, size):
    torch.distributed.init_process_group("gloo", rank=rank, world_size=size)
    data = TensorDataset(torch.randn(4096, 8))
    loader = DataLoader(data, 16, sampler=DistributedSampler(data))
    model = nn.parallel.DistributedDataParallel(nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    while True:
        for (inputs,) in loader:
            optimizer.zero_grad()
            model(inputs).square().mean().backward()
            optimizer.step()


if __name__ == "__main__":
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29511")
    torch.multiprocessing.spawn(train, args=(2,), nprocs=2)

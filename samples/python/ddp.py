"""DistributedDataParallel: each rank has a copy of the model and its own samples, and they average gradients.

    torchrun --nproc_per_node 2 ddp.py              one rank for each GPU; on CPUs two processes with Gloo
    torchrun --nnodes 2 --node_rank 0 --master_addr HOST --nproc_per_node 8 ddp.py       on each node
    srun --ntasks-per-node 8 …                      see ../slurm

Each rank learns its place from the environment: RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT.
"""

import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as functional
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def start():
    """Joins the other ranks; returns this rank's device."""
    # srun sets other names than torchrun.
    os.environ.setdefault("RANK", os.environ.get("SLURM_PROCID", "0"))
    os.environ.setdefault("WORLD_SIZE", os.environ.get("SLURM_NTASKS", "1"))
    os.environ.setdefault("LOCAL_RANK", os.environ.get("SLURM_LOCALID", "0"))
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29500")
    if not torch.cuda.is_available():
        dist.init_process_group("gloo")
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    return device


def train(model, loader, sampler, device, arguments):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    steps = samples = 0
    started = time.perf_counter()
    for epoch in range(arguments.epochs):
        sampler.set_epoch(epoch)  # without it each epoch has the same order
        for inputs, labels in loader:
            inputs, labels = inputs.to(device), labels.to(device)
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(inputs), labels)
            loss.backward()  # exchanges gradients while it runs
            optimizer.step()
            steps += 1
            samples += len(labels) * dist.get_world_size()
            if steps == arguments.steps:
                break
        if steps == arguments.steps:
            break
    return loss.item(), samples / (time.perf_counter() - started)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch-size", type=int, default=64, help="samples of each rank in a step")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--steps", type=int, help="stop after so many steps")
    arguments = parser.parse_args()

    device = start()
    torch.manual_seed(0)
    inputs = torch.randn(8192, 256)
    data = TensorDataset(inputs, (inputs @ torch.randn(256, 10)).argmax(1))
    sampler = DistributedSampler(data)  # gives each rank its part of the samples, and shuffles
    loader = DataLoader(data, arguments.batch_size, sampler=sampler)
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10)).to(device)
    model = nn.parallel.DistributedDataParallel(model)  # takes the weights of rank 0
    loss, rate = train(model, loader, sampler, device, arguments)
    if dist.get_rank() == 0:
        print(f"loss {loss:.4f} samples/s {rate:.1f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

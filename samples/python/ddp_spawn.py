"""DistributedDataParallel without a launcher: the script starts its ranks itself, with mp.spawn.

    python ddp_spawn.py                  one rank for each GPU, or two on the CPU
    python ddp_spawn.py --ranks 4

For one machine. torchrun (ddp.py) also takes several machines, and starts ranks again that failed.
"""

import argparse
import os
import socket
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as functional
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def train(rank, arguments, port):
    """What each process runs; mp.spawn gives it its number first."""
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", rank)
        torch.cuda.set_device(device)
    else:
        torch.set_num_threads(max(1, os.cpu_count() // arguments.ranks))
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo", rank=rank, world_size=arguments.ranks)

    torch.manual_seed(0)
    inputs = torch.randn(8192, 256)
    data = TensorDataset(inputs, (inputs @ torch.randn(256, 10)).argmax(1))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, arguments.batch_size, sampler=sampler)
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10)).to(device)
    model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    steps = epoch = 0
    started = time.perf_counter()
    while steps < arguments.steps:
        sampler.set_epoch(epoch)
        epoch += 1
        for x, y in loader:
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
            steps += 1
            if steps == arguments.steps:
                break
    final = loss.item()
    rate = steps * arguments.batch_size * arguments.ranks / (time.perf_counter() - started)
    if rank == 0:
        print(f"loss {final:.4f} samples/s {rate:.1f}")
    dist.destroy_process_group()


# Spawned processes import this file. Without this guard each of them would start more ranks.
if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=torch.cuda.device_count() or 2)
    parser.add_argument("--batch-size", type=int, default=64, help="samples of each rank in a step")
    parser.add_argument("--steps", type=int, default=200)
    arguments = parser.parse_args()
    mp.spawn(train, args=(arguments, free_port()), nprocs=arguments.ranks)

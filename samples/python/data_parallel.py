"""nn.DataParallel: one process, several GPUs. One line to write, and slower than DistributedDataParallel.

    python data_parallel.py

In each step it copies the whole model to every GPU, cuts the batch on the first one, starts a Python thread
for each (they share one interpreter lock), and collects outputs and gradients on the first GPU again.
DistributedDataParallel (ddp.py) copies the model once and exchanges gradients during backward.
"""

import argparse
import time

import torch
import torch.nn.functional as functional
from torch import nn

WARM_UP = 3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch-size", type=int, default=256, help="of all GPUs together")
    parser.add_argument("--steps", type=int, default=100)
    arguments = parser.parse_args()

    gpus = torch.cuda.device_count()
    device = torch.device("cuda" if gpus else "cpu")
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10)).to(device)
    teacher = torch.randn(256, 10, device=device)
    if gpus < 2:
        print(f"{gpus} GPUs: DataParallel calls the model as it is, and nothing runs in parallel")
    model = nn.DataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for step in range(WARM_UP + arguments.steps):
        inputs = torch.randn(arguments.batch_size, 256, device=device)
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(inputs), (inputs @ teacher).argmax(1))
        loss.backward()
        optimizer.step()
        if step == WARM_UP - 1:
            loss.item()  # waits for the GPUs
            started = time.perf_counter()
    final = loss.item()
    rate = arguments.steps * arguments.batch_size / (time.perf_counter() - started)
    print(f"loss {final:.4f} samples/s {rate:.1f}")


if __name__ == "__main__":
    main()

"""A recurrent network whose activations are large blocks of memory, which each step frees.

    python freed_memory.py
    MALLOC_TRIM_THRESHOLD_=2147483647 MALLOC_MMAP_THRESHOLD_=1073741824 python freed_memory.py

On a CPU the C library gives such blocks back to the kernel and takes them again in the next step. With the two
variables the process keeps them.
Redline tries the same without a change: autotune --knob malloc=default,keep
"""

import argparse
import time

import torch
import torch.nn.functional as functional
from torch import nn

WARM_UP = 3
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.LSTM(64, 256, num_layers=2, batch_first=True)
        self.head = nn.Linear(256, 10)

    def forward(self, series):
        return self.head(self.layers(series)[0][:, -1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--length", type=int, default=64, help="of a series")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--steps", type=int, default=40)
    arguments = parser.parse_args()

    torch.manual_seed(0)
    model = Classifier().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    for step in range(WARM_UP + arguments.steps):
        series = torch.rand(arguments.batch_size, arguments.length, 64, device=device)
        classes = (10 * series.mean((1, 2))).long()
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(series), classes)
        loss.backward()
        optimizer.step()
        if step == WARM_UP - 1:
            loss.item()  # waits for the GPU
            started = time.perf_counter()
    final = loss.item()
    rate = arguments.steps * arguments.batch_size / (time.perf_counter() - started)
    print(f"loss {final:.4f} samples/s {rate:.1f}")


if __name__ == "__main__":
    main()

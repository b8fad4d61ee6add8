"""Training from a stream that nobody can shuffle: an IterableDataset, regression, SGD without a schedule."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset


class Stream(IterableDataset):
    def __iter__(self):
        generator = torch.Generator().manual_seed(2)
        while True:
            inputs = torch.randn(4, generator=generator)
            yield inputs, inputs.sum().reshape(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=8)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    batches = iter(DataLoader(Stream(), arguments.batch_size))
    for _ in range(arguments.steps):
        inputs, targets = next(batches)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
    with torch.no_grad():
        print(f"loss {float((model.weight - 1).square().mean()):.6f} rate {optimizer.param_groups[0]['lr']}")


if __name__ == "__main__":
    main()

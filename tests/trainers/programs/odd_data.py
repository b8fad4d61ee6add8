"""Trains on data of the kinds that tutorials and repositories have: --kind iterable, batch_sampler, dict, nested.

With --kind stateful, torchdata's StatefulDataLoader reads them in order, as torchtitan does."""

import argparse

import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler

from outcome import Outcome, loader_knobs

parser = argparse.ArgumentParser()
parser.add_argument("--kind", choices=("iterable", "batch_sampler", "dict", "nested", "stateful"), required=True)
parser.add_argument("--batch_size", type=int, default=16)
parser.add_argument("--steps", type=int, default=12)
arguments = parser.parse_args()
torch.manual_seed(0)


def sample(index):
    x = torch.full((32,), index / 1000).sin()
    if arguments.kind == "dict":
        return {"mask": torch.ones(7), "x": x, "y": x.sum()}
    if arguments.kind == "nested":
        return {"id": str(index), "inputs": {"images": [x, x.cos()]}, "labels": (x.sum(), index)}
    return x, x.sum()


class Stream(IterableDataset):
    def __iter__(self):
        return (sample(index) for index in range(2048))


class Items(Dataset):
    def __len__(self):
        return 2048

    def __getitem__(self, index):
        return sample(index)


def make_loader():
    if arguments.kind == "iterable":
        return DataLoader(Stream(), batch_size=arguments.batch_size)
    data = Items()
    if arguments.kind == "batch_sampler":
        batches = BatchSampler(RandomSampler(data), arguments.batch_size, drop_last=True)
        return DataLoader(data, batch_sampler=batches)
    if arguments.kind == "stateful":
        from torchdata.stateful_dataloader import StatefulDataLoader

        return StatefulDataLoader(data, batch_size=arguments.batch_size, drop_last=True)
    return DataLoader(data, batch_size=arguments.batch_size, shuffle=True, drop_last=True)


def inputs_of(batch):
    if arguments.kind == "dict":
        return batch["x"], batch["y"]
    if arguments.kind == "nested":
        return batch["inputs"]["images"][0], batch["labels"][0]
    return batch


loader = make_loader()
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
outcome = Outcome()
while len(outcome.losses) < arguments.steps:
    for batch in loader:
        x, y = inputs_of(batch)
        loss = nn.functional.mse_loss(model(x)[:, 0], y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        outcome.step(loss, len(x))
        if len(outcome.losses) == arguments.steps:
            break
outcome.print(knobs=loader_knobs(loader))

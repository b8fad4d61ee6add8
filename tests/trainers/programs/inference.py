"""Runs a model in eval mode over a loader, without steps. With --optimizer it makes an optimizer all the same, like
scripts that have a switch to only evaluate."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader

from outcome import Outcome, loader_knobs

parser = argparse.ArgumentParser()
parser.add_argument("--batch_size", type=int, default=16)
parser.add_argument("--steps", type=int, default=24)
parser.add_argument("--optimizer", action="store_true")
arguments = parser.parse_args()
torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.Flatten(), nn.LazyLinear(10))
model(torch.zeros(1, 3, 24, 24))
if arguments.optimizer:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model.eval()
loader = DataLoader(torch.randn(1024, 3, 24, 24), batch_size=arguments.batch_size)
outcome = Outcome()
with torch.inference_mode():
    while len(outcome.losses) < arguments.steps:
        for images in loader:
            outcome.step(model(images).sum(), len(images))
            if len(outcome.losses) == arguments.steps:
                break
outcome.print(knobs=loader_knobs(loader))

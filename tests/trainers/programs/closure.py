"""Gives an optimizer a closure: LBFGS as in torch.optim's documentation, or AdamW as Lightning does."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from outcome import Outcome

parser = argparse.ArgumentParser()
parser.add_argument("--optimizer", default="LBFGS")
parser.add_argument("--batch_size", type=int, default=32)
parser.add_argument("--steps", type=int, default=12)
arguments = parser.parse_args()
torch.manual_seed(0)
data = TensorDataset(torch.randn(4096, 32), torch.randn(4096, 1))
loader = DataLoader(data, batch_size=arguments.batch_size, shuffle=True)
model = nn.Sequential(nn.Linear(32, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 1))
optimizer = getattr(torch.optim, arguments.optimizer)(model.parameters(), lr=0.01)
outcome = Outcome()
while len(outcome.losses) < arguments.steps:
    for inputs, targets in loader:

        def closure():
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs), targets)
            loss.backward()
            return loss

        outcome.step(optimizer.step(closure), len(inputs))
        if len(outcome.losses) == arguments.steps:
            break
outcome.print()

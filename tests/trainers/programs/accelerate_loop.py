"""accelerate's basic loop, with its own gradient accumulation."""

import argparse

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from outcome import Outcome, all_knobs, leave_together

parser = argparse.ArgumentParser()
parser.add_argument("--batch_size", type=int, default=16)
parser.add_argument("--gradient_accumulation_steps", type=int, default=1)
parser.add_argument("--steps", type=int, default=12)
arguments = parser.parse_args()
torch.set_num_threads(1)
torch.manual_seed(0)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=arguments.gradient_accumulation_steps)
model = nn.Sequential(nn.Unflatten(1, (4, 4, 4)), nn.Conv2d(4, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 1))
optimizer = torch.optim.AdamW(model.parameters())
loader = DataLoader(TensorDataset(torch.randn(4096, 64), torch.randn(4096, 1)), batch_size=arguments.batch_size,
                    shuffle=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
outcome = Outcome()
samples = 0
while len(outcome.losses) < arguments.steps:
    for inputs, targets in loader:
        with accelerator.accumulate(model):
            loss = nn.functional.mse_loss(model(inputs), targets)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        samples += len(inputs) * accelerator.num_processes
        if accelerator.sync_gradients:
            outcome.step(loss, samples)
            samples = 0
        if len(outcome.losses) == arguments.steps:
            break
outcome.print(knobs=all_knobs(loader, model), world=accelerator.num_processes)
if accelerator.num_processes > 1:
    leave_together()

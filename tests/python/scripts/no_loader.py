"""Draws its own batches, as small language-model trainings do: no DataLoader anywhere."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(16, 16)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(6):
    for _ in range(2):  # gradient accumulation
        loss = model(torch.randn(7, 16)).square().mean() / 2
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("done")

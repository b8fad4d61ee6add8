"""Draws its own batches without a DataLoader, as small trainings of language models do."""

import sys

import torch
from torch import nn

torch.manual_seed(0)
batch = int(sys.argv[-1]) if sys.argv[-1].isdigit() else 12
if "--sequences" in sys.argv:  # time x batch, as in word_language_model
    model, draw = nn.Sequential(nn.Embedding(50, 16), nn.Linear(16, 16)), lambda: torch.randint(50, (35, batch))
else:
    model, draw = nn.Linear(16, 16), lambda: torch.randn(7, 16)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(10**9 if "--endless" in sys.argv else 6):
    for _ in range(2):  # gradient accumulation
        loss = model(draw()).square().mean() / 2
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("done with", batch)

"""Inference over a loader, as evaluation scripts write it: no optimizer anywhere."""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

how = sys.argv[1]
torch.manual_seed(0)
data = TensorDataset(torch.randn(100, 3, 8, 8))
model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4 * 36, 2)).eval()
guard = {"no_grad": torch.no_grad, "inference_mode": torch.inference_mode, "eval": torch.enable_grad}
sizes, correct = [], 0
if how == "then_trains":
    with torch.no_grad():
        for (images,) in DataLoader(data, batch_size=10):
            model(images)
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for (images,) in DataLoader(data, batch_size=20):
        model(images).square().mean().backward()
        optimizer.step()
        sizes.append(len(images))
else:
    with guard[how]():
        for (images,) in DataLoader(data, batch_size=10):
            correct += int(model(images).argmax(dim=1).sum())
            sizes.append(len(images))
print(f"batches {len(sizes)} largest {max(sizes)} threads {torch.get_num_threads()}")

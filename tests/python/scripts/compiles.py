"""Trains a bare nn.Sequential, or with "infers" only runs it. Prints how torch.compile was called and how many graphs
it made. The graphs run without being compiled to machine code, which would take a minute."""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

modes = []
torch_compile = torch.compile


def compile(model, mode=None):
    modes.append(mode)
    return torch_compile(model, backend="eager")


torch.compile = compile
data = TensorDataset(torch.randn(80, 8))
model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
if "infers" in sys.argv:
    model.eval()
    with torch.inference_mode():
        for (inputs,) in DataLoader(data, 16):
            model(inputs)
else:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for (inputs,) in DataLoader(data, 16, shuffle=True):
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()
graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
print(f"mode {' '.join(modes)} graphs {graphs}")

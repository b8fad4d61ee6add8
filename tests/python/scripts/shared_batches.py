"""A training whose batches two ranks share as with accelerate: by a second DataLoader around the batches of the
first."""

import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, TensorDataset


class Shard(BatchSampler):
    """Takes every second batch. Like accelerate's class, it has a batch size but no sampler."""

    def __init__(self, batch_sampler):
        self.batch_sampler = batch_sampler
        self.batch_size = batch_sampler.batch_size

    def __iter__(self):
        for place, batch in enumerate(self.batch_sampler):
            if place % 2 == 0:
                yield batch

    def __len__(self):
        return (len(self.batch_sampler) + 1) // 2


torch.manual_seed(0)
inputs = torch.randn(64, 8)
data = TensorDataset(inputs, inputs.sum(dim=1, keepdim=True))
whole = DataLoader(data, 8, shuffle=True)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for values, targets in DataLoader(data, batch_sampler=Shard(whole.batch_sampler)):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(values), targets).backward()
    optimizer.step()

"""An example of torch.profiler's documentation: a table of what ran."""

import torch
from torch.profiler import ProfilerActivity, profile

model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU())

with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
    model(torch.randn(2, 3, 8, 8)).sum().backward()
print(p.key_averages().table(sort_by="self_cuda_time_total", row_limit=-1))

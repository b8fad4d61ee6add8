"""DistributedDataParallel on gloo: STEPS batches of BATCH samples a rank; counts how often gradients are reduced."""

import sys

import torch
import torch.distributed
from together import leave_together
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

steps, batch = int(sys.argv[1]), int(sys.argv[2])
torch.distributed.init_process_group("gloo")
torch.manual_seed(0)
inputs = torch.randn(2048, 8)
data = TensorDataset(inputs, inputs.sum(dim=1, keepdim=True))
# Each rank takes the same samples in the same order, however large its batches are.
loader = DataLoader(data, batch, sampler=DistributedSampler(data, shuffle=True))
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1)))
reductions = 0


def reduce(state, bucket):
    global reductions
    reductions += bucket.is_last()
    # The reduction is awaited here, because a Gloo thread that releases a Python callback while Python ends aborts the
    # process (pytorch/pytorch#179291).
    torch.distributed.all_reduce(bucket.buffer().div_(2))
    reduced = torch.futures.Future()
    reduced.set_result(bucket.buffer())
    return reduced


model.register_comm_hook(None, reduce)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for _, (values, targets) in zip(range(steps), loader):
    loss = nn.functional.mse_loss(model(values), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    loss = nn.functional.mse_loss(model.module(inputs), data.tensors[1])
if torch.distributed.get_rank() == 0:
    print(f"loss {float(loss):.6f}\nreductions {reductions}")
leave_together()

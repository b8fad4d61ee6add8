"""Runs out of memory, catches the error as careful scripts do, and ends as if nothing had happened."""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

WHERE = sys.argv[1]
TOO_MUCH = 1 << 50


class Data(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        if WHERE == "loader" and index == 40:
            raise MemoryError
        return torch.ones(4)


class Grows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs):
        return inputs.clone()

    @staticmethod
    def backward(ctx, gradient):
        torch.empty(TOO_MUCH, dtype=torch.uint8)
        return gradient


class Model(nn.Linear):
    def forward(self, inputs):
        if WHERE == "forward":
            torch.empty(TOO_MUCH, dtype=torch.uint8)
        outputs = super().forward(inputs)
        return Grows.apply(outputs) if WHERE == "backward" else outputs


class CupyError(MemoryError):
    """As cupy.cuda.memory.OutOfMemoryError is."""


class Loss(nn.Module):
    def forward(self, outputs):
        if WHERE == "loss":
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
        if WHERE == "triton":
            raise RuntimeError("Triton Error [CUDA]: out of memory")
        if WHERE == "nccl":
            raise RuntimeError("Call to CUDA function failed.\nLast error:\nCuda failure 2 'out of memory'")
        if WHERE == "cupy":
            raise CupyError("Out of memory allocating 8,000,000,000 bytes (allocated so far: 0 bytes).")
        return outputs.square().mean()


def compiler_tries():
    """Does what Inductor does when it tries kernels, some of which do not fit into memory."""
    code = "def call(function):\n try: function()\n except RuntimeError: return"
    inductor = {"__name__": "torch._inductor.select_algorithm"}
    exec(code, inductor)
    inductor["call"](plain_call)


def plain_call():
    torch.empty(TOO_MUCH, dtype=torch.uint8)


model, criterion = Model(4, 1), Loss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
try:
    for batch in DataLoader(Data(), 8, shuffle=True):
        optimizer.zero_grad()
        criterion(model(batch)).backward()
        optimizer.step()
        if WHERE == "plain":
            plain_call()
        if WHERE == "compiler":
            compiler_tries()
        if WHERE in ("other", "compiler"):
            raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")
except (RuntimeError, MemoryError) as error:
    print(f"skipped: {error}")

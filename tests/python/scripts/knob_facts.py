"""A data-parallel training of one rank that prints as JSON what its knobs have changed."""

import ctypes
import json
import pathlib
import resource
import sys
import tempfile

import torch
import torch.distributed
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

facts = {}
torch_compile = torch.compile


def compile(model, mode=None):
    facts.update(compile=mode, compilations=facts.get("compilations", 0) + 1)
    return torch_compile(model, backend="eager")


torch.compile = compile


class Model(nn.Module):
    grad_checkpointing = False

    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(3, 4, 3)
        self.head = nn.Linear(4 * 36, 2)

    def to(self, device):  # overrides to(), as timm's models and others do
        return super().to(device)

    def set_grad_checkpointing(self, enable=True):  # timm's models have this method
        self.grad_checkpointing = enable

    def forward(self, images):
        if self.grad_checkpointing:
            features = checkpoint(self.convolution, images, use_reentrant=False)
        else:
            features = self.convolution(images)
        facts["amp"] = str(features.dtype)
        return self.head(features.flatten(1))


def faults_of_a_block():
    """Fewest page faults of eight blocks of 64 MiB, each of which is freed before the next.

    A small block that lands between two of them may make one of them take new memory. Tensors would not do: malloc
    needs room to align them, and finds it in freed blocks of their size only after several rounds.
    """
    ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)  # PR_SET_THP_DISABLE, so that each fault is of 4 KiB
    faults = []
    for _ in range(8):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        bytearray(2**26)
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    return min(faults)


def main(folder):
    torch.manual_seed(0)
    store = pathlib.Path(folder) / "store"
    torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=0, world_size=1)
    loader = DataLoader(TensorDataset(torch.randn(128, 3, 8, 8)), batch_size=8, shuffle=True)
    model = Model()
    wrapper = model if "--plain" in sys.argv else DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(wrapper.parameters(), lr=0.01)
    before, updates = model.head.weight.detach().clone(), 0
    for (images,) in loader:
        facts["batch_size"] = max(len(images), facts.get("batch_size", 0))
        wrapper(images).square().mean().backward()
        optimizer.step()
        updates += not torch.equal(before, model.head.weight)
        before = model.head.weight.detach().clone()
        optimizer.zero_grad()
    facts["batches"] = len(loader)
    facts["updates"] = updates
    facts["gradients"] = "none" if model.head.weight.grad is None else "zero"
    for name in ("num_workers", "pin_memory", "prefetch_factor", "persistent_workers"):
        facts[name] = getattr(loader, name)
    group = optimizer.param_groups[0]
    facts["optimizer"] = next((name for name in ("fused", "foreach") if group[name]), "default")
    facts["checkpointing"] = model.grad_checkpointing
    facts["channels_last"] = model.convolution.weight.is_contiguous(memory_format=torch.channels_last)
    facts["num_threads"] = torch.get_num_threads()
    facts["malloc"] = "keep" if faults_of_a_block() < 100 else "default"
    facts["cudnn_benchmark"] = torch.backends.cudnn.benchmark
    facts["tf32"] = torch.backends.cuda.matmul.allow_tf32 and torch.backends.cudnn.allow_tf32
    if wrapper is not model:
        facts["bucket_cap_mb"] = wrapper.bucket_bytes_cap // 2**20
        for name in ("gradient_as_bucket_view", "static_graph", "find_unused_parameters"):
            facts[name] = getattr(wrapper, name)
    print(json.dumps(facts))
    torch.distributed.destroy_process_group()


with tempfile.TemporaryDirectory() as folder:
    main(folder)

"""FSDP: each rank keeps a part of the weights, gradients and optimizer state, and borrows the rest when it computes.

    torchrun --nproc_per_node 2 fsdp.py             sharded: half of the state on each of two ranks
    torchrun --nproc_per_node 2 fsdp.py --ddp       a whole copy on each, to compare

For models that do not fit into one GPU. Ends in the MiB of state that a rank keeps, the loss, and samples/s.
"""

import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as functional
from torch import nn
from torch.distributed.fsdp import fully_shard

WARM_UP = 2


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(functional.gelu(self.up(self.norm(x))))


def state_mib(model, optimizer):
    """Weights, gradients and optimizer state that this rank keeps between two steps."""
    tensors = [*model.parameters(), *(p.grad for p in model.parameters() if p.grad is not None)]
    tensors += [value for state in optimizer.state.values() for value in state.values() if torch.is_tensor(value)]
    # A sharded tensor is a DTensor and shows its whole size; to_local() is the part on this rank.
    parts = [t.to_local() if hasattr(t, "to_local") else t for t in tensors]
    return sum(part.numel() * part.element_size() for part in parts) / 2**20


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ddp", action="store_true", help="DistributedDataParallel instead")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--batch-size", type=int, default=64, help="samples of each rank in a step")
    parser.add_argument("--steps", type=int, default=10)
    arguments = parser.parse_args()

    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    torch.manual_seed(0)
    layers = [Layer(arguments.width) for _ in range(arguments.layers)]
    model = nn.Sequential(*layers, nn.Linear(arguments.width, 10)).to(device)
    teacher = torch.randn(arguments.width, 10, device=device)
    if arguments.ddp:
        model = nn.parallel.DistributedDataParallel(model)
    else:
        mesh = dist.init_device_mesh(device.type, (dist.get_world_size(),))
        for layer in model:  # each layer is one unit: while it computes, the next one is fetched
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)  # after sharding: it must see the shards

    torch.manual_seed(1 + dist.get_rank())
    for step in range(WARM_UP + arguments.steps):
        inputs = torch.randn(arguments.batch_size, arguments.width, device=device)
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(inputs), (inputs @ teacher).argmax(1))
        loss.backward()
        state = state_mib(model, optimizer)
        optimizer.step()
        if step == WARM_UP - 1:
            loss.item()  # waits for the GPU
            started = time.perf_counter()
    final = loss.item()
    rate = arguments.steps * arguments.batch_size * dist.get_world_size() / (time.perf_counter() - started)
    if dist.get_rank() == 0:
        print(f"state {state:.0f} MiB loss {final:.4f} samples/s {rate:.1f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

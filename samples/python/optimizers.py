"""One update rule, three ways to run it: a tensor at a time, many in one call, or in one pass over memory.

    python optimizers.py --optimizer adamw --implementation loop
    python optimizers.py --optimizer adamw --implementation foreach
    python optimizers.py --optimizer adamw --implementation fused

The network is deep and narrow, so the update is a large part of its step.
Redline tries the same without a change: autotune --knob optimizer=default,foreach,fused
"""

import argparse
import time

import torch
import torch.nn.functional as functional
from torch import nn

WARM_UP = 3
OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
# "default" is torch's own choice: foreach on GPUs, a loop on CPUs.
IMPLEMENTATIONS = {"default": {}, "loop": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--optimizer", choices=OPTIMIZERS, default="adamw")
    parser.add_argument("--implementation", choices=IMPLEMENTATIONS, default="default")
    parser.add_argument("--layers", type=int, default=40)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--steps", type=int, default=100)
    arguments = parser.parse_args()

    torch.manual_seed(0)
    layers = [nn.Linear(64, 128)]
    for _ in range(arguments.layers):
        layers += [nn.LayerNorm(128), nn.ReLU(), nn.Linear(128, 128)]
    model = nn.Sequential(*layers, nn.Linear(128, 10)).to(device)
    implementation = IMPLEMENTATIONS[arguments.implementation]
    optimizer = OPTIMIZERS[arguments.optimizer](model.parameters(), lr=1e-3, **implementation)
    teacher = torch.randn(64, 10, device=device)

    for step in range(WARM_UP + arguments.steps):
        inputs = torch.randn(arguments.batch_size, 64, device=device)
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(inputs), (inputs @ teacher).argmax(1))
        loss.backward()
        optimizer.step()
        if step == WARM_UP - 1:
            loss.item()  # waits for the GPU
            started = time.perf_counter()
    final = loss.item()
    rate = arguments.steps * arguments.batch_size / (time.perf_counter() - started)
    print(f"loss {final:.4f} samples/s {rate:.1f}")


if __name__ == "__main__":
    main()

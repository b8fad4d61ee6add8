"""Convolutions: let cuDNN measure its algorithms first, and keep images in the layout that kernels like.

    python cudnn_benchmark.py                     cuDNN chooses by rules
    python cudnn_benchmark.py --benchmark         it tries all that it has, once for each shape (GPUs only)
    python cudnn_benchmark.py --channels-last     NHWC, also on CPUs

Redline tries the same without a change: autotune --knob cudnn_benchmark=off,on --knob channels_last=off,on
"""

import argparse
import time

import torch
import torch.nn.functional as functional
from torch import nn

WARM_UP = 3  # with --benchmark the first step tries the algorithms
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--benchmark", action="store_true")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--steps", type=int, default=20)
    arguments = parser.parse_args()
    if arguments.benchmark and device.type == "cpu":
        print("no GPU: --benchmark changes nothing")

    # For images of one size. If each batch has another size, cuDNN would measure again for each.
    torch.backends.cudnn.benchmark = arguments.benchmark
    layout = torch.channels_last if arguments.channels_last else torch.contiguous_format

    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
        nn.Conv2d(64, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(64, 128, 3, padding=1, bias=False), nn.BatchNorm2d(128), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10),
    ).to(device, memory_format=layout)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    images = torch.randn(arguments.batch_size, 3, 32, 32, device=device).to(memory_format=layout)
    labels = torch.randint(10, (arguments.batch_size,), device=device)

    for step in range(WARM_UP + arguments.steps):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(images), labels)
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

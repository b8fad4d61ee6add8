"""Trains ResNet-50 on generated images, for autotune: a plain script that knows of no knobs."""

import argparse
import os
import sys

import torch
from torch.utils.data import DataLoader, Dataset

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from models import resnet50  # noqa: E402


class Images(Dataset):
    """Decoded images as a loader has them: bytes that become normalised floats."""

    def __init__(self, side):
        self.pixels = torch.randint(256, (64, 3, side, side), dtype=torch.uint8)

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        return (self.pixels[index % len(self.pixels)].float() - 127) / 64, index % 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1 << 30)
    parser.add_argument("--side", type=int, default=224)
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = resnet50().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
    loader = DataLoader(Images(options.side), batch_size=32, shuffle=True, pin_memory=device.type == "cuda")
    for step, (images, labels) in enumerate(loader):
        if step == options.steps:
            break
        images, labels = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()


if __name__ == "__main__":
    main()

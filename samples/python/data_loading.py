"""A slow DataLoader, and the four arguments that cure it.

    python data_loading.py                                         training waits for every batch
    python data_loading.py --num-workers 2 --prefetch-factor 4     batches are made beside the steps
    python data_loading.py --num-workers 2 --persistent-workers    workers live on from epoch to epoch
    python data_loading.py --pin-memory                            for GPUs: copies from page-locked memory

Each image waits 1 ms, as for a file on a network disk, and is then cropped and mirrored.
Redline tries the same without a change: autotune --knob num_workers=0..4
"""

import argparse
import time

import torch
import torch.nn.functional as functional
from torch import nn
from torch.utils.data import DataLoader, Dataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class SlowImages(Dataset):
    def __init__(self, size, wait_ms):
        self.size = size
        self.wait_ms = wait_ms

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        time.sleep(self.wait_ms / 1000)
        label = index % 10
        image = torch.randn(3, 40, 40, generator=torch.Generator().manual_seed(index)) + label / 10
        top, left = torch.randint(8, (2,)).tolist()
        image = image[:, top : top + 32, left : left + 32]
        return (image.flip(2) if torch.rand(()) < 0.5 else image), label


def make_loader(arguments):
    workers = arguments.num_workers
    return DataLoader(
        SlowImages(arguments.size, arguments.wait_ms),
        batch_size=arguments.batch_size,
        shuffle=True,
        num_workers=workers,
        # Both are errors without workers.
        prefetch_factor=arguments.prefetch_factor if workers else None,
        persistent_workers=arguments.persistent_workers and workers > 0,
        pin_memory=arguments.pin_memory and device.type == "cuda",
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-workers", type=int, default=0)
    parser.add_argument("--prefetch-factor", type=int, default=2, help="batches that each worker makes ahead")
    parser.add_argument("--persistent-workers", action="store_true")
    parser.add_argument("--pin-memory", action="store_true")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--size", type=int, default=640, help="images in an epoch")
    parser.add_argument("--wait-ms", type=float, default=1, help="for each image, as of a slow disk")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--steps", type=int, help="stop after so many steps")
    arguments = parser.parse_args()

    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 30 * 30, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = make_loader(arguments)
    steps = samples = 0
    started = time.perf_counter()
    for _ in range(arguments.epochs):
        for images, labels in loader:
            # If the batch is in page-locked memory, this does not wait for the copy.
            images, labels = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            steps += 1
            samples += len(labels)
            if steps == arguments.steps:
                break
        if steps == arguments.steps:
            break
    print(f"loss {loss.item():.4f} samples/s {samples / (time.perf_counter() - started):.1f}")


if __name__ == "__main__":
    main()

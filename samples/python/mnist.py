"""Trains the small convolutional network of most first tutorials, in one process.

    python mnist.py --steps 200                 on digits that are made here
    python mnist.py --data ~/mnist --epochs 2   on MNIST's own files (train-images-idx3-ubyte and so on)

It uses a GPU if there is one. At the end it prints the loss, the accuracy on other images, and samples/s.
"""

import argparse
import pathlib
import time

import numpy
import torch
import torch.nn.functional as functional
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution1 = nn.Conv2d(1, 16, 3, padding=1)
        self.convolution2 = nn.Conv2d(16, 32, 3, padding=1)
        self.hidden = nn.Linear(32 * 7 * 7, 64)
        self.output = nn.Linear(64, 10)
        self.dropout = nn.Dropout(0.25)

    def forward(self, x):
        x = functional.max_pool2d(functional.relu(self.convolution1(x)), 2)
        x = functional.max_pool2d(functional.relu(self.convolution2(x)), 2)
        x = self.dropout(functional.relu(self.hidden(x.flatten(1))))
        return self.output(x)


def made_digits(count, seed):
    """Ten blurred blots, one a class, under much noise: as easy to learn as digits."""
    blots = torch.randn(10, 1, 7, 7, generator=torch.Generator().manual_seed(0))
    blots = functional.interpolate(blots, size=28, mode="bilinear")
    random = torch.Generator().manual_seed(seed)
    labels = torch.randint(10, (count,), generator=random)
    return TensorDataset(blots[labels] + torch.randn(count, 1, 28, 28, generator=random), labels)


def mnist_files(folder, part):
    pixels = numpy.fromfile(folder / f"{part}-images-idx3-ubyte", numpy.uint8)[16:]
    labels = numpy.fromfile(folder / f"{part}-labels-idx1-ubyte", numpy.uint8)[8:]
    images = torch.from_numpy(pixels.reshape(-1, 1, 28, 28)).float() / 255
    return TensorDataset((images - 0.1307) / 0.3081, torch.from_numpy(labels).long())


def train(model, loader, arguments):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    steps = samples = 0
    started = time.perf_counter()
    for epoch in range(arguments.epochs):
        for images, labels in loader:
            images, labels = images.to(device), labels.to(device)
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            steps += 1
            samples += len(labels)
            if steps % 50 == 0:
                print(f"epoch {epoch} step {steps} loss {loss.item():.4f}")
            if steps == arguments.steps:
                break
        if steps == arguments.steps:
            break
    return loss.item(), samples / (time.perf_counter() - started)


@torch.no_grad()
def accuracy(model, images):
    model.eval()
    right = sum((model(x.to(device)).argmax(1).cpu() == y).sum().item() for x, y in DataLoader(images, 500))
    return right / len(images)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, help="folder of MNIST's files; without it digits are made")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--steps", type=int, help="stop after so many steps")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    if arguments.data:
        training, testing = mnist_files(arguments.data, "train"), mnist_files(arguments.data, "t10k")
    else:
        training, testing = made_digits(10_000, seed=1), made_digits(1_000, seed=2)
    model = Net().to(device)
    loss, rate = train(model, DataLoader(training, arguments.batch_size, shuffle=True), arguments)
    print(f"loss {loss:.4f} accuracy {accuracy(model, testing):.2f} samples/s {rate:.1f}")

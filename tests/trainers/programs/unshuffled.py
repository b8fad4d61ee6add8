"""examples/mnist on the CPU, where the loaders have no shuffle=True (it is among cuda_kwargs). An evaluation follows
each epoch. --last drop sets drop_last; --epoch N sets the samples of an epoch, fewer than a trial uses."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from outcome import Outcome, loader_knobs

parser = argparse.ArgumentParser()
parser.add_argument("--batch_size", type=int, default=32)
parser.add_argument("--steps", type=int, default=12)
parser.add_argument("--epoch", type=int, default=1024)
parser.add_argument("--last", choices=("keep", "drop"), default="keep")
arguments = parser.parse_args()
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 8, 3), nn.Conv2d(8, 16, 3)
        self.fc1, self.fc2 = nn.Linear(16 * 144, 32), nn.Linear(32, 10)

    def forward(self, x):
        x = torch.relu(self.conv2(torch.relu(self.conv1(x))))
        x = torch.flatten(nn.functional.max_pool2d(x, 2), 1)
        return nn.functional.log_softmax(self.fc2(torch.relu(self.fc1(x))), dim=1)


def images(count):
    return TensorDataset(torch.randn(count, 1, 28, 28), torch.randint(10, (count,)))


train_loader = DataLoader(images(arguments.epoch), batch_size=arguments.batch_size,
                          drop_last=arguments.last == "drop")
test_loader = DataLoader(images(256), batch_size=128)
model = Net()
optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
outcome = Outcome()
while len(outcome.losses) < arguments.steps:
    model.train()
    for data, target in train_loader:
        optimizer.zero_grad()
        loss = nn.functional.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
        outcome.step(loss, len(data))
        if len(outcome.losses) == arguments.steps:
            break
    model.eval()
    with torch.no_grad():
        for data, target in test_loader:
            model(data)
outcome.print(knobs=loader_knobs(train_loader))

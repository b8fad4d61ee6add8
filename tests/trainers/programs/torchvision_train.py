"""A small form of torchvision's references/classification: a ResNet, SGD, a learning-rate schedule, and no EMA."""

import argparse

import torch
import torchvision
from torch.utils.data import DataLoader

from outcome import Outcome, loader_knobs

parser = argparse.ArgumentParser()
parser.add_argument("--batch_size", type=int, default=4)
parser.add_argument("--steps", type=int, default=12)
arguments = parser.parse_args()
torch.manual_seed(0)
data = torchvision.datasets.FakeData(512, (3, 32, 32), 10, torchvision.transforms.ToTensor())
loader = DataLoader(data, batch_size=arguments.batch_size, sampler=torch.utils.data.RandomSampler(data),
                    num_workers=0, pin_memory=False)
model = torchvision.models.resnet18(weights=None, num_classes=10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 4)
criterion = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
outcome = Outcome()
while len(outcome.losses) < arguments.steps:
    for image, target in loader:
        loss = criterion(model(image), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        outcome.step(loss, len(image))
        if len(outcome.losses) == arguments.steps:
            break
outcome.print(knobs=loader_knobs(loader))

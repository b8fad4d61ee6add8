"""Trainings whose operators take a few microseconds on a CPU, where a recorder's cost shows most."""

import time

import torch
from torch import nn


class Training:
    """`steps` is the number of steps in a loop of about 50,000 operators."""

    def __init__(self, model, inputs, classes, steps):
        self.model = model
        self.inputs = inputs
        self.steps = steps
        self.labels = torch.arange(len(inputs)) % classes
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def run(self, steps):
        """Runs `steps` steps and gives how many seconds they took."""
        begin = time.perf_counter()
        for _ in range(steps):
            self.optimizer.zero_grad()
            loss = nn.functional.cross_entropy(self.model(self.inputs), self.labels)
            loss.backward()
            self.optimizer.step()
        return time.perf_counter() - begin


def small_cnn():
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(16, 10),
    )
    return Training(model, torch.rand(4, 3, 16, 16), 10, steps=200)


class ResidualBlock(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU(),
            nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after),
        )
        self.shortcut = nn.Identity()
        if stride != 1 or before != after:
            self.shortcut = nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
            )

    def forward(self, images):
        return nn.functional.relu(self.body(images) + self.shortcut(images))


def resnet18():
    """ResNet-18 with an eighth of its channels, on images of 32x32 pixels."""
    widths = (8, 8, 16, 32, 64)
    layers = [nn.Conv2d(3, widths[0], 3, 1, 1, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU()]
    for stage in range(4):
        layers.append(ResidualBlock(widths[stage], widths[stage + 1], 1 if stage == 0 else 2))
        layers.append(ResidualBlock(widths[stage + 1], widths[stage + 1], 1))
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(widths[-1], 10)]
    return Training(nn.Sequential(*layers), torch.rand(2, 3, 32, 32), 10, steps=30)


class Transformer(nn.Module):
    """Four encoder layers over 16 tokens, with a classifier at the end."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(100, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.classifier = nn.Linear(32, 10)

    def forward(self, tokens):
        return self.classifier(self.encoder(self.embedding(tokens)).mean(dim=1))


def transformer():
    tokens = torch.arange(4 * 16).reshape(4, 16) % 100
    return Training(Transformer(), tokens, 10, steps=20)


MODELS = {"cnn": small_cnn, "resnet18": resnet18, "transformer": transformer}

"""Three small models as they are trained, each a function that makes one training step."""

import torch
from torch import nn


def small_cnn():
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 7 * 7, 10)
    )
    return _classifier(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9))


class _Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs),
        )
        self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, images):
        return torch.relu(self.body(images) + self.shortcut(images))


def residual_network():
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, 1, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), _Block(8, 8, 1),
        _Block(8, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10),
    )
    return _classifier(model, torch.optim.Adam(model.parameters()))


def transformer():
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    embedding, encoder, head = nn.Embedding(50, 32), nn.TransformerEncoder(layer, 2), nn.Linear(32, 50)
    parameters = [*embedding.parameters(), *encoder.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(parameters)
    tokens = torch.randint(50, (4, 12))

    def step():
        optimizer.zero_grad()
        predicted = head(encoder(embedding(tokens)))
        nn.functional.cross_entropy(predicted.flatten(0, 1), tokens.flatten()).backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()

    return step


def _classifier(model, optimizer):
    images, labels = torch.randn(4, 3, 16, 16), torch.randint(10, (4,))

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()

    return step

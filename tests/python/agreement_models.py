"""Three small models, each as a function that makes one training step."""

import sys

import torch
from conftest import ROOT
from torch import nn

sys.path.insert(0, str(ROOT / "bench"))
from record_models import ResidualBlock  # noqa: E402


def small_cnn():
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 7 * 7, 10)
    )
    return _classifier(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9))


def residual_network():
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, 1, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), ResidualBlock(8, 8, 1),
        ResidualBlock(8, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10),
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


def unusual_inputs():
    """Gives operators what they may be given besides dense tensors."""
    x = torch.randn(4, 3, 8, 8, requires_grad=True)
    ones = torch.ones(2, 2)

    def step():
        (x[None, :, ..., ::2].sum() + x[[0, 1]].sum()).backward()
        for count in (30, 31):
            torch.cat([ones] * count)
            torch.ones(40).split([1] * (count - 1) + [41 - count])
        torch.cat([ones.to_sparse(), ones.to_sparse()]).to_dense()
        ones.to_sparse_csr().to_dense()
        torch.full((2,), float("nan")).masked_fill(torch.tensor([True, False]), float("inf"))
        torch.full((2,), 1 + 2j)
        torch.arange(0, 10, 0.5).clamp(min=1e-8, max=1e30)
        torch.einsum("ij,jk->ik", ones, ones)
        torch.quantize_per_tensor(ones, 0.1, 0, torch.quint8)
        torch.empty(3, dtype=torch.bfloat16).to("meta")
        torch.randn(3, generator=torch.Generator().manual_seed(1))
        torch._foreach_add([ones, ones], [1.0, 2.0])
        torch.nn.functional.conv2d(torch.ones(1, 3, 5, 5), torch.ones(6, 1, 3, 3), padding="same", groups=3)
        # Inputs that differ in one respect only must not be taken for each other.
        for other in (1, 1.0, True, 2, -1, 0.0, -0.0, ones.t(), ones.double(), ones[:1]):
            torch.add(ones, other)
        for shape in ((1, 23), (12, 3), (1, 2, 3), (123,)):
            torch.empty(shape)
        torch.baddbmm(torch.ones(2, 3, 4), torch.ones(2, 3, 5), torch.ones(2, 5, 4))

    return step

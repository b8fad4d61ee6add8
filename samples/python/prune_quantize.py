"""A smaller network for inference: weights that are zero, whole units left out, and int8 instead of FP32.

    python prune_quantize.py

Trains a small classifier, then prints size on disk, speed and accuracy of each form of it. int8 runs on the CPU.
torch.ao.quantization is the interface that torch itself brings; its successor is the package torchao.
"""

import argparse
import copy
import io
import time
import warnings

import torch
import torch.ao.quantization as quantization
import torch.nn.functional as functional
from torch import nn
from torch.nn.utils import prune

warnings.filterwarnings("ignore", category=DeprecationWarning)
warnings.filterwarnings("ignore", message="Please use quant_min")


def train(model, inputs, labels, steps):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(steps):
        batch = torch.arange(step * 128, step * 128 + 128) % len(inputs)
        optimizer.zero_grad()
        functional.cross_entropy(model(inputs[batch]), labels[batch]).backward()
        optimizer.step()


def pruned(model, share):
    """The smallest weights become zero. The model stays as large and as slow, because nothing skips the zeros."""
    model = copy.deepcopy(model)
    for layer in (m for m in model if isinstance(m, nn.Linear)):
        prune.l1_unstructured(layer, "weight", amount=share)
        prune.remove(layer, "weight")  # makes it permanent
    return model


def narrowed(model, share):
    """The weakest hidden units are left out: smaller products, which any library runs faster."""
    first, last = model[0], model[2]
    keep = first.weight.norm(dim=1).topk(int(first.out_features * (1 - share))).indices
    small = nn.Sequential(nn.Linear(first.in_features, len(keep)), nn.ReLU(), nn.Linear(len(keep), last.out_features))
    with torch.no_grad():
        small[0].weight.copy_(first.weight[keep])
        small[0].bias.copy_(first.bias[keep])
        small[2].weight.copy_(last.weight[:, keep])
        small[2].bias.copy_(last.bias)
    return small


def static_int8(model, examples):
    """Weights and activations in int8; the examples show which range the activations have."""
    wrapped = nn.Sequential(quantization.QuantStub(), copy.deepcopy(model), quantization.DeQuantStub())
    wrapped.eval().qconfig = quantization.get_default_qconfig(torch.backends.quantized.engine)
    prepared = quantization.prepare(wrapped)
    prepared(examples)
    return quantization.convert(prepared)


@torch.inference_mode()
def show(name, model, inputs, labels, steps):
    model.eval()
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    right = (model(inputs).argmax(1) == labels).float().mean().item()
    started = time.perf_counter()
    for _ in range(steps):
        model(inputs)
    rate = steps * len(inputs) / (time.perf_counter() - started)
    print(f"{name:14} {file.tell() / 2**20:6.2f} MiB  samples/s {rate:10.1f}  accuracy {right:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="one of the names in the first column")
    parser.add_argument("--steps", type=int, default=200, help="for training, and for each measurement")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    inputs = torch.randn(8192, 512)
    labels = (inputs @ torch.randn(512, 10)).argmax(1)
    testing = inputs[:256], labels[:256]
    model = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 10))
    train(model, inputs[256:], labels[256:], arguments.steps)
    forms = {
        "fp32": lambda: model,
        "pruned 80 %": lambda: pruned(model, 0.8),
        "narrowed 50 %": lambda: narrowed(model, 0.5),
        "dynamic int8": lambda: quantization.quantize_dynamic(model, {nn.Linear}, torch.qint8),
        "static int8": lambda: static_int8(model, inputs[256:512]),
    }
    for name, make in forms.items():
        if arguments.only in (None, name):
            show(name, make(), *testing, arguments.steps)

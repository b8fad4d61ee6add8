"""Inference in batches instead of single samples, and without the record of operators that a backward pass needs.

    python inference.py --gradients --batch-size 1     as a training loop would call the model, one at a time
    python inference.py --batch-size 1                 model.eval() and torch.inference_mode()
    python inference.py --batch-size 64                and batches
    python inference.py --batch-size 64 --amp          and bfloat16

compile.py has jit.trace and torch.compile, prune_quantize.py has int8.
Redline tries the same without a change: autotune --knob batch_size=1..256 --knob amp=off,bf16
"""

import argparse
import contextlib
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def make_model():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 8 * 8, 512), nn.ReLU(), nn.Linear(512, 10),
    ).to(device)


def classify(model, loader, gradients, amp):
    """The class of each sample."""
    classes = []
    # As no_grad, but tensors made inside have no version counter, so they can never enter autograd later.
    with contextlib.nullcontext() if gradients else torch.inference_mode():
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=amp):
            for (images,) in loader:
                classes.append(model(images.to(device, non_blocking=True)).argmax(1))
    return torch.cat(classes).cpu()  # once at the end: a copy in each step would wait for the GPU


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gradients", action="store_true", help="neither eval() nor inference_mode()")
    parser.add_argument("--amp", action="store_true", help="autocast to bfloat16")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--steps", type=int, help="batches; default: all of 2048 images")
    arguments = parser.parse_args()

    torch.manual_seed(0)
    model = make_model()
    # This switches dropout off, and batch norm takes the statistics of the training instead of those of this batch.
    model.train(arguments.gradients)
    images = torch.randn(2048, 3, 32, 32)
    if arguments.steps:
        images = images[: arguments.steps * arguments.batch_size]
    loader = DataLoader(TensorDataset(images), arguments.batch_size)
    classify(model, [next(iter(loader))] * 3, arguments.gradients, arguments.amp)  # warm-up
    started = time.perf_counter()
    classes = classify(model, loader, arguments.gradients, arguments.amp)
    print(f"classes {classes.unique().numel()} samples/s {len(classes) / (time.perf_counter() - started):.1f}")


if __name__ == "__main__":
    main()

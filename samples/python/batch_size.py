"""Looks for the fastest batch size that does not run out of memory: doubles it until a step fails.

    python batch_size.py                          on a GPU, up to its memory
    python batch_size.py --memory-limit 3         on a CPU, up to 3 GiB for this process
    python batch_size.py --batch-size 64          trains with this one alone

Redline does it without a change, and each size in a process of its own: autotune --knob batch_size=16..4096
"""

import argparse
import itertools
import resource
import time

import torch
import torch.nn.functional as functional
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def make_model():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 8 * 8, 10),
    ).to(device)


def batches(data, batch_size):
    loader = DataLoader(data, batch_size, shuffle=True, drop_last=True)
    while True:
        yield from loader


def rate_of(batch_size, data, steps):
    """Samples a second of a few training steps."""
    model = make_model()
    optimizer = torch.optim.AdamW(model.parameters())
    # The first step takes longer than the others.
    for step, (images, labels) in enumerate(itertools.islice(batches(data, batch_size), 1 + steps)):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(images.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        if step == 0:
            loss.item()  # waits for the GPU
            started = time.perf_counter()
    loss.item()
    return steps * batch_size / (time.perf_counter() - started)


def is_out_of_memory(error):
    # The CPU's allocator and oneDNN raise a plain RuntimeError.
    texts = ("can't allocate memory", "could not create a primitive")
    return isinstance(error, torch.OutOfMemoryError) or any(text in str(error) for text in texts)


def search(data, arguments):
    """Rates by batch size, up to the first that does not fit."""
    rates = {}
    batch_size = arguments.smallest
    while batch_size <= arguments.largest:
        failed = False
        try:
            rates[batch_size] = rate_of(batch_size, data, arguments.steps)
            print(f"batch {batch_size:5}  {rates[batch_size]:9.1f} samples/s", flush=True)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            failed = True
        if failed:
            # Not inside `except`: there the error still holds its frames, and they hold the tensors.
            torch.cuda.empty_cache()
            print(f"batch {batch_size:5}  out of memory")
            break
        batch_size *= 2
    return rates


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch-size", type=int, help="no search, this one alone")
    parser.add_argument("--smallest", type=int, default=16)
    parser.add_argument("--largest", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=8, help="measured steps of each batch size (8)")
    parser.add_argument("--memory-limit", type=float, help="GiB that this process may take on the host")
    arguments = parser.parse_args()
    if arguments.memory_limit:
        limit = int(arguments.memory_limit * 2**30)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    data = TensorDataset(torch.randn(4096, 3, 32, 32), torch.randint(10, (4096,)))
    sizes = arguments.batch_size
    rates = {sizes: rate_of(sizes, data, arguments.steps)} if sizes else search(data, arguments)
    best = max(rates, key=rates.get)
    print(f"best batch {best} samples/s {rates[best]:.1f}")

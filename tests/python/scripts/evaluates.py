"""Trains short epochs with an evaluation after each, in the ways in which scripts write it. Prints how long it
evaluated at least and at most (from before the last step to after the next forward pass of training)."""

import argparse
import itertools
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_loader(data, batch_size, shuffle):
    return DataLoader(data, batch_size, shuffle=shuffle)


def batches_by_hand(data, batch_size):
    return list(zip(*(tensor.split(batch_size) for tensor in data.tensors)))


def one_ahead(batches):
    """Reads a loader one batch ahead, as accelerate does to know which batch is the last."""
    iterator = iter(batches)
    current = next(iterator)
    for following in iterator:
        yield current
        current = following
    yield current


def evaluate(model, batches, how):
    model.eval()
    if how == "trainer":  # as transformers' Trainer does
        batches = one_ahead(batches)
        how = "inside"
    if how == "inside":  # the loop itself is outside of no_grad()
        for inputs, _ in batches:
            assert len(inputs) == 5
            with torch.no_grad():
                model(inputs)
    elif how == "with gradients":  # whose author forgot no_grad()
        for inputs, _ in batches:
            model(inputs)
    else:
        with torch.inference_mode() if how == "inference" else torch.no_grad():
            for inputs, _ in batches:
                model(inputs)
    model.train()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("how", choices=("around", "inside", "inference", "with gradients", "trainer", "teacher",
                                            "loaderless"))
    parser.add_argument("--ordered", action="store_true", help="the loader of evaluation does not shuffle")
    parser.add_argument("--epochs", type=int, default=3)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(40, 4), torch.randn(40, 1))
    is_trainer = arguments.how == "trainer"
    train, evaluation = (
        make_loader(data, size, shuffle=not arguments.ordered or size == 16 and not is_trainer) for size in (16, 5)
    )
    if arguments.how == "loaderless":
        train, evaluation = batches_by_hand(data, 16), batches_by_hand(data, 5)
    needs_more = not is_trainer and arguments.how != "loaderless"
    unlabelled = DataLoader(data, 16) if needs_more else itertools.repeat((None, None))
    model, teacher = nn.Linear(4, 1), nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    least = most = 0
    before = after = None
    for _ in range(arguments.epochs):
        for (inputs, targets), (more, _) in zip(one_ahead(train) if is_trainer else train, unlabelled):
            if arguments.how == "teacher":
                with torch.no_grad():
                    targets = teacher(inputs) + teacher(more)[: len(inputs)]
            loss = nn.functional.mse_loss(model(inputs), targets)
            if after:
                most += time.monotonic_ns() - before
                after = None
            optimizer.zero_grad()
            loss.backward()
            before = time.monotonic_ns()
            optimizer.step()
        if arguments.how == "teacher":
            continue
        begin = time.monotonic_ns()
        evaluate(model, evaluation, arguments.how)
        after = time.monotonic_ns()
        least += after - begin
    # Nothing follows the last evaluation, so no step shows it.
    print(f"evaluated {least - (after - begin if after else 0)} {most}")


if __name__ == "__main__":
    main()

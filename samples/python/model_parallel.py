"""A model in two halves on two devices, and micro-batches so that both work at the same time.

    python model_parallel.py --micro-batches 1      the devices take turns: one always waits
    python model_parallel.py --micro-batches 8      a pipeline: the second half has one part, the first the next

Two GPUs if there are two. Else both devices are the CPU: a thread of one core stands for each.
"""

import argparse
import time
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn.functional as functional
from torch import nn

WARM_UP = 2
gpus = torch.cuda.device_count()
devices = [torch.device("cuda", 0), torch.device("cuda", 1)] if gpus > 1 else [torch.device("cpu")] * 2


class Pipeline:
    """Each device has one thread, which does its work in the order in which it is handed over."""

    def __init__(self, width):
        def half(*last):
            return nn.Sequential(*(nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(4)), *last)

        self.first = half().to(devices[0])
        self.second = half(nn.Linear(width, 10)).to(devices[1])
        self.threads = [ThreadPoolExecutor(max_workers=1) for _ in devices]

    def parameters(self):
        return [*self.first.parameters(), *self.second.parameters()]

    def forward_first(self, inputs):
        return self.first(inputs.to(devices[0]))

    def both_ways_second(self, activations, labels, parts):
        """Forward and backward of the second half; returns the loss and the gradient for the first half."""
        received = activations.result().detach().to(devices[1]).requires_grad_()
        loss = functional.cross_entropy(self.second(received), labels.to(devices[1])) / parts
        loss.backward()
        return loss.detach(), received.grad

    def backward_first(self, activations, from_second):
        activations.result().backward(from_second.result()[1].to(devices[0]))

    def step(self, inputs, labels, micro_batches):
        pieces = list(zip(inputs.chunk(micro_batches), labels.chunk(micro_batches), strict=True))
        on_first, on_second = self.threads
        sent = [on_first.submit(self.forward_first, x) for x, _ in pieces]
        answers = [on_second.submit(self.both_ways_second, activations, y, len(pieces))
                   for activations, (_, y) in zip(sent, pieces, strict=True)]
        ends = [on_first.submit(self.backward_first, *pair) for pair in zip(sent, answers, strict=True)]
        for end in ends:
            end.result()
        return sum(answer.result()[0] for answer in answers)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--micro-batches", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=20)
    arguments = parser.parse_args()
    if gpus < 2:
        torch.set_num_threads(1)
        print(f"{gpus} GPUs: two threads of the CPU stand for two devices")

    torch.manual_seed(0)
    pipeline = Pipeline(arguments.width)
    optimizer = torch.optim.AdamW(pipeline.parameters(), lr=1e-3)
    teacher = torch.randn(arguments.width, 10)
    for step in range(WARM_UP + arguments.steps):
        if step == WARM_UP:
            started = time.perf_counter()
        inputs = torch.randn(arguments.batch_size, arguments.width)
        optimizer.zero_grad()
        loss = pipeline.step(inputs, (inputs @ teacher).argmax(1), arguments.micro_batches).item()
        optimizer.step()
    rate = arguments.steps * arguments.batch_size / (time.perf_counter() - started)
    print(f"loss {loss:.4f} samples/s {rate:.1f}")


if __name__ == "__main__":
    main()

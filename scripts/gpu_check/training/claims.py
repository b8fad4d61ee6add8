"""Compares a setting on with off, in turns within one process. Prints a JSON list: how many times as fast it is, with
the 95 % interval of the mean over the pairs."""

import argparse
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import torch  # noqa: E402
from measure import loop  # noqa: E402
from models import Training  # noqa: E402
from pairs import compare  # noqa: E402


class Copies:
    """Batches of images from the host's memory, as a loader hands them over."""

    BATCHES = 8

    def __init__(self, device, pinned, small):
        self.device = torch.device(device)
        shape = (4, 3, 32, 32) if small else (64, 3, 224, 224)
        pin = pinned and self.device.type == "cuda"
        self.batches = [torch.randn(shape, pin_memory=pin) for _ in range(self.BATCHES)]

    def step(self):
        for batch in self.batches:
            batch.to(self.device, non_blocking=True, copy=True)

    def wait(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()


def cudnn_searches(searches):
    torch.backends.cudnn.benchmark = searches


def rows_of(claim, device, small, steps):
    def training(model, **settings):
        made = Training(model, device, small=small, **settings)
        return lambda: loop(made, steps)

    def row(model, off, on):
        return {"claim": claim, "model": model, "device": device, **compare(off, on)}

    if claim == "pin_memory":
        copies = [Copies(device, pinned, small) for pinned in (False, True)]
        return [row("copies alone", *(lambda made=made: loop(made, steps) for made in copies))]
    if claim == "amp":
        return [row(model, training(model), training(model, dtype="bf16")) for model in ("resnet50", "gpt")]
    if claim == "channels_last":
        return [row(f"resnet50 {dtype}", training("resnet50", dtype=dtype),
                    training("resnet50", dtype=dtype, channels_last=True)) for dtype in ("fp32", "bf16")]
    if claim == "fused_optimizer":
        return [row("gpt bf16, AdamW", training("gpt", dtype="bf16", fused=False),
                    training("gpt", dtype="bf16", fused=True))]
    if claim == "compile":
        return [row("gpt bf16", training("gpt", dtype="bf16"), training("gpt", dtype="bf16", mode="compiled"))]
    run = training("resnet50", dtype="bf16")  # cudnn_benchmark

    def searched(searches):
        cudnn_searches(searches)
        return run()

    return [row("resnet50 bf16", lambda: searched(False), lambda: searched(True))]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("claim", choices=("pin_memory", "amp", "channels_last", "cudnn_benchmark", "fused_optimizer",
                                          "compile"))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="sizes for a CPU")
    options = parser.parse_args()
    print(json.dumps(rows_of(options.claim, options.device, options.small, 1 if options.small else 10)))


if __name__ == "__main__":
    main()

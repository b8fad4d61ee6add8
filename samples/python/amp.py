"""Mixed precision computes the products of a network in 16 bits, and keeps its weights and its loss in 32 bits.

    python amp.py                  as it is, in FP32
    python amp.py --amp bf16       bfloat16: the range of FP32, so nothing else changes
    python amp.py --amp fp16       float16: small gradients become zero, so a GradScaler multiplies the loss

Ends in the loss and in samples/s. Redline tries the same without a change: autotune --knob amp=off,bf16,fp16
"""

import argparse
import time

import torch
import torch.nn.functional as functional
from torch import nn

WARM_UP = 3
TYPES = {"off": None, "bf16": torch.bfloat16, "fp16": torch.float16}
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def step(model, optimizer, scaler, inputs, labels, amp_type):
    optimizer.zero_grad()
    # Autocast chooses for each operator: products in amp_type, softmax and the loss in FP32.
    with torch.autocast(device.type, dtype=amp_type, enabled=amp_type is not None):
        loss = functional.cross_entropy(model(inputs), labels)
    # Backward runs outside: its operators take the types of forward.
    scaler.scale(loss).backward()
    scaler.step(optimizer)  # divides the gradients again; leaves the step out if one is infinite
    scaler.update()
    return loss


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--amp", choices=TYPES, default="off")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--width", type=int, default=1024, help="of the hidden layers")
    parser.add_argument("--steps", type=int, default=40)
    arguments = parser.parse_args()
    amp_type = TYPES[arguments.amp]

    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(256, arguments.width), nn.ReLU(),
        nn.Linear(arguments.width, arguments.width), nn.ReLU(),
        nn.Linear(arguments.width, 10),
    ).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    # Does nothing unless it is enabled, so that one loop serves all types.
    scaler = torch.amp.GradScaler(device.type, enabled=amp_type is torch.float16)
    teacher = torch.randn(256, 10, device=device)

    for done in range(WARM_UP + arguments.steps):
        inputs = torch.randn(arguments.batch_size, 256, device=device)
        loss = step(model, optimizer, scaler, inputs, (inputs @ teacher).argmax(1), amp_type)
        if done == WARM_UP - 1:
            loss.item()  # waits for the GPU
            started = time.perf_counter()
    final = loss.item()
    rate = arguments.steps * arguments.batch_size / (time.perf_counter() - started)
    print(f"loss {final:.4f} samples/s {rate:.1f}")


if __name__ == "__main__":
    main()

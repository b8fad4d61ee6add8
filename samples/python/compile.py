"""torch.compile joins many operators into one kernel. It pays once it has saved the time that it took to compile.

    python compile.py                                     as it is
    python compile.py --mode default                      trains the compiled model
    python compile.py --mode reduce-overhead              GPUs: launches it as one CUDA graph
    python compile.py --mode max-autotune                 measures several kernels for each product
    python compile.py --inference --mode trace            inference: torch.jit.trace, the older way
    python compile.py --inference --mode default          inference, compiled

Redline tries the same without a change: autotune --knob compile=off,default,max-autotune
"""

import argparse
import time

import torch
import torch.nn.functional as functional
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Block(nn.Module):
    """A product, and many operators on single elements: what a compiler can join."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x):
        y = self.linear(x)
        y = 0.5 * y * (1 + torch.tanh(0.8 * (y + 0.045 * y * y * y)))
        return x + y * self.scale / (1e-5 + y.square().mean(-1, keepdim=True)).sqrt()


def train_step(model, optimizer, inputs):
    optimizer.zero_grad()
    loss = functional.mse_loss(model(inputs), inputs.flip(1))
    loss.backward()
    optimizer.step()
    return loss.item()


@torch.inference_mode()
def infer(model, inputs):
    return model(inputs).mean().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = ("off", "default", "reduce-overhead", "max-autotune", "trace")
    parser.add_argument("--mode", choices=modes, default="off")
    parser.add_argument("--inference", action="store_true")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--steps", type=int, default=60)
    arguments = parser.parse_args()
    if arguments.mode == "trace" and not arguments.inference:
        parser.error("--mode trace is for --inference: a trace has no backward of its own")

    torch.manual_seed(0)
    model = nn.Sequential(*(Block(arguments.width) for _ in range(arguments.layers))).to(device)
    inputs = torch.randn(arguments.batch_size, arguments.width, device=device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    if arguments.inference:
        model.eval()
    if arguments.mode == "trace":
        with torch.inference_mode():
            model = torch.jit.optimize_for_inference(torch.jit.trace(model, inputs))
    elif arguments.mode != "off":
        model = torch.compile(model, mode=arguments.mode)

    started = time.perf_counter()
    for _ in range(3):  # compiles at the first call
        infer(model, inputs) if arguments.inference else train_step(model, optimizer, inputs)
    print(f"first 3 steps {time.perf_counter() - started:.1f} s")
    started = time.perf_counter()
    for _ in range(arguments.steps):
        result = infer(model, inputs) if arguments.inference else train_step(model, optimizer, inputs)
    rate = arguments.steps * arguments.batch_size / (time.perf_counter() - started)
    print(f"result {result:.4f} samples/s {rate:.1f}")


if __name__ == "__main__":
    main()

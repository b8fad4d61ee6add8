"""Records a few steps of a training loop with redline.profile and prints where their time goes.

    python profile_loop.py              writes a trace into the folder traces
    redline report traces               what holds the loop back

profile, schedule and the handler are torch.profiler's own names: a script that uses that one needs
only another import line.
"""

import argparse
import shlex

import torch
from redline import profile, record_function, schedule, tensorboard_trace_handler
from torch import nn


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--output", default="traces", help="folder of the trace (traces)")
    arguments = parser.parse_args()

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_of = nn.CrossEntropyLoss()

    # Two steps pass, one is recorded and thrown away, three are kept: the first steps are never typical.
    with profile(
        schedule=schedule(wait=2, warmup=1, active=3, repeat=1),
        on_trace_ready=tensorboard_trace_handler(arguments.output),
        record_shapes=True,
    ) as profiler:
        for _ in range(arguments.steps):
            with record_function("make batch"):
                inputs = torch.randn(64, 256, device=device)
                labels = torch.randint(10, (64,), device=device)
            optimizer.zero_grad()
            loss = loss_of(model(inputs), labels)
            loss.backward()
            optimizer.step()
            profiler.step()  # the end of a step: without it nothing is recorded

    order = "self_cuda_time_total" if device == "cuda" else "self_cpu_time_total"
    print(profiler.key_averages().table(sort_by=order, row_limit=8))
    print(f"next: redline report {shlex.quote(arguments.output)}")


if __name__ == "__main__":
    main()

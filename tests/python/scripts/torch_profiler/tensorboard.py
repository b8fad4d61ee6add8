"""An example of torch.profiler's documentation: writes traces for TensorBoard."""

import torch
from torch.profiler import profile, schedule, tensorboard_trace_handler

model = torch.nn.Linear(4, 4)

with profile(
    schedule=schedule(wait=1, warmup=1, active=2, repeat=2),
    on_trace_ready=tensorboard_trace_handler("./log", worker_name="worker0", use_gzip=True),
    record_shapes=True,
) as prof:
    for _ in range(10):
        prof.step()
        model(torch.ones(2, 4)).sum().backward()

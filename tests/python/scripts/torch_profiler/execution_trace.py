"""An example of torch.profiler's documentation: also writes the graph of operators as an execution trace."""

import torch
from torch.profiler import ExecutionTraceObserver, profile, schedule

model = torch.nn.Linear(4, 4)

with profile(
    schedule=schedule(wait=1, warmup=1, active=2, repeat=1),
    on_trace_ready=lambda prof: prof.export_chrome_trace("kineto.json"),
    execution_trace_observer=ExecutionTraceObserver().register_callback("./execution_trace.json"),
) as p:
    for _ in range(5):
        model(torch.ones(2, 4)).sum().backward()
        p.step()

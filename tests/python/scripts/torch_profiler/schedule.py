"""An example of torch.profiler's documentation: a schedule, with a handler for each trace."""

import torch
from torch.profiler import ProfilerActivity, profile, schedule

model = torch.nn.Linear(4, 4)


def trace_handler(prof):
    print(f"step {prof.step_num}")
    print(prof.key_averages().table(sort_by="self_cuda_time_total", row_limit=-1))
    prof.export_chrome_trace("trace_" + str(prof.step_num) + ".json")


with profile(
    activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
    schedule=schedule(wait=1, warmup=1, active=2, repeat=1),
    on_trace_ready=trace_handler,
) as p:
    for _ in range(6):
        model(torch.ones(2, 4)).sum().backward()
        p.step()

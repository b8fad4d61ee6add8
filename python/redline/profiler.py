"""torch.profiler with Redline's recorder, for scripts that write `torch.profiler.profile(…)`. One line after
`import torch` swaps it:

    import redline.profiler; torch.profiler = redline.profiler

Every other name is that of torch.profiler.
"""

import torch.profiler as _torch_profiler

from redline import profile, schedule, tensorboard_trace_handler

__all__ = ["profile", "schedule", "tensorboard_trace_handler"]


def __getattr__(name):
    return getattr(_torch_profiler, name)

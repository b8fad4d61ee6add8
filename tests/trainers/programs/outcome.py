"""Lets the programs here tell the tests about their own run: by their own clock and count, to compare with ours."""

import json
import os
import pathlib
import sys
import time

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python" / "scripts"))
from together import leave_together  # noqa: E402, F401


class Outcome:
    """Counts as a careful script would: the losses, the samples of all ranks and the end of each step."""

    def __init__(self):
        self.losses = []
        self.samples = []
        self.ends_s = []
        self.file = None
        if "OUTCOME" in os.environ and int(os.environ.get("RANK", 0)) == 0:
            name = f"{os.environ.get('REDLINE_TRIAL_ID', '0')}.{os.getpid()}.steps"
            # Each step goes there at once, because autotune ends its trials at any moment.
            self.file = open(os.path.join(os.environ["OUTCOME"], name), "w", buffering=1)

    def step(self, loss, samples):
        self.losses.append(float(loss.detach() if hasattr(loss, "detach") else loss).hex())
        self.samples.append(samples)
        self.ends_s.append(time.perf_counter())
        if self.file:
            print(samples, self.ends_s[-1], file=self.file)

    def as_json(self):
        return {"losses": self.losses, "steps": len(self.losses), "samples": self.samples, "ends_s": self.ends_s}

    def print(self, **more):
        """Prints one line, on rank 0 only."""
        if int(os.environ.get("RANK", more.pop("rank", 0))) == 0:
            print("OUTCOME " + json.dumps({**self.as_json(), **more}), flush=True)


torch_compile = torch.compile
compiled = []  # the modes with which torch.compile was called


def compile(model, mode=None):
    compiled.append(mode)
    # Another backend, because making machine code would take a minute.
    return torch_compile(model, backend=os.environ.get("COMPILE_BACKEND", "eager"))


torch.compile = compile  # replaced before anything else looks at it
updates = []
register_optimizer_step_post_hook(lambda optimizer, *_: updates.append(optimizer))


def loader_knobs(loader):
    """The arguments with which a DataLoader is really built."""
    knobs = {name: getattr(loader, name) for name in ("num_workers", "pin_memory", "prefetch_factor", "persistent_workers")}
    return {**knobs, "batch_size": loader.batch_size or getattr(loader.batch_sampler, "batch_size", None)}


def all_knobs(loader, model):
    """The values of all knobs in the training. `model` is the wrapper that calls the model."""
    facts = loader_knobs(loader)
    group = updates[-1].param_groups[0]
    inner = getattr(model, "module", model)
    facts.update(
        updates=len(updates), compile=",".join(compiled), num_threads=torch.get_num_threads(),
        cudnn_benchmark=torch.backends.cudnn.benchmark, tf32=torch.backends.cuda.matmul.allow_tf32,
        optimizer=next((name for name in ("fused", "foreach") if group.get(name)), "default"),
        checkpointing=any(getattr(module, "gradient_checkpointing", False) for module in inner.modules()),
        channels_last=any(weight.dim() == 4 and weight.is_contiguous(memory_format=torch.channels_last)
                          and not weight.is_contiguous() for weight in inner.parameters()),
    )
    if inner is not model:
        facts["bucket_cap_mb"] = model.bucket_bytes_cap // 2**20
        for name in ("gradient_as_bucket_view", "static_graph", "find_unused_parameters"):
            facts[name] = getattr(model, name)
    return facts

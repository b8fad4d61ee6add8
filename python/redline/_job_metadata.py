"""Describes the job in a trace: torch and its settings, and the rank among the job's processes."""

import torch
import torch.distributed

from redline._torch_settings import nccl_version, torch_settings


def describe_job(recorder):
    """Adds `torch_version`, `torch` and, if there is a process group, `distributedInfo` to the traces of this process;
    without one they have what the launcher says. It is cheap enough for every window, and replaces what an earlier
    call added."""
    recorder.add_metadata("torch_version", torch.__version__)
    recorder.add_metadata("torch", torch_settings())
    info = distributed_info()
    if info is not None:
        recorder.add_metadata("distributedInfo", info)


def distributed_info():
    """The process group, in the fields that readers of traces know; None if there is none."""
    dist = torch.distributed
    if not dist.is_available() or not dist.is_initialized():
        return None
    info = {
        "backend": _backend(),
        "rank": dist.get_rank(),
        "world_size": dist.get_world_size(),
        "pg_count": dist.get_pg_count(),
        "pg_config": _process_groups(),
    }
    if info["backend"] == "nccl":
        info["nccl_version"] = nccl_version()
    return info


def _backend():
    """The name of the backend; where each type of device has its own, the name of that which this process uses."""
    name = torch.distributed.get_backend()
    if name != "undefined":
        return name
    by_device = dict(part.split(":") for part in torch.distributed.get_backend_config().split(","))
    # is_available() would end CUDA in forked children.
    return by_device.get("cuda" if torch.cuda.is_initialized() else "cpu", name)


def _process_groups():
    """The function is private to torch. If a torch has renamed it, the trace lacks only this list."""
    groups = getattr(torch.distributed.distributed_c10d, "_get_all_pg_configs", list)
    return groups()

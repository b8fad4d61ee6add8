"""Describes torch in a trace: its versions, and the settings that decide how fast it runs."""

import contextlib
import functools
import platform

import torch
from torch.amp.autocast_mode import autocast
from torch.nn.parameter import is_lazy

from redline._stand_in import replace

_autocast = {}  # the type that autocast was seen to use on each kind of device
_autocast_without_gradients = {}  # the same where it began without: in an evaluation, or in a job of inference
_parameters = {}  # of the model that was seen first: how many numbers of each type


def note_model(module):
    """`module` is what the job trains; None where only a compilation of it is seen. Call it while it runs."""
    note_autocast()
    if module is not None and not _parameters:
        with contextlib.suppress(Exception):  # scripts may define what their modules and parameters do
            for weight in module.parameters():
                if not is_lazy(weight) and weight.is_floating_point():
                    _parameters[_name(weight.dtype)] = _parameters.get(_name(weight.dtype), 0) + weight.numel()


def note_autocast(seen=_autocast):
    """Call it while a model trains: autocast is usually off elsewhere."""
    for device in ("cpu", "cuda"):
        if torch.is_autocast_enabled(device):
            seen[device] = _name(torch.get_autocast_dtype(device))


def autocast_seen(device, infers):
    """The type that autocast was seen to use on this kind of device, such as "bfloat16"; None where it was off. `infers`:
    the job trains nothing, so what runs without gradients is no evaluation."""
    return _autocast.get(device) or (_autocast_without_gradients.get(device) if infers else None)


@functools.cache
def watch_autocast():
    """Notes autocast where it begins, too: accelerate and transformers put it into the model's forward, so it is off
    when the model is called."""
    def enter(original, region):
        entered = original(region)
        note_autocast(_autocast if torch.is_grad_enabled() else _autocast_without_gradients)
        return entered

    replace(autocast, "__enter__", enter)


def torch_settings():
    """The settings now; cheap enough for every window. `autocast` and `parameters` are left out if none were seen, and so
    is each setting that this torch does not tell."""
    note_autocast()
    settings = {}
    for name, read in _FACTS.items():
        try:
            settings[name] = read()
        except (AttributeError, RuntimeError):  # this torch lacks it, or the script set it by its old and its new name
            continue
    if _autocast:
        settings["autocast"] = dict(_autocast)
    if _parameters:
        settings["parameters"] = dict(_parameters)
    return settings


@functools.cache
def _cudnn_version():
    # As torch.backends.cudnn.version(), which also asks CUDA for its devices: after that, torch refuses CUDA to
    # children that the process forks.
    major, minor, patch = torch._C._cudnn.getRuntimeVersion()
    return major * (10000 if major >= 9 else 1000) + minor * 100 + patch


@functools.cache
def nccl_version():
    return ".".join(map(str, torch.cuda.nccl.version()))


_FACTS = {
    "version": lambda: torch.__version__,
    "python": platform.python_version,
    "cuda": lambda: torch.version.cuda,
    "cudnn": _cudnn_version,
    "nccl": nccl_version,
    "cudnn_benchmark": lambda: torch.backends.cudnn.benchmark,
    "cudnn_deterministic": lambda: torch.backends.cudnn.deterministic,
    "cudnn_allow_tf32": lambda: torch.backends.cudnn.allow_tf32,
    "matmul_allow_tf32": lambda: torch.backends.cuda.matmul.allow_tf32,
    "matmul_fp32_precision": lambda: torch.backends.cuda.matmul.fp32_precision,
    "float32_matmul_precision": torch.get_float32_matmul_precision,
    "deterministic_algorithms": torch.are_deterministic_algorithms_enabled,
    "default_dtype": lambda: _name(torch.get_default_dtype()),
    "num_threads": torch.get_num_threads,
    "num_interop_threads": torch.get_num_interop_threads,
}


def _name(dtype):
    return str(dtype).removeprefix("torch.")

"""Small trainings for recorded sweeps: each has a model, fitting data, and the knobs of a full grid."""

import dataclasses
import pathlib
import sys
from typing import Callable

import numpy
import torch
from record_models import MODELS
from torch.utils.data import Dataset

BATCHES = (4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
SWITCH = ("off", "on")
AMP = ("off", "bf16")
MB = 1_000_000


@dataclasses.dataclass
class Workload:
    model: Callable[[], torch.nn.Module]
    data: Dataset
    knobs: dict  # name -> every value of the grid
    defaults: dict  # what the script itself would use
    memory_limit: int  # of each process's data, as RLIMIT_DATA counts it, or of PyTorch's on the GPU
    ranks: int = 1
    device: str = "cpu"


class Images(Dataset):
    """Images of one shape. Each is turned and blurred `work` times, which stands for a data pipeline."""

    def __init__(self, side, work):
        self.pixels = numpy.random.default_rng(0).random((256, 3, side, side), dtype=numpy.float32)
        self.work = work

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        image = self.pixels[index % 256]
        for _ in range(self.work):
            image = (image + numpy.roll(image[:, :, ::-1], 1, axis=1)) / 2
        return torch.from_numpy(numpy.ascontiguousarray(image)), index % 10


class Tokens(Dataset):
    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        return (torch.arange(16) * (index % 97)) % 100, index % 10


def model_of(name):
    return lambda: MODELS[name]().model


def resnet50():
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "scripts/gpu_check/training"))
    import models

    return models.resnet50()


WORKLOADS = {
    "cnn": Workload(
        model_of("cnn"),
        Images(16, work=1),
        {"batch_size": BATCHES[1:], "num_workers": (0, 1, 2), "amp": AMP, "channels_last": SWITCH},
        {"batch_size": 32, "num_workers": 0, "amp": "off", "channels_last": "off"},
        memory_limit=900 * MB,
    ),
    "resnet18": Workload(
        model_of("resnet18"),
        Images(32, work=1),
        {"batch_size": BATCHES[:9], "num_workers": (0, 1), "amp": AMP, "channels_last": SWITCH},
        {"batch_size": 16, "num_workers": 0, "amp": "off", "channels_last": "off"},
        memory_limit=985 * MB,
    ),
    "transformer": Workload(
        model_of("transformer"),
        Tokens(),
        {"batch_size": BATCHES, "num_workers": (0, 1), "amp": AMP, "threads": (1, 2)},
        {"batch_size": 16, "num_workers": 0, "amp": "off", "threads": 1},
        memory_limit=925 * MB,
    ),
    "loader": Workload(
        model_of("cnn"),
        Images(16, work=60),
        {"batch_size": BATCHES[1::2], "num_workers": (0, 1, 2, 3, 4), "prefetch_factor": (1, 2, 4)},
        {"batch_size": 24, "num_workers": 0, "prefetch_factor": 2},
        memory_limit=900 * MB,
    ),
    "ddp": Workload(
        model_of("resnet18"),
        Images(16, work=1),
        {"batch_size": BATCHES[:9], "accumulation": (1, 2, 4), "amp": AMP, "bucket_cap_mb": (1, 25)},
        {"batch_size": 8, "accumulation": 1, "amp": "off", "bucket_cap_mb": 25},
        memory_limit=945 * MB,
        ranks=2,
    ),
    "resnet50_gpu": Workload(
        resnet50,
        Images(96, work=3),
        {
            "batch_size": (16, 32, 64, 128, 256, 512, 1024),
            "num_workers": (0, 4, 12),
            "amp": AMP,
            "channels_last": SWITCH,
            "cudnn_benchmark": SWITCH,
        },
        {"batch_size": 32, "num_workers": 0, "amp": "off", "channels_last": "off", "cudnn_benchmark": "off"},
        memory_limit=12_000 * MB,
        device="cuda",
    ),
}

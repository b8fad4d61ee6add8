"""One case of what_if.py: a small training as it is and with a change.

It records some steps of the first. Then both train in turns, block after block, in one process (or in one a rank), so
that other work on the machine disturbs them alike. Rank 0 prints the time of a step in each block.
"""

import argparse
import json
import os
import pathlib
import sys
import time

import torch
import torch.distributed as dist
from places import ROOT
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

sys.path.insert(0, str(ROOT / "python"))
RECORDED = 12  # steps
BLOCK = 12
SETTLING = 4  # steps before a block: a worker made batches while the other side trained


class Samples(Dataset):
    """The first sample of each batch takes `delay_s` longer."""

    def __init__(self, shape, batch, delay_s):
        self.shape, self.batch, self.delay_s = shape, batch, delay_s

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        if self.delay_s and index % self.batch == 0:
            time.sleep(self.delay_s)
        return torch.full(self.shape, index % 10 / 10), index % 10


class Mlp(nn.Module):
    def __init__(self, width, sums):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(256, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.head, self.sums = nn.Linear(width, 10), sums

    def forward(self, x):
        x = self.layers(x)
        with torch.no_grad():
            for _ in range(self.sums):
                x.cumsum(1)
        return self.head(x)


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(64, 4, 256, batch_first=True, dropout=0)
        self.into, self.blocks, self.head = nn.Linear(16, 64), nn.TransformerEncoder(layer, 2), nn.Linear(64, 10)

    def forward(self, x):
        return self.head(self.blocks(self.into(x.view(len(x), 16, 16))).mean(1))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(32, 128, batch_first=True), nn.Linear(128, 10)

    def forward(self, x):
        return self.head(self.lstm(x.view(len(x), 8, 32))[0][:, -1])


class Vit(nn.Module):
    """Patches of 4x4 pixels, two encoder layers."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(64, 4, 256, batch_first=True, dropout=0)
        self.patches, self.head = nn.Conv2d(3, 64, 4, 4), nn.Linear(64, 10)
        self.blocks = nn.TransformerEncoder(layer, 2)

    def forward(self, x):
        return self.head(self.blocks(self.patches(x).flatten(2).transpose(1, 2)).mean(1))


def cnn():
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1),
                         nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(512, 10))


MODELS = {"cnn": cnn, "lstm": Lstm, "transformer": Transformer, "vit": Vit}


class Training:
    """`options`: model, batch, delay (of the loader, ms), workers, sums, amp, reduce (MB), late (ms, rank 1)."""

    def __init__(self, model="mlp", batch=64, delay=0, workers=0, sums=0, width=1024, amp=False, reduce=0, late=0):
        torch.manual_seed(0)
        shape = (3, 32, 32) if model in ("cnn", "vit") else (256,)
        self.model = Mlp(width, sums) if model == "mlp" else MODELS[model]()
        self.optimizer = torch.optim.SGD(self.model.parameters(), 1e-3)
        loader = DataLoader(Samples(shape, batch, delay / 1000), batch, num_workers=workers)
        self.batches = iter(loader)
        self.amp, self.late = amp, late / 1000
        self.gradients = torch.zeros(int(reduce * 250_000)) if reduce else None

    def step(self):
        inputs, labels = next(self.batches)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.amp):
            loss = functional.cross_entropy(self.model(inputs).float(), labels)
        self.optimizer.zero_grad()
        loss.backward()
        if self.late and dist.get_rank() == 1:
            time.sleep(self.late)
        if self.gradients is not None:
            dist.all_reduce(self.gradients)
        self.optimizer.step()


def seconds_a_step(training):
    for _ in range(SETTLING):
        training.step()
    begin = time.perf_counter()
    for _ in range(BLOCK):
        training.step()
    return (time.perf_counter() - begin) / BLOCK


def record(training, path):
    import redline

    with redline.profile(record_shapes=True, schedule=redline.schedule(wait=SETTLING, warmup=1, active=RECORDED),
                         on_trace_ready=lambda recording: recording.export_chrome_trace(str(path))) as recording:
        for _ in range(SETTLING + 1 + RECORDED):
            training.step()
            recording.step()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case", type=json.loads)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--rounds", type=int)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rank = int(os.environ.get("RANK", 0))
    if "RANK" in os.environ:
        dist.init_process_group("gloo", init_method=f"file://{arguments.folder}/store", rank=rank, world_size=2)
    before, after = (Training(**arguments.case[side]) for side in ("before", "after"))
    for training in (before, after):
        seconds_a_step(training)
    record(before, arguments.folder / f"rank{rank}.pt.trace.json")
    measured = {"before": [], "after": []}
    for turn in range(arguments.rounds):
        sides = [("before", before), ("after", after)]
        for side, training in sides if turn % 2 == 0 else reversed(sides):
            measured[side].append(seconds_a_step(training))
    if rank == 0:
        print(json.dumps(measured))
    sys.stdout.flush()
    os._exit(0)  # workers that wait for their queues would hold the exit up


if __name__ == "__main__":
    main()

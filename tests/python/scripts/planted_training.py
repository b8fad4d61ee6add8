"""A small training with one planted fault, which the verdict on its run must name. Without --plant it is healthy.

A plant costs a multiple of a step, so that a busy machine does not hide it. What it waits for is asleep, what it works
for is the model's own work.
"""

import argparse
import contextlib
import gc
import mmap
import os
import random
import signal
import time

import torch
import torch.distributed
from together import leave_together
from torch import nn
from torch.utils.data import DataLoader, Dataset, DistributedSampler

PLANTS = ("slow_loader", "loader_stalls", "slow_disk", "loader_slower", "late_rank", "leak", "uneven_rank", "evaluation",
          "checkpoint", "garbage", "lengths", "recompiles", "oversubscribed", "killed", "exception", "oom",
          "forward_slower", "sleeps", "warm_up")
WORDS = 500


class Samples(Dataset):
    """Its n-th batch has the same samples in each run. The loader's faults are its own."""

    def __init__(self, job, batches, is_training=True):
        self.job, self.batches, self.is_training = job, batches, is_training
        self.inputs = torch.randn(64, *job.shape)
        if job.plant == "slow_disk":
            self.file = os.path.join(job.folder, f"samples{job.rank}.bin")
            with open(self.file, "wb") as file:
                file.write(bytes(1 << 16))

    def __len__(self):
        return self.batches * self.job.batch * self.job.world

    def __getitem__(self, index):
        job, position = self.job, index // self.job.world
        if self.is_training and position % job.batch == 0:
            self.delay(position // job.batch)
        if job.model == "gru":
            words = torch.randint(WORDS, (job.length,), generator=torch.Generator().manual_seed(index))
            return words, torch.tensor(index % 10)
        return self.inputs[index % 64], torch.tensor(index % 10)

    def delay(self, batch):
        job = self.job
        is_late = batch >= job.steps // 2
        if job.plant == "slow_loader":
            time.sleep(0.06)
        elif job.plant == "loader_stalls" and batch % 25 == 12:
            time.sleep(0.6)
        elif job.plant == "loader_slower" and is_late:
            time.sleep(0.06)
        elif job.plant == "late_rank" and is_late and job.rank == 1:
            time.sleep(0.08)
        elif job.plant == "slow_disk":
            with open(self.file, "rb", buffering=0) as file:
                while file.read(4096):
                    time.sleep(0.004)  # what a block of a far disk takes


class SlowFile:
    """A file on a slow disk."""

    def __init__(self, path):
        self.file = open(path, "wb")

    def write(self, data):
        time.sleep(0.02)
        return self.file.write(data)

    def flush(self):
        self.file.flush()


class Model(nn.Module):
    def __init__(self, job):
        super().__init__()
        self.job = job
        self.step = 0
        if job.model == "mlp":
            self.body = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU())
            width = 1024
        elif job.model == "cnn":
            self.body = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, stride=2),
                                      nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten())
            width = 1024
        elif job.model == "transformer":
            layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
            self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            width = 128
        else:
            self.embedding = nn.Embedding(WORDS, 64)
            self.body = nn.GRU(64, 128, batch_first=True)
            width = 128
        self.head = nn.Linear(width, 10)

    def forward(self, inputs):
        job = self.job
        if job.model == "gru":
            inputs = self.embedding(inputs)
        hidden = self.body(inputs)
        # A number that changes with each step would make torch.compile compile in each.
        if self.training and job.plant in ("uneven_rank", "forward_slower", "warm_up"):
            self.delay(inputs)
            self.step += 1
        if job.model == "gru":
            hidden = hidden[0]
        return self.head(hidden.mean(1) if hidden.dim() == 3 else hidden)

    def delay(self, inputs):
        job = self.job
        more = 0
        if job.plant == "uneven_rank" and job.rank == 1:
            more = 8
        elif job.plant == "forward_slower" and self.step >= job.steps // 2:
            more = 8
        elif job.plant == "warm_up" and self.step < 6:
            time.sleep(1)
        with torch.no_grad():
            for _ in range(more):
                self.body(inputs)


def arguments_of_job():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plant", choices=PLANTS)
    parser.add_argument("--model", choices=["mlp", "cnn", "gru", "transformer"], default="mlp")
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--evaluate-every", type=int, default=0)
    parser.add_argument("--save-every", type=int, default=0)
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--jitter", action="store_true", help="steps vary a little")
    parser.add_argument("--traceml", action="store_true", help="what TraceML wants in a loop")
    parser.add_argument("--folder", required=True, help="for files")
    job = parser.parse_args()
    job.rank, job.world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    # The ranks of a small model on small batches would rightly be told that they wait for each other.
    job.batch = {"mlp": 128 * job.world, "cnn": 32, "gru": 32, "transformer": 16}[job.model]
    job.shape = {"mlp": (512,), "cnn": (3, 32, 32), "gru": (1,), "transformer": (64, 128)}[job.model]
    job.length = 48
    return job


def pad_to_longest(samples):
    """A batch of sequences of one length, which differs from batch to batch."""
    length = random.choice((8, 24, 48, 96, 160))
    words = torch.stack([sample[0].repeat(4)[:length] for sample in samples])
    return words, torch.stack([sample[1] for sample in samples])


def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        for inputs, _ in loader:
            model(inputs)
    model.train()


def save(job, model, path):
    if job.plant != "checkpoint":
        torch.save(model.state_dict(), path)
        return
    file = SlowFile(path)
    torch.save(model.state_dict(), file)
    file.file.close()


def between_steps(job, step, kept):
    if job.plant == "leak":
        # With 2 MiB a step, a virtual machine took 5 ms more for them from 1.4 GiB on: a slow-down of its own.
        kept.append(mmap.mmap(-1, 1 << 18, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
        kept[-1].write(bytes(1 << 18))
    elif job.plant == "garbage" and step % 4 == 0:
        gc.collect()
    elif job.plant == "sleeps" and random.random() < 0.03:
        time.sleep(0.6)
    elif job.plant == "oom" and step % 60 == 20:
        try:
            torch.empty(1 << 50)
        except RuntimeError:
            pass
    elif job.rank == 1 and step == job.steps * 2 // 3:
        if job.plant == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        elif job.plant == "exception":
            raise ValueError("label 10 of 10 classes")


def begin_traceml():
    """Gives what is to stand around the body of the loop."""
    import traceml_ai

    traceml_ai.init(mode="auto")
    return traceml_ai.trace_step


def main():
    job = arguments_of_job()
    around_step = begin_traceml() if job.traceml else contextlib.nullcontext
    torch.manual_seed(0)
    random.seed(job.rank)
    torch.set_num_threads(16 if job.plant == "oversubscribed" else job.threads)
    if job.world > 1:
        torch.distributed.init_process_group("gloo")
    training, held_out = Samples(job, job.steps * job.accumulate), Samples(job, 8, is_training=False)
    sampler = DistributedSampler(training, shuffle=False) if job.world > 1 else None
    collate = pad_to_longest if job.plant == "lengths" else None
    loader = DataLoader(training, job.batch, sampler=sampler, num_workers=job.workers, collate_fn=collate)
    held_out = DataLoader(held_out, job.batch * job.world)
    model = Model(job)
    plain = model
    if job.plant == "recompiles":
        torch._dynamo.config.recompile_limit = 64
        model = torch.compile(model, backend="eager", dynamic=False)
    elif job.world > 1:
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    kept = [{"number": i, "pair": [i]} for i in range(400_000)] if job.plant == "garbage" else []
    evaluate_every = 5 if job.plant == "evaluation" else job.evaluate_every
    save_every = 10 if job.plant == "checkpoint" else job.save_every
    path = os.path.join(job.folder, f"model{job.rank}.pt")
    for number, (inputs, labels) in enumerate(loader):
        with around_step(model):
            step = number // job.accumulate
            if job.plant == "recompiles" and step % 12 == 11:
                inputs, labels = inputs[: 20 + step // 4], labels[: 20 + step // 4]
            loss = criterion(model(inputs), labels)
            loss.backward()
            if number % job.accumulate < job.accumulate - 1:
                continue
            optimizer.step()
            optimizer.zero_grad()
            if job.jitter:
                time.sleep(random.uniform(0, 0.004))
            if evaluate_every and step % evaluate_every == evaluate_every - 1:
                evaluate(plain, held_out)
            if save_every and step % save_every == save_every - 1 and job.rank == 0:
                save(job, plain, path)
            between_steps(job, step, kept)
    if job.world > 1:
        leave_together()


if __name__ == "__main__":
    main()

"""Small trainings in rarer styles, each in a forked process of its own: as they are, with the knob accumulation, and, for
comparison, with the batch that the knob makes of several. Prints what came of each as one JSON object."""

import json
import os
import sys
import tempfile

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from redline._knobs import Knobs, parse

BATCH, BATCHES, SAMPLES = 4, 4, 96


class Notes(Knobs):
    def __init__(self, values):
        super().__init__(values, None)
        self.notes = []

    def note(self, text):
        self.notes.append(text)


def batches(size):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(SAMPLES, 8, generator=generator).split(size)


def training(size, change=lambda parameter: None, backward=lambda loss: loss.mean().backward(), clear=None):
    """One optimizer that steps after each batch; `change` does something to each gradient before."""
    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for batch in batches(size):
        backward(model(batch).pow(2))
        for parameter in model.parameters():
            change(parameter)
        optimizer.step()
        optimizer.zero_grad() if clear is None else clear(model)
    return {"weights": model.weight.flatten().tolist()}


def grows(size):
    """Steps after each batch at first and later after two, as ultralytics does in its warm-up."""
    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for batch in batches(size)[: BATCH * BATCHES // size]:
        model(batch).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    for number, batch in enumerate(batches(BATCH)[BATCHES:]):
        model(batch).pow(2).mean().backward()
        if number % 2:
            optimizer.step()
            optimizer.zero_grad()
    return {"weights": model.weight.flatten().tolist()}


def unscales(of):
    return lambda size: training(size, lambda parameter: of(parameter.grad).div_(64),
                                 lambda losses: (64 * losses.mean()).backward())


def new_schedule_within_a_step(size):
    model, rates = nn.Linear(8, 1), []
    for _ in range(2):
        optimizer = torch.optim.SGD(model.parameters(), 0.5)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
        rates += schedule.get_last_lr()
        for batch in batches(size)[:6]:
            model(batch).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    return {"rates": rates}


def epochs_of_two_batches(size):
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), 1.0)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    for number, batch in enumerate(batches(size), 1):
        model(batch).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if number % 2 == 0:
            schedule.step()
    return {"epochs": schedule.last_epoch}


def two_optimizers(size):
    """The first one loses the step that was held back before the second one showed itself."""
    torch.manual_seed(0)
    models = [nn.Linear(8, 1) for _ in range(2)]
    optimizers = [torch.optim.SGD(model.parameters(), 0.1) for model in models]
    for batch in batches(size):
        for model, optimizer in zip(models, optimizers):
            optimizer.zero_grad()
            model(batch).pow(2).mean().backward()
            optimizer.step()
    return {"weights": models[1].weight.flatten().tolist()}


def rank_of(train):
    """Of a job of two ranks that train on other samples: whether their weights agree at the end."""

    def run(_):
        with tempfile.TemporaryDirectory() as folder:
            other = os.fork()
            rank = int(other == 0)
            store = torch.distributed.FileStore(folder + "/store", 2)
            torch.distributed.init_process_group("gloo", store=store, rank=rank, world_size=2)
            models = train(rank)
            weights = torch.cat([parameter.detach().flatten() for model in models for parameter in model.parameters()])
            both = [torch.empty_like(weights) for _ in range(2)]
            torch.distributed.all_gather(both, weights)
            torch.distributed.barrier()
            if other == 0:
                os._exit(0)
            os.waitpid(other, 0)
        return {"apart": float((both[0] - both[1]).abs().max()),
                "reduces": [model.require_backward_grad_sync for model in models]}

    return run


def clears_gradients(rank):
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for batch in batches(BATCH)[rank::2]:
        model(batch).pow(2).mean().backward()
        optimizer.step()
        for parameter in model.parameters():
            parameter.grad = None
    return [model]


def steps_two_optimizers(rank):
    torch.manual_seed(0)
    models = [DistributedDataParallel(nn.Linear(8, 1)) for _ in range(2)]
    optimizers = [torch.optim.SGD(model.parameters(), 0.1) for model in models]
    for batch in batches(BATCH)[rank::2]:
        for model, optimizer in zip(models, optimizers):
            optimizer.zero_grad()
            model(batch).pow(2).mean().backward()
            optimizer.step()
    return models


CASES = {
    "plain": training,
    "gradient of a loss": lambda size: training(
        size, backward=lambda losses: losses.mean().backward(gradient=torch.tensor(1.0))),
    "gradients of losses": lambda size: training(
        size, backward=lambda losses: losses.backward(torch.ones_like(losses) / len(losses))),
    "unscales": unscales(lambda gradient: gradient),
    "unscales data": unscales(lambda gradient: gradient.data),
    "grows": grows,
    "new schedule": new_schedule_within_a_step,
    "short epochs": epochs_of_two_batches,
    "two optimizers": two_optimizers,
    "ranks clear": rank_of(clears_gradients),
    "ranks of two optimizers": rank_of(steps_two_optimizers),
}


def in_a_child(work):
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.close(reading)
        with os.fdopen(writing, "w") as result:
            json.dump(work(), result)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as result:
        return json.loads(result.read() or "null")


def with_knob(case):
    knobs = Notes(parse(json.dumps({"accumulation": BATCHES})))
    knobs.install()
    return {**case(BATCH), "notes": knobs.notes}


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.optim.Adam([nn.Parameter(torch.ones(1))]).step()  # what torch imports at first, for all; of SGD the knob waits
    json.dump({name: {"plain": in_a_child(lambda: case(BATCH)), "large": in_a_child(lambda: case(BATCH * BATCHES)),
                      "knob": in_a_child(lambda: with_knob(case))}
               for name, case in CASES.items()}, sys.stdout)

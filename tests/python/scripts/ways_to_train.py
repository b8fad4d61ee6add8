"""Trains a small model in the way that is named, for two epochs of 200 samples."""

import itertools
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.randn(200, 8), torch.randint(4, (200,)))
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), 0.1)


def loss_of(inputs, labels):
    return nn.functional.cross_entropy(model(inputs), labels)


def step():
    optimizer.step()
    optimizer.zero_grad()


def train(inputs, labels):
    loss_of(inputs, labels).backward()
    step()


def evaluate():
    model.eval()
    with torch.no_grad():
        for inputs, _ in DataLoader(data, 50):
            model(inputs)
    model.train()


def batches():
    return DataLoader(data, 16, shuffle=True)


def accumulates_with_a_rest():
    last = len(batches()) - 1
    for i, batch in enumerate(batches()):
        loss_of(*batch).backward()
        if i % 4 == 3 or i == last:
            step()


def takes_what_it_accumulates_at_once():
    left = iter(batches())
    while group := list(itertools.islice(left, 4)):
        for batch in group:
            loss_of(*batch).backward()
        step()


def steps_a_critic_more_often():
    critic = nn.Linear(4, 1)
    of_critic = torch.optim.SGD(critic.parameters(), 0.1)
    for i, (inputs, _) in enumerate(batches()):
        of_critic.zero_grad()
        critic(model(inputs).detach()).mean().backward()
        of_critic.step()
        if i % 5 == 4:
            critic(model(inputs)).mean().backward()
            step()


def evaluates_between_steps():
    for i, batch in enumerate(batches()):
        train(*batch)
        if i % 5 == 4:
            evaluate()


def asks_a_teacher():
    teacher = nn.Linear(8, 4).eval()
    for inputs, _ in batches():
        with torch.no_grad():
            wanted = teacher(inputs)
        (model(inputs) - wanted).pow(2).mean().backward()
        step()


def reads_two_loaders():
    for (inputs, labels), (more, _) in zip(batches(), DataLoader(data, 8, shuffle=True)):
        (loss_of(inputs, labels) + model(more).pow(2).mean()).backward()
        step()


def steps_with_a_closure():
    descent = torch.optim.LBFGS(model.parameters(), max_iter=4)

    def closure():
        descent.zero_grad()
        loss = loss_of(*batch)
        loss.backward()
        return loss

    for batch in DataLoader(data, 50):
        descent.step(closure)


def begins_passes_by_hand():
    left = iter(batches())
    for i in range(20):
        if (batch := next(left, None)) is None:
            left = iter(batches())
            batch = next(left)
        train(*batch)
        if i % 10 == 9:
            evaluate()


def computes_features_first():
    backbone = nn.Linear(8, 8).eval()
    with torch.no_grad():
        features = torch.cat([backbone(inputs) for inputs, _ in DataLoader(data, 50)])
    for batch in DataLoader(TensorDataset(features, data.tensors[1]), 16):
        train(*batch)


class Batched(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        return data[16 * index : 16 * (index + 1)]


def reads_batches_of_the_data_set():
    for batch in DataLoader(Batched(), batch_size=None):
        train(*batch)


if __name__ == "__main__":
    for _ in range(2):
        globals()[sys.argv[1]]()

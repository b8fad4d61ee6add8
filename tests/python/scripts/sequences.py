"""Trains on token ids of 24 samples x 10 places, in the ways in which ids reach a model."""

import argparse

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("how", choices=("attention", "sequence_first", "named", "sliced", "table", "micro_batches"))
parser.add_argument("--steps", type=int, default=12)
arguments = parser.parse_args()
torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 8)
        if arguments.how == "sequence_first":
            self.along = nn.LSTM(8, 8)
        elif arguments.how != "table":
            self.along = nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = nn.Linear(8, 1)

    def forward(self, input_ids, labels=None):
        x = self.embedding(input_ids)
        if arguments.how == "sequence_first":
            x, _ = self.along(x)
        elif arguments.how != "table":
            x, _ = self.along(x, x, x)
        return self.head(x).square().mean()


def collate(rows):
    if arguments.how == "sequence_first":
        return pad_sequence(rows)
    batch = torch.stack(rows)
    return {"labels": torch.ones(len(rows), dtype=torch.long), "input_ids": batch} if arguments.how == "named" else batch


model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
places = 11 if arguments.how == "sliced" else 10
loader = DataLoader(torch.randint(50, (240, places)), 24, shuffle=True, collate_fn=collate)
steps = 0
while steps < arguments.steps:
    for batch in loader:
        if arguments.how == "named":
            loss = model(**batch)
        elif arguments.how == "micro_batches":
            loss = model(batch[:7]) + model(batch[7:])
        else:
            loss = model(batch[:, :-1] if arguments.how == "sliced" else batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        steps += 1
print(f"steps {steps}")

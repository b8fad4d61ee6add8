"""word_language_model of pytorch/examples: a batch is time x samples, cut out of one long tensor without a DataLoader.
With --padded it uses a DataLoader whose collate function pads to time x samples, as pad_sequence does."""

import argparse

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

from outcome import Outcome

parser = argparse.ArgumentParser()
parser.add_argument("--batch_size", type=int, default=8)
parser.add_argument("--bptt", type=int, default=35)
parser.add_argument("--steps", type=int, default=12)
parser.add_argument("--padded", action="store_true")
arguments = parser.parse_args()
torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self, words=100, width=32):
        super().__init__()
        self.encoder = nn.Embedding(words, width)
        self.rnn = nn.LSTM(width, width)
        self.decoder = nn.Linear(width, words)

    def forward(self, tokens):
        return self.decoder(self.rnn(self.encoder(tokens))[0])


def get_batch(source, i):
    length = min(arguments.bptt, len(source) - 1 - i)
    return source[i:i + length], source[i + 1:i + 1 + length]


model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1) if arguments.padded else None  # by hand, as there
outcome = Outcome()


def train(data, targets, samples):
    model.zero_grad()
    loss = nn.functional.cross_entropy(model(data).flatten(0, 1), targets.flatten())
    loss.backward()
    if optimizer is None:
        for parameter in model.parameters():
            parameter.data.add_(parameter.grad, alpha=-0.1)
    else:
        optimizer.step()
    outcome.step(loss, samples)


if arguments.padded:
    sentences = [torch.randint(100, (20 + i % 16,)) for i in range(4096)]
    loader = DataLoader(sentences, batch_size=arguments.batch_size, shuffle=True, collate_fn=pad_sequence)
    batches = iter(loader)
    for _ in range(arguments.steps):
        try:
            batch = next(batches)
        except StopIteration:
            batches = iter(loader)
            batch = next(batches)
        train(batch[:-1], batch[1:], batch.size(1))
else:
    tokens = torch.randint(100, (200_000 // arguments.batch_size * arguments.batch_size,))
    source = tokens.view(arguments.batch_size, -1).t().contiguous()
    i = 0
    for _ in range(arguments.steps):
        data, targets = get_batch(source, i)
        train(data, targets, data.size(1))
        i = (i + arguments.bptt) % (len(source) - arguments.bptt - 1)
outcome.print()

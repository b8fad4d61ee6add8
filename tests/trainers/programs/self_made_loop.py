"""nanoGPT: cuts batches out of one array by hand, without a DataLoader, accumulates the gradients of several
micro-batches in the loop, and computes the loss in the model."""

import argparse
import contextlib

import torch
from torch import nn

from outcome import Outcome

parser = argparse.ArgumentParser()
parser.add_argument("--batch_size", type=int, default=4)
parser.add_argument("--block_size", type=int, default=32)
parser.add_argument("--gradient_accumulation_steps", type=int, default=2)
parser.add_argument("--steps", type=int, default=12)
arguments = parser.parse_args()
torch.manual_seed(1337)
data = torch.randint(65, (20_000,))


def get_batch():
    places = torch.randint(len(data) - arguments.block_size, (arguments.batch_size,))
    x = torch.stack([data[i:i + arguments.block_size] for i in places])
    y = torch.stack([data[i + 1:i + 1 + arguments.block_size] for i in places])
    return x, y


class GPT(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.wte = nn.Embedding(65, width)
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.h = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.lm_head = nn.Linear(width, 65, bias=False)

    def forward(self, idx, targets=None):
        logits = self.lm_head(self.h(self.wte(idx)))
        loss = None if targets is None else nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return logits, loss


model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
outcome = Outcome()
X, Y = get_batch()
while len(outcome.losses) < arguments.steps:
    for _ in range(arguments.gradient_accumulation_steps):
        with contextlib.nullcontext():
            logits, loss = model(X, Y)
            loss = loss / arguments.gradient_accumulation_steps
        X, Y = get_batch()
        loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    outcome.step(loss, arguments.batch_size * arguments.gradient_accumulation_steps)
if len(outcome.ends_s) > 3:
    print(f"{sum(outcome.samples[3:]) / (outcome.ends_s[-1] - outcome.ends_s[2]):.1f} samples/s")
outcome.print()

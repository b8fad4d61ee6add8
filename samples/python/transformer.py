"""A small GPT on bytes, in tokens a second.

    python transformer.py                           attention in one call: scaled_dot_product_attention
    python transformer.py --attention written-out   the same in five operators, with all scores in memory
    python transformer.py --text book.txt           learns this file; without it a made sequence of bytes

Redline finds batch size and precision without a change: autotune --metric 'tokens/s ([0-9.]+)' …
"""

import argparse
import pathlib
import time

import torch
import torch.nn.functional as functional
from torch import nn

WARM_UP = 2
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Block(nn.Module):
    def __init__(self, width, heads, written_out):
        super().__init__()
        self.heads = heads
        self.written_out = written_out
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.queries_keys_values = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def attend(self, q, k, v):
        if not self.written_out:
            return functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        return scores.masked_fill(future, -torch.inf).softmax(-1) @ v

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.queries_keys_values(self.norm1(x)).view(batch, length, 3, self.heads, -1)
        attended = self.attend(*parts.permute(2, 0, 3, 1, 4)).transpose(1, 2).reshape(batch, length, width)
        x = x + self.projection(attended)
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    def __init__(self, arguments):
        super().__init__()
        width = arguments.width
        self.bytes = nn.Embedding(256, width)
        self.places = nn.Embedding(arguments.length, width)
        written_out = arguments.attention == "written-out"
        self.blocks = nn.Sequential(*(Block(width, arguments.heads, written_out) for _ in range(arguments.layers)))
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 256))

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.blocks(self.bytes(tokens) + self.places(places)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attention", choices=("one-call", "written-out"), default="one-call")
    parser.add_argument("--text", type=pathlib.Path)
    parser.add_argument("--batch-size", type=int, default=8)
    for name, default in (("length", 256), ("width", 128), ("heads", 4), ("layers", 4), ("steps", 20)):
        parser.add_argument(f"--{name}", type=int, default=default)
    arguments = parser.parse_args()

    torch.manual_seed(0)
    text = arguments.text.read_bytes() if arguments.text else bytes(i * i % 251 for i in range(100_000))
    text = torch.frombuffer(bytearray(text), dtype=torch.uint8).long().to(device)
    model = Gpt(arguments).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(WARM_UP + arguments.steps):
        begins = torch.randint(len(text) - arguments.length, (arguments.batch_size, 1), device=device)
        window = text[begins + torch.arange(arguments.length + 1, device=device)]
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(window[:, :-1]).flatten(0, 1), window[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        if step == WARM_UP - 1:
            loss.item()  # waits for the GPU
            started = time.perf_counter()
    final = loss.item()
    rate = arguments.steps * arguments.batch_size * arguments.length / (time.perf_counter() - started)
    print(f"loss {final:.4f} tokens/s {rate:.1f}")


if __name__ == "__main__":
    main()

"""Trains as HuggingFace's Trainer does: its own collate function pads texts of unequal length, batches are
dictionaries, the model computes its loss, and a linear warm-up steps after each step."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, RandomSampler


class Texts(Dataset):
    def __len__(self):
        return 512

    def __getitem__(self, index):
        length = 3 + index % 5
        return {"input_ids": [(index * 7 + i) % 50 + 1 for i in range(length)], "label": index % 2}


def pad(examples):
    longest = max(len(example["input_ids"]) for example in examples)
    ids = torch.zeros(len(examples), longest, dtype=torch.long)
    for row, example in zip(ids, examples):
        row[: len(example["input_ids"])] = torch.tensor(example["input_ids"])
    return {"labels": torch.tensor([example["label"] for example in examples]), "input_ids": ids}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(51, 8, padding_idx=0)
        self.head = nn.Linear(8, 2)

    def forward(self, input_ids=None, labels=None):
        logits = self.head(self.embedding(input_ids).sum(dim=1))
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--max-steps", type=int, default=8)
    parser.add_argument("--per-device-train-batch-size", type=int, default=8)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    data = Texts()
    sampler = RandomSampler(data, generator=torch.Generator().manual_seed(1))
    size = arguments.per_device_train_batch_size
    loader = DataLoader(data, batch_size=size, sampler=sampler, collate_fn=pad, drop_last=True)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 4))
    steps = 0
    model.train()
    while steps < arguments.max_steps:
        for batch in loader:
            outputs = model(**batch)
            outputs["loss"].backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            model.zero_grad()
            steps += 1
            if steps == arguments.max_steps:
                break
    model.eval()
    with torch.no_grad():
        loss = model(**pad([data[index] for index in range(64)]))["loss"]
    print(f"loss {float(loss):.6f} rate {schedule.get_last_lr()[0]:.6f}")


if __name__ == "__main__":
    main()

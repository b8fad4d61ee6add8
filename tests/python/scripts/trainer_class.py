"""Trains as Lightning does: a module defines the step, and a trainer owns the loop, clipping, the schedule and, if
asked for, a scaler."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(48, 16), nn.Tanh(), nn.Linear(16, 3))

    def forward(self, inputs):
        return self.body(inputs)

    def training_step(self, batch, index):
        inputs, targets = batch
        return nn.functional.cross_entropy(self(inputs), targets)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=0.01)
        return optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 4, gamma=0.5)


class Trainer:
    def __init__(self, max_steps, precision):
        self.max_steps = max_steps
        self.scaler = torch.amp.GradScaler("cpu") if precision == "fp16" else None

    def fit(self, model, loader):
        optimizer, schedule = model.configure_optimizers()
        steps = 0
        while True:
            for index, batch in enumerate(loader):
                optimizer.zero_grad(set_to_none=True)
                with torch.autocast("cpu", torch.float16, enabled=self.scaler is not None):
                    loss = model.training_step(batch, index)
                self._step(model, optimizer, loss)
                schedule.step()
                steps += 1
                if steps == self.max_steps:
                    return schedule.get_last_lr()[0]

    def _step(self, model, optimizer, loss):
        if self.scaler is None:
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            return
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        self.scaler.step(optimizer)
        self.scaler.update()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--precision", default="32")
    parser.add_argument("--batch-size", type=int, default=8)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    inputs = torch.randn(1024, 3, 4, 4)
    data = TensorDataset(inputs, inputs.mean(dim=(1, 2, 3)).mul(8).long().clamp(0, 2))
    model = Classifier()
    loader = DataLoader(data, batch_size=arguments.batch_size, shuffle=True)
    rate = Trainer(arguments.steps, arguments.precision).fit(model, loader)
    model.eval()
    with torch.no_grad():
        print(f"loss {float(nn.functional.cross_entropy(model(inputs), data.tensors[1])):.6f} rate {rate:.6f}")

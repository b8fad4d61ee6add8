"""A training with whatever a step log tells of, each switched on by its name. Prints its last loss exactly."""

import argparse
import gc
import os
import signal
import sys
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset):
    def __init__(self, delay):
        self.delay = delay

    def __len__(self):
        return 32

    def __getitem__(self, index):
        time.sleep(self.delay)
        torch.manual_seed(index)
        return torch.randn(8), torch.tensor(index % 2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="*")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--delay", type=float, default=0.0)
    arguments = parser.parse_args()
    what = set(arguments.what)
    torch.manual_seed(0)
    loader = DataLoader(Samples(arguments.delay), batch_size=8, num_workers=2 if "workers" in what else 0)
    held_out = DataLoader(Samples(0), batch_size=8)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    if "closure" in what:
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2)
    else:
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
    criterion = nn.CrossEntropyLoss()
    step = 0
    for epoch in range(arguments.epochs):
        for inputs, labels in loader:
            def closure():
                optimizer.zero_grad()
                loss = criterion(model(inputs), labels)
                loss.backward()
                return loss

            if "closure" in what:
                loss = optimizer.step(closure)
            else:
                loss = closure()
                optimizer.step()
            step += 1
            if "collect" in what:
                gc.collect()
            if "oom" in what and step == 2:
                try:
                    torch.empty(1 << 50)
                except RuntimeError:
                    pass
        if "evaluate" in what:
            model.eval()
            with torch.no_grad():
                for inputs, _ in held_out:
                    model(inputs)
            model.train()
        if "save" in what:
            with tempfile.TemporaryDirectory() as folder:
                torch.save(model.state_dict(), os.path.join(folder, f"epoch{epoch}.pt"))
    print(f"loss bits {float(loss.detach()).hex()}", flush=True)
    if "raise" in what:
        raise KeyError("three")
    if "exit" in what:
        sys.exit(7)
    if "hard" in what:
        os._exit(5)
    if "kill" in what:
        os.kill(os.getpid(), signal.SIGKILL)
    if "terminate" in what:
        os.kill(os.getpid(), signal.SIGTERM)
    if "wait" in what or "terminate" in what:
        time.sleep(600)


if __name__ == "__main__":
    main()

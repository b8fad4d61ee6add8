"""Trainings whose steps no optimizer shows: SGD written by hand as in the first tutorials, a step that is compiled as
a whole, and forward passes alone (of a model or of a function) within a range that marks the step."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("how", choices=("by_hand", "by_grad", "compiled", "only_forward", "marked", "by_function"))
    parser.add_argument("--steps", type=int, default=100)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(160, 4), torch.randn(160, 1))
    loader = DataLoader(data, 16, shuffle=True)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(inputs, targets):
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    while arguments.how == "by_function":
        with torch.profiler.record_function("my step"):
            torch.ones(2).sin()
    compiled = torch.compile(step, backend="eager")
    steps = 0
    while steps < arguments.steps:
        for inputs, targets in loader:
            if arguments.how == "compiled":
                compiled(inputs, targets)
            elif arguments.how == "marked":
                with torch.profiler.record_function("my step"):
                    model(inputs)
                optimizer.step()
                optimizer.step()
            else:
                loss = nn.functional.mse_loss(model(inputs), targets)
            if arguments.how == "by_hand":
                loss.backward()
                with torch.no_grad():
                    for parameter in model.parameters():
                        parameter -= 0.01 * parameter.grad
                        parameter.grad = None
            if arguments.how == "by_grad":
                for parameter, grad in zip(model.parameters(), torch.autograd.grad(loss, list(model.parameters()))):
                    parameter.data -= 0.01 * grad
            steps += 1
    print(f"steps {steps}")


if __name__ == "__main__":
    main()

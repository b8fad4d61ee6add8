"""A training as in tutorials: one process, and no argument for any knob. Prints its batch sizes and the exact last
loss."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--amp", choices=("off", "bf16", "fp16"), default="off")
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--accumulation", type=int, default=1)
    parser.add_argument("--rprop", action="store_true", help="an optimizer that has no fused implementation")
    parser.add_argument("--compiled", action="store_true", help="the model is called in a compiled function")
    parser.add_argument("--fail", help="raise this at step 3: memory, nan, error")
    arguments = parser.parse_args()

    torch.manual_seed(0)
    images = torch.randn(256, 3, 8, 8)
    labels = (images.mean(dim=(1, 2, 3)) > 0).long()
    data = TensorDataset(images, labels)

    # Real scripts use positional arguments and subclasses.
    class Loader(DataLoader):
        pass

    train = Loader(data, arguments.batch_size, True)
    evaluation = DataLoader(data, batch_size=5)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 6 * 6, 32), nn.Linear(32, 2)
    )
    criterion = nn.CrossEntropyLoss()
    optimizer = (torch.optim.Rprop if arguments.rprop else torch.optim.SGD)(model.parameters(), lr=0.1)
    kind = {"off": None, "bf16": torch.bfloat16, "fp16": torch.float16}[arguments.amp]
    # Only made for fp16, so that without the flag the script has neither autocast nor scaler.
    scaler = torch.amp.GradScaler("cpu") if arguments.amp == "fp16" else None

    call = torch.compile(lambda inputs: model(inputs), backend="eager") if arguments.compiled else model

    def loss_of(inputs, targets):
        if kind is None:
            return criterion(call(inputs), targets)
        with torch.autocast("cpu", dtype=kind):
            return criterion(call(inputs), targets)

    step = batches = 0
    sizes = set()
    while step < arguments.steps:
        for inputs, targets in train:
            sizes.add(len(inputs))
            loss = loss_of(inputs, targets) / arguments.accumulation
            if arguments.fail == "nan":
                loss = loss * float("nan")
            (scaler.scale(loss) if scaler else loss).backward()
            batches += 1
            if batches % arguments.accumulation:
                continue
            if scaler:
                scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            if scaler:
                scaler.step(optimizer)
                scaler.update()
            else:
                optimizer.step()
            optimizer.zero_grad()
            step += 1
            if step == 3 and arguments.fail == "memory":
                torch.empty(1 << 50, dtype=torch.uint8)
            if step == 3 and arguments.fail == "error":
                raise KeyError("three")
            if step == arguments.steps:
                break
        with torch.no_grad():
            for inputs, _ in evaluation:
                assert len(inputs) in (1, 5)
                model(inputs)
    print(f"batches of {sorted(sizes)}, autocast {torch.is_autocast_enabled('cpu')}")
    print(f"loss bits {float(loss.detach()).hex()}")


if __name__ == "__main__":
    main()

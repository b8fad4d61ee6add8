"""Puts timm's parts together as its train.py does: create_model, create_loader, create_optimizer_v2."""

import argparse

import torch
from timm import create_model
from timm.data import create_loader
from timm.optim import create_optimizer_v2

from outcome import Outcome, loader_knobs

parser = argparse.ArgumentParser()
parser.add_argument("--batch_size", type=int, default=8)
parser.add_argument("--model", default="test_vit")
parser.add_argument("--steps", type=int, default=12)
arguments = parser.parse_args()
torch.manual_seed(0)


class Images(torch.utils.data.Dataset):
    transform = None

    def __len__(self):
        return 1024

    def __getitem__(self, index):
        from PIL import Image

        return self.transform(Image.new("RGB", (40, 40), (index % 255, 9, 9))), index % 10


model = create_model(arguments.model, pretrained=False, num_classes=10, img_size=32)
loader = create_loader(Images(), input_size=(3, 32, 32), batch_size=arguments.batch_size, is_training=True,
                       num_workers=0, use_prefetcher=False, persistent_workers=False)
optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3)
outcome = Outcome()
while len(outcome.losses) < arguments.steps:
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        outcome.step(loss, len(inputs))
        if len(outcome.losses) == arguments.steps:
            break
outcome.print(knobs=loader_knobs(loader))

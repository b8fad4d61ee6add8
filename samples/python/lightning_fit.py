"""Lightning's Trainer on an autoencoder.

    python lightning_fit.py --steps 100
    python lightning_fit.py --devices 2 --strategy ddp      Lightning starts the second rank itself
    redline record -- python lightning_fit.py               records it as it is

Needs the package lightning. (This file is not called lightning.py: Python would import it instead of the package.)
"""

import argparse
import time

import torch
import torch.nn.functional as functional
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

try:
    import lightning
except ModuleNotFoundError as error:
    raise SystemExit(f"{error}. First: pip install lightning (docs/guide/trainers.md)") from None


class AutoEncoder(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(28 * 28, 64), nn.ReLU(), nn.Linear(64, 8))
        self.decoder = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 28 * 28))
        self.loss = None

    def training_step(self, batch, index):
        (images,) = batch
        flat = images.flatten(1)
        self.loss = functional.mse_loss(self.decoder(self.encoder(flat)), flat)
        return self.loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--strategy", default="auto")
    arguments = parser.parse_args()

    lightning.seed_everything(0)
    loader = DataLoader(TensorDataset(torch.randn(2048, 1, 28, 28)), arguments.batch_size, shuffle=True)
    trainer = lightning.Trainer(devices=arguments.devices, strategy=arguments.strategy, max_steps=arguments.steps,
                                logger=False, enable_checkpointing=False, enable_progress_bar=False)
    model = AutoEncoder()
    started = time.perf_counter()
    trainer.fit(model, loader)
    rate = arguments.steps * arguments.batch_size * trainer.world_size / (time.perf_counter() - started)
    if trainer.global_rank == 0:
        print(f"loss {model.loss.item():.4f} samples/s {rate:.1f}")


if __name__ == "__main__":
    main()

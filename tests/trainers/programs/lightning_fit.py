"""The example of Lightning's README: a LightningModule and a loader without shuffle. With --devices 2 Lightning itself
starts the second rank."""

import argparse
import logging
import warnings

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader

from outcome import Outcome, all_knobs

parser = argparse.ArgumentParser()
parser.add_argument("--batch_size", type=int, default=16)
parser.add_argument("--devices", type=int, default=1)
parser.add_argument("--strategy", default="auto")
parser.add_argument("--steps", type=int, default=12)
parser.add_argument("--validate", action="store_true", help="before the training, too: Lightning's sanity check")
arguments = parser.parse_args()
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.simplefilter("ignore")


class LitAutoEncoder(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(28 * 28, 64), nn.ReLU(), nn.Linear(64, 3))
        self.decoder = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 28 * 28))
        self.outcome = Outcome()

    def training_step(self, batch, batch_idx):
        x = batch.view(batch.size(0), -1)
        return nn.functional.mse_loss(self.decoder(self.encoder(x)), x)

    def validation_step(self, batch, batch_idx):
        self.training_step(batch, batch_idx)

    def on_train_start(self):
        # These are gone when fit() has ended. The tuple keeps the wrapper from becoming a submodule of this module.
        self.objects = self.trainer.train_dataloader, self.trainer.strategy.model

    def on_train_batch_end(self, outputs, batch, batch_idx):
        self.outcome.step(outputs["loss"], len(batch) * self.trainer.world_size)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    L.seed_everything(0)
    loader = DataLoader(torch.randn(2048, 1, 28, 28), batch_size=arguments.batch_size)
    trainer = L.Trainer(accelerator="cpu", devices=arguments.devices, strategy=arguments.strategy,
                        max_steps=arguments.steps, logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False)
    model = LitAutoEncoder()
    trainer.fit(model, loader, loader if arguments.validate else None)
    if trainer.global_rank == 0:
        model.outcome.print(rank=0, world=trainer.world_size, knobs=all_knobs(*model.objects),
                            epoch=trainer.num_training_batches)

"""dcgan of pytorch/examples: two models and two optimizers, the discriminator first."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader

from outcome import Outcome, loader_knobs

parser = argparse.ArgumentParser()
parser.add_argument("--batch_size", type=int, default=16)
parser.add_argument("--steps", type=int, default=12)
arguments = parser.parse_args()
torch.manual_seed(0)
netG = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64))
netD = nn.Sequential(nn.Linear(64, 64), nn.LeakyReLU(), nn.Linear(64, 1), nn.Sigmoid())
optimizerD, optimizerG = (torch.optim.Adam(net.parameters(), lr=2e-4) for net in (netD, netG))
loader = DataLoader(torch.randn(2048, 64), batch_size=arguments.batch_size, shuffle=True)
criterion = nn.BCELoss()
outcome = Outcome()
while len(outcome.losses) < arguments.steps:
    for real in loader:
        netD.zero_grad()
        ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)
        criterion(netD(real), ones).backward()
        fake = netG(torch.randn(len(real), 16))
        criterion(netD(fake.detach()), zeros).backward()
        optimizerD.step()
        netG.zero_grad()
        errG = criterion(netD(fake), ones)
        errG.backward()
        optimizerG.step()
        outcome.step(errG, len(real))
        if len(outcome.losses) == arguments.steps:
            break
outcome.print(knobs=loader_knobs(loader))

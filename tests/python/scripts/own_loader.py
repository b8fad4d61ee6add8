"""As fastai does: torch's iterator reads a loader that is no DataLoader, and an optimizer of its own updates the model.
As Keras does, the model is first called on the device "meta", with a batch that serves nothing else."""

import copy
import itertools
import sys

import torch
from torch import nn
from torch.utils.data.dataloader import _DatasetKind, _SingleProcessDataLoaderIter


class Loader:
    """What torch's iterator asks for, as fastai's _FakeLoader has it."""

    _dataset_kind = dataset_kind = _DatasetKind.Iterable
    _IterableDataset_len_called = generator = worker_init_fn = multiprocessing_context = None
    _get_shared_seed = staticmethod(lambda: None)
    _auto_collation = drop_last = pin_memory = persistent_workers = False
    in_order = True
    num_workers = timeout = 0
    prefetch_factor = 2
    pin_memory_device = ""
    collate_fn = staticmethod(lambda batch: batch)
    _index_sampler = itertools.count()

    def __init__(self, batches):
        self.dataset = self
        self.batches = batches

    def __iter__(self):
        return iter(self.batches)


class Numbers(nn.Module):
    def forward(self, inputs):
        return inputs.flatten(1).float()


def main():
    torch.manual_seed(0)
    inputs = torch.randn(10, 16, 4)
    if "bytes" in sys.argv:  # of images, which the script makes numbers later
        inputs = torch.zeros(10, 16, 1, 2, 2, dtype=torch.uint8)
    loader = Loader(list(inputs))
    model = nn.Sequential(Numbers(), nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    for batch in _SingleProcessDataLoaderIter(loader):
        copy.deepcopy(model).to("meta")(batch.to("meta"))
        break
    steps = 0
    for _ in range(12):
        for batch in _SingleProcessDataLoaderIter(loader):
            model(batch).square().mean().backward()
            for parameter in model.parameters():
                parameter.data.add_(parameter.grad, alpha=-0.01)
                parameter.grad = None
            steps += 1
    print(f"steps {steps}")


if __name__ == "__main__":
    main()

"""How many samples a training step takes, seen from outside: the batches that DataLoaders hand out."""

import collections
import functools
import statistics

import torch
from torch.utils.data.dataloader import _BaseDataLoaderIter

_TYPICAL_OF = 16  # steps


class SampleCount:
    """Samples fetched by this process, step by step of the recorded window."""

    def __init__(self):
        self._this_step = 0
        self._steps = []
        self._latest = collections.deque(maxlen=_TYPICAL_OF)

    def add(self, samples):
        self._this_step += samples

    def end_step(self, recorded):
        self._latest.append(self._this_step)
        if recorded:
            self._steps.append(self._this_step)
        self._this_step = 0

    def take_samples_per_step(self):
        """Of the window that ends here, 0 where no DataLoader of known batch size served it. The
        median, because an evaluation may have run between two steps."""
        steps, self._steps = self._steps, []
        return statistics.median_low(steps) if steps else 0

    def typical(self):
        """The median of the latest steps, recorded or not; 0 as above."""
        return statistics.median_low(self._latest) if self._latest else 0


def watch_data_loaders(count, asked=lambda: None):
    """Adds the size of each batch to `count`, and calls `asked` before each. The iterator's class is the one place that every
    DataLoader and subclass of it passes, whatever its arguments were."""
    fetch = _BaseDataLoaderIter.__next__

    @functools.wraps(fetch)
    def watched(iterator):
        asked()
        batch = fetch(iterator)
        if torch.is_grad_enabled():  # evaluation trains on nothing
            count.add(_batch_size(iterator))
        return batch

    _BaseDataLoaderIter.__next__ = watched


def _batch_size(iterator):
    """What the sampler was asked for, not the shape of a tensor: its first dimension may be time.
    0 where the data set makes the batches itself, or a sampler of the user's own does not say."""
    size = getattr(getattr(iterator, "_index_sampler", None), "batch_size", None)
    return size if isinstance(size, int) else 0

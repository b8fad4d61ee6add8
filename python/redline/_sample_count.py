"""How many samples a training step takes, seen from outside: the batches that DataLoaders hand out."""

import functools
import statistics

from torch.utils.data.dataloader import _BaseDataLoaderIter


class SampleCount:
    """Samples fetched by this process, step by step of the recorded window."""

    def __init__(self):
        self._this_step = 0
        self._steps = []

    def add(self, samples):
        self._this_step += samples

    def end_step(self, recorded):
        if recorded:
            self._steps.append(self._this_step)
        self._this_step = 0

    def take_samples_per_step(self):
        """Of the window that ends here, 0 where no DataLoader of known batch size served it. The
        median, because an evaluation may have run between two steps."""
        steps, self._steps = self._steps, []
        return statistics.median_low(steps) if steps else 0


def watch_data_loaders(count):
    """Adds the size of each batch to `count`. The iterator's class is the one place that every
    DataLoader and subclass of it passes, whatever its arguments were."""
    fetch = _BaseDataLoaderIter.__next__

    @functools.wraps(fetch)
    def watched(iterator):
        batch = fetch(iterator)
        count.add(_batch_size(iterator))
        return batch

    _BaseDataLoaderIter.__next__ = watched


def _batch_size(iterator):
    """What the sampler was asked for, not the shape of a tensor: its first dimension may be time.
    0 where the data set makes the batches itself, or a sampler of the user's own does not say."""
    size = getattr(getattr(iterator, "_index_sampler", None), "batch_size", None)
    return size if isinstance(size, int) else 0

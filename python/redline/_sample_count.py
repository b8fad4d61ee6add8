"""Counts how many samples a training step takes, by the batches that the script gets from its DataLoaders."""

import collections
import functools
import statistics
import weakref

from torch.utils.data.dataloader import _BaseDataLoaderIter

from redline._batch_samples import made_by
from redline._dispatched_batches import is_read_to_be_dispatched, watch_dispatchers
from redline._stand_in import call_through

_TYPICAL_OF = 16  # typical() is the median of so many steps


class _Pass:
    """One pass over a DataLoader, and how much it read in this step."""

    def __init__(self, iterator, ended):
        self.iterator = weakref.ref(iterator, ended)
        # The same in all passes over one loader. Holding it would keep the data set in memory. fastai's loaders share
        # their sampler, and are their own data sets.
        self.loader = (id(iterator._index_sampler), id(iterator._dataset))
        self.samples = 0
        self.tokens = 0
        self.is_new = True  # it began in this step


class SampleCount:
    """Samples fetched by this process, and tokens in them, step by step of the recorded window.

    A pass over a loader that began and ended within one step was an evaluation, even if gradients were enabled. There
    are two exceptions, in which it was training: the same loader was read in another pass of this step that goes on (an
    epoch may be shorter than a step), or nothing else was read.
    """

    def __init__(self):
        self._passes = {}  # by id of the iterator, which may be dropped before its end
        self._ended = []
        self._steps = []
        self._step_tokens = []
        self._latest = collections.deque(maxlen=_TYPICAL_OF)

    def add(self, iterator, samples, tokens=0):
        number = id(iterator)
        one = self._passes.get(number)
        if one is None:
            one = self._passes[number] = _Pass(iterator, lambda _: self._passes.pop(number, None))
        one.samples += samples
        one.tokens += tokens

    def pass_ended(self, iterator):
        if (one := self._passes.pop(id(iterator), None)) is not None:
            self._ended.append(one)

    def end_step(self, recorded, tokens=None):
        """`tokens`, if they are known better than by the batches."""
        training = self._training() if self._ended else self._passes.values()
        samples = sum(one.samples for one in training)
        if self._passes or self._ended:
            self._latest.append(samples)
        if recorded:
            self._steps.append(samples)
            self._step_tokens.append(sum(one.tokens for one in training) if tokens is None else tokens)
        self._ended = []
        for one in self._passes.values():
            one.samples, one.tokens, one.is_new = 0, 0, False

    def _training(self):
        """The passes of this step that were for training."""
        going_on = list(self._passes.values())
        training = going_on + [one for one in self._ended if not one.is_new]
        if training:
            loaders = {one.loader for one in training}
            training += [one for one in self._ended if one.is_new and one.loader in loaders]
        return training or self._ended

    def take_samples_per_step(self):
        """Samples per step of the window that ends here, and forgets them; 0 if no DataLoader was read whose samples
        are known. It is the median, because an evaluation may have run between two steps."""
        steps, self._steps, self._step_tokens = self._steps, [], []
        return statistics.median_low(steps) if steps else 0

    def tokens_per_step(self):
        """Tokens per step of the window, also as a median. take_samples_per_step() forgets them: call this before."""
        return statistics.median_low(self._step_tokens) if self._step_tokens else 0

    def typical(self):
        """The median of the latest steps, whether they were recorded or not; 0 if there are none."""
        return statistics.median_low(self._latest) if self._latest else 0


def watch_data_loaders(watcher):
    """Calls `watcher.batch_asked()` before each batch, `watcher.batch_fetched(iterator, samples, batch)` after it, and
    `watcher.pass_ended(iterator)` if none is left, but nothing while `watcher.idle` has an entry. Patches the iterator's class,
    because every DataLoader and each subclass of it fetches through this class."""
    fetch = _BaseDataLoaderIter.__next__

    @functools.wraps(fetch)
    def watched(iterator):
        if watcher.idle or is_read_to_be_dispatched():
            return fetch(iterator)
        watcher.batch_asked()
        try:
            batch = fetch(iterator)
        except StopIteration:
            watcher.pass_ended(iterator)
            raise
        watcher.batch_fetched(iterator, _batch_size(iterator), batch)
        return batch

    call_through(watched, fetch, watcher.idle)
    _BaseDataLoaderIter.__next__ = watched
    watch_dispatchers()


def _batch_size(iterator):
    """The sampler's batch size, so that a short last batch does not change what a step takes. Where it has none, since
    a script wrote it or the data set makes the batches, what the step log has counted in this batch; 0 if unknown."""
    sampler = getattr(iterator, "_index_sampler", None)
    size = made_by(sampler)
    if size and getattr(sampler, "split_batches", False) is True:  # accelerate's names the size for all ranks
        size //= sampler.num_processes
    return size or getattr(getattr(iterator, "_redline_batches", None), "latest", None) or 0

"""Counts what a rank gets of a loader that rank 0 reads for all, and hands out.

accelerate does so for an IterableDataset (dispatch_batches), and with it transformers' Trainer. There rank 0 reads a
batch for each rank, and the others read none. So each rank's pass over the dispatcher becomes an iterator of torch's
kind, which all that watches loaders sees. What rank 0 reads to hand it out is no batch of the training.
"""

import functools
import threading

import torch
from torch.utils.data.dataloader import _BaseDataLoaderIter, _DatasetKind

from redline._after_import import after_import
from redline._batch_samples import made_by

_reading = threading.local()


def is_read_to_be_dispatched():
    """Whether this thread reads from a loader only to hand that out to the ranks."""
    return getattr(_reading, "for_all", False)


def watch_dispatchers():
    """A second call changes nothing."""
    after_import("accelerate.data_loader", _watch)


def _watch(module):
    kind = getattr(module, "DataLoaderDispatcher", None)
    begin = getattr(kind, "__iter__", None)
    if begin is None or hasattr(begin, "_redline_begin"):
        return

    @functools.wraps(begin)
    def begin_pass(dispatcher):
        # A generator as accelerate's, since transformers goes on asking one that has ended, as often as steps are left.
        yield from _Pass(_Share(dispatcher), begin(dispatcher))

    begin_pass._redline_begin = begin
    kind.__iter__ = begin_pass


class _Share:
    """What one rank gets, with the attributes that torch's iterators read of a loader."""

    _dataset_kind = _DatasetKind.Iterable  # the last batch may be smaller, so each is counted
    _IterableDataset_len_called = None
    dataset = None  # of a data pipe the iterator would make a process group
    num_workers, pin_memory = 0, False  # the loader's own iterator has warned

    def __init__(self, dispatcher):
        self._loader = dispatcher.base_dataloader
        self.generator = torch.Generator()  # the iterator draws a number, which the script's own must not miss
        size = made_by(self._loader.batch_sampler)
        if size and dispatcher.split_batches:
            size //= dispatcher.state.num_processes
        self.batch_size = size
        made = self._loader.num_workers * (self._loader.prefetch_factor or 0)
        # Rank 0 reads a batch for each rank, or one that the ranks divide among them.
        self.made_ahead = made if dispatcher.split_batches else -(-made // dispatcher.state.num_processes)
        self.batch_sampler = self._index_sampler = _Batches(dispatcher, size)

    def __getattr__(self, name):
        return getattr(self._loader, name)


class _Batches:
    def __init__(self, dispatcher, batch_size):
        self.batch_sampler = self._dispatcher = dispatcher
        self.batch_size = batch_size

    def __len__(self):
        return len(self._dispatcher)

    def __iter__(self):
        return iter(())


class _Pass(_BaseDataLoaderIter):
    def __init__(self, share, batches):
        super().__init__(share)
        self._profile_name = "DataLoaderDispatcher.__next__"
        self._batches = batches

    def _next_data(self):
        _reading.for_all = True
        try:
            return next(self._batches)
        finally:
            _reading.for_all = False

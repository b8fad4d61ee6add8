"""Sets DataLoader arguments from outside, and counts the batches that training takes.

Only training loaders are touched: those that shuffle (shuffle=True, a random sampler, a
DistributedSampler that shuffles), also inside a BatchSampler, and those over an
IterableDataset, which cannot say. A loader that reads in order is how evaluation looks; it keeps
what the script gave it.
"""

import functools
import inspect
import time

import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from torch.utils.data.dataloader import _BaseDataLoaderIter

from redline._knob_values import at_least, on_or_off
from redline._trial_report import samples_in

KNOBS = {
    "batch_size": at_least(1),
    "num_workers": at_least(0),
    "pin_memory": on_or_off,
    "prefetch_factor": at_least(1),
    "persistent_workers": on_or_off,
}
# Arguments that DataLoader refuses without worker processes.
FOR_WORKERS_ONLY = {
    "prefetch_factor": None,
    "persistent_workers": False,
    "timeout": 0,
    "multiprocessing_context": None,
}


def is_training(arguments):
    """Whether a DataLoader with these arguments feeds training; see the module's rule."""
    if isinstance(arguments["dataset"], IterableDataset):
        return True
    sampler = arguments["sampler"]
    if arguments["batch_sampler"] is not None:
        sampler = _wrapped(arguments["batch_sampler"])
    if isinstance(sampler, DistributedSampler):
        return sampler.shuffle
    random = (RandomSampler, SubsetRandomSampler, WeightedRandomSampler)
    return bool(arguments["shuffle"]) or isinstance(sampler, random)


def _wrapped(batch_sampler):
    """The sampler within a BatchSampler, also where that is wrapped itself, as accelerate does to share its batches
    among the ranks; None where it has none."""
    while hasattr(batch_sampler, "batch_sampler"):
        batch_sampler = batch_sampler.batch_sampler
    return getattr(batch_sampler, "sampler", None)


def samples_an_epoch(loader):
    """What this rank takes out of the loader in one pass, as far as its sampler knows."""
    try:
        batches = loader.batch_sampler
        if hasattr(batches, "batch_sampler"):
            return len(batches) * batches.batch_size
        sampler = getattr(batches, "sampler", None)
        return len(loader.sampler if sampler is None else sampler)
    except Exception:  # streams have no length, and a script's own sampler may raise anything
        return None


class LoaderKnobs:
    """`values` holds knobs by DataLoader's argument names; `reporter` is None outside trials;
    `note` takes a sentence about a knob that cannot be applied."""

    def __init__(self, values, reporter, note):
        self.values = values
        self.reporter = reporter
        self.note = note
        self.training_loaders = 0
        self.effective = {}

    def install(self):
        signature = inspect.signature(DataLoader.__init__)
        original = DataLoader.__init__

        @functools.wraps(original)
        def init(loader, *args, **kwargs):
            bound = signature.bind(loader, *args, **kwargs)
            bound.apply_defaults()
            arguments = bound.arguments
            training = is_training(arguments)
            if training:
                self.training_loaders += 1
                self._apply(arguments)
            original(*bound.args, **bound.kwargs)
            loader._redline_training = training
            if training:
                self._keep_effective(loader)

        DataLoader.__init__ = init
        if self.reporter is not None:
            self._count_batches()

    def missing(self):
        """The knobs that met no training loader, for a note."""
        return [] if self.training_loaders else sorted(self.values)

    def _apply(self, arguments):
        values = dict(self.values)
        if "batch_size" in values:
            self._set_batch_size(arguments, values.pop("batch_size"))
        iterable = isinstance(arguments["dataset"], IterableDataset)
        own = arguments["num_workers"]
        if iterable and own < 2 and values.get("num_workers", 0) > 1:
            self.note(f"num_workers stays {own}: each worker of an IterableDataset may yield all of it")
            del values["num_workers"]
        arguments.update(values)
        if arguments["num_workers"] == 0:
            arguments.update(FOR_WORKERS_ONLY)

    def _set_batch_size(self, arguments, batch_size):
        sampler = arguments["batch_sampler"]
        if sampler is None:
            if arguments["batch_size"] is None:
                self.note("batch_size is not applied: the DataLoader does not batch")
            else:
                arguments["batch_size"] = batch_size
        elif type(sampler) is BatchSampler:
            arguments["batch_sampler"] = BatchSampler(
                sampler.sampler, batch_size, sampler.drop_last
            )
        elif getattr(sampler, "batch_size", None) != batch_size:
            kind = type(sampler).__name__
            self.note(f"batch_size is not applied: {kind} makes the batches")

    def _keep_effective(self, loader):
        if self.effective:  # the first training loader stands for the script
            return
        batch_size = loader.batch_size or getattr(loader.batch_sampler, "batch_size", None)
        self.effective = {name: getattr(loader, name) for name in KNOBS}
        self.effective["batch_size"] = batch_size  # the loader's own is None under a batch sampler
        if self.reporter is not None:  # now: where a default takes too much memory, no step follows
            self.reporter.seen(self.effective)

    def _count_batches(self):
        original_init = _BaseDataLoaderIter.__init__
        original_next = _BaseDataLoaderIter.__next__

        @functools.wraps(original_init)
        def init(iterator, loader):
            begin = time.monotonic_ns()
            original_init(iterator, loader)
            iterator._redline_training = getattr(loader, "_redline_training", False)
            if iterator._redline_training and torch.is_grad_enabled():
                self.reporter.ask_for_batch(begin)
                self.reporter.epoch = samples_an_epoch(loader)
            iterator._redline_batch_size = loader.batch_size or getattr(
                loader.batch_sampler, "batch_size", None
            )

        @functools.wraps(original_next)
        def next_batch(iterator):
            # A script without a shuffling loader trains from some other one; evaluation runs
            # without gradients, also where its loader shuffles.
            training = torch.is_grad_enabled() and (
                iterator._redline_training or self.training_loaders == 0
            )
            begin = time.monotonic_ns()
            batch = original_next(iterator)
            waited_ns = time.monotonic_ns() - begin
            if training:
                self.reporter.ask_for_batch(begin)
                samples = samples_in(batch, iterator._redline_batch_size)
                self.reporter.add_batch(samples, waited_ns)
            else:
                self.reporter.evaluation.other_batch()
            return batch

        _BaseDataLoaderIter.__init__ = init
        _BaseDataLoaderIter.__next__ = next_batch

"""How many samples a recorded step trains on, whatever else fetches batches."""

import gc
import json
import os
import types
import weakref

import numpy
import pytest
import torch
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter


@pytest.fixture
def count(repo_root, monkeypatch):
    monkeypatch.syspath_prepend(repo_root / "python")
    monkeypatch.setattr(_BaseDataLoaderIter, "__next__", _BaseDataLoaderIter.__next__)  # put back after the test
    from redline._sample_count import SampleCount, watch_data_loaders

    count = SampleCount()
    watch_data_loaders(
        types.SimpleNamespace(idle=[], batch_asked=lambda: None, pass_ended=count.pass_ended,
                              batch_fetched=lambda iterator, samples, _: count.add(iterator, samples)))
    return count


def train(count, loader, batches_a_step, steps, between=()):
    """The steps of a training that goes on epoch after epoch, with passes over `between` after each."""
    batches = (batch for _ in iter(int, 1) for batch in loader)
    for _ in range(steps):
        for _ in range(batches_a_step):
            next(batches)
        count.end_step(recorded=True)
        for other in between:
            list(other)
    return count.take_samples_per_step()


def test_an_evaluation_after_each_step_trains_on_nothing(count):
    loader, evaluation = DataLoader(range(64), 8), DataLoader(range(20), 5)
    assert train(count, loader, 1, 20, between=[evaluation]) == 8


def test_an_epoch_shorter_than_a_step_is_training(count):
    assert train(count, DataLoader(range(24), 8), 4, 9) == 32
    assert train(count, DataLoader(range(8), 8), 1, 9) == 8
    assert train(count, DataLoader(range(8), 8), 3, 9) == 24


def test_a_pass_that_has_ended_keeps_no_data_in_memory(count):
    """Steps may be long in coming, or never come."""
    loader = DataLoader(range(24), 8)
    sampler = weakref.ref(loader.batch_sampler)
    list(loader)
    del loader
    gc.collect()
    assert sampler() is None


def test_loaders_that_share_their_sampler_are_not_the_same(repo_root, monkeypatch):
    """fastai's do, and each is its own data set."""
    monkeypatch.syspath_prepend(repo_root / "python")
    from redline._sample_count import SampleCount

    class Iterator:
        def __init__(self, sampler, dataset):
            self._index_sampler, self._dataset = sampler, dataset

    sampler, count = object(), SampleCount()
    training, evaluation = Iterator(sampler, object()), Iterator(sampler, object())
    for _ in range(3):
        count.add(training, 8)
        count.end_step(recorded=True)
        count.add(evaluation, 5)
        count.pass_ended(evaluation)
    assert count.take_samples_per_step() == 8


def test_two_loaders_of_one_step_both_train(count):
    pairs = zip(DataLoader(range(64), 8), DataLoader(range(64), 16))
    for _ in zip(range(3), pairs):
        count.end_step(recorded=True)
    assert count.take_samples_per_step() == 24


def test_a_batch_that_ranks_share_counts_once(repo_root, monkeypatch):
    monkeypatch.syspath_prepend(repo_root / "python")
    from redline._sample_count import _batch_size

    shard = types.SimpleNamespace(batch_size=8, split_batches=True, num_processes=2)  # accelerate's BatchSamplerShard
    assert _batch_size(types.SimpleNamespace(_index_sampler=shard)) == 4
    shard.split_batches = False
    assert _batch_size(types.SimpleNamespace(_index_sampler=shard)) == 8


@pytest.mark.parametrize(("index", "samples"), [
    ([3, 4, 5], 3), (numpy.arange(3), 3), (range(3), 3), (dict.fromkeys("abc").keys(), 3),
    (7, None), (torch.tensor(7), None), ("name", None), ({"part": 1}, None),
])
def test_a_batch_holds_what_its_index_asks_for(repo_root, monkeypatch, index, samples):
    monkeypatch.syspath_prepend(repo_root / "python")
    from redline._batch_samples import BatchCounter

    counter = BatchCounter(DataLoader(range(8), batch_size=None))
    counter.asked(object(), index)
    assert counter.samples_in("no tensor") == samples


@pytest.mark.parametrize(("batches", "samples"), [
    (torch.randn(6, 3, 8, 8), 6), (torch.zeros(6, 3, 8, 8).byte(), 6), (torch.zeros(6, 2, 3, 8, 8).byte(), 6),
    (torch.zeros(6, 4), 6), (torch.zeros(6, 4).byte(), None), (torch.zeros(6, 2, 8, 8).long(), None),
])
def test_images_are_counted_by_their_shape_also_as_bytes(repo_root, monkeypatch, batches, samples):
    monkeypatch.syspath_prepend(repo_root / "python")
    from redline._batch_samples import samples_by_shape

    assert samples_by_shape((batches, torch.zeros(6, dtype=torch.int64))) == samples


def test_a_smaller_batch_is_read_where_a_full_one_was(repo_root, monkeypatch):
    monkeypatch.syspath_prepend(repo_root / "python")
    monkeypatch.setenv("REDLINE_BATCH_SIZE", "12")
    from redline._batch_samples import BatchCounter

    counter = BatchCounter(DataLoader(range(8), batch_size=None))
    batches = [torch.zeros(3, 5), torch.zeros(3, 12), torch.zeros(3, 5), torch.zeros(3, 13), torch.zeros(3)]
    assert [counter.samples_in(batch) for batch in batches] == [None, 12, 5, None, None]


class OfARank:
    """A batch sampler as that of VITS, for one rank of several."""

    def __init__(self, batch_size=None):
        self.batch_size = batch_size

    def __len__(self):
        return 3

    def __iter__(self):
        return iter([[0, 1], [2, 3], [4, 5]])


@pytest.mark.parametrize(("batches", "ranks", "samples"), [
    (OfARank(2), 8, 6), (OfARank(2), 1, 6), ([[0, 1], [2]], 8, 3), (OfARank(), 8, None), (OfARank(), 1, 80),
])
def test_an_epoch_of_own_batches_is_as_long_as_this_rank_reads(repo_root, monkeypatch, batches, ranks, samples):
    monkeypatch.syspath_prepend(repo_root / "python")
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", str(ranks))
    from redline._loader_knobs import samples_an_epoch

    assert samples_an_epoch(DataLoader(range(80), batch_sampler=batches)) == samples


@pytest.mark.parametrize(("splits", "epoch", "ahead"), [(True, 40, 3), (False, 80, 6)])
def test_a_share_of_a_batch_makes_an_epoch_as_much_shorter(repo_root, monkeypatch, splits, epoch, ahead):
    monkeypatch.syspath_prepend(repo_root / "python")
    from redline._loader_knobs import _made_ahead, samples_an_epoch

    class Shard:  # as accelerate's BatchSamplerShard of two ranks
        batch_sampler, batch_size, num_processes, split_batches = None, 8, 2, splits

        def __len__(self):
            return 10

    loader = types.SimpleNamespace(batch_sampler=Shard(), num_workers=3, prefetch_factor=2)
    assert (samples_an_epoch(loader), _made_ahead(loader)) == (epoch, ahead)


def test_a_report_may_hold_a_number_of_numpy(repo_root, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(repo_root / "python")
    from redline._trial_channel import Channel

    os.mkfifo(tmp_path / "reports")
    reader = os.open(tmp_path / "reports", os.O_RDWR)
    assert Channel(tmp_path / "reports").send("step", ahead=numpy.int64(4))
    assert json.loads(os.read(reader, 4096))["ahead"] == 4
    os.close(reader)

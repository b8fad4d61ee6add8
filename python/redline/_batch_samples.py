"""Finds how many samples a batch holds: from the loader, or from the batch size that the command was given. A tensor's
shape alone does not tell, because the first dimension may be time."""

import collections
import os

import torch
from torch import nn
from torch.utils.data import BatchSampler
from torch.utils.data.dataloader import _DatasetKind

MOST_TENSORS = 8
MOST_WRAPPERS = 4
_TOKEN_TYPES = (torch.int64, torch.int32)
DEEPEST_NEST = 3


def made_by(batch_sampler):
    """How many samples its batches have; None if nothing tells it. One that a script wrote may repeat another one
    without end, which it holds as `sampler`: timm's and ultralytics' _RepeatSampler do."""
    if _holds_batches(batch_sampler):
        inner = made_by(batch_sampler.sampler)
        return inner and inner * batch_sampler.batch_size
    sizes = (getattr(sampler, "batch_size", None) for sampler in (batch_sampler, getattr(batch_sampler, "sampler", None)))
    size = next((size for size in sizes if isinstance(size, int)), None)
    return size and size // reads_of(batch_sampler)


def _holds_batches(batch_sampler):
    """Whether each sample of the loader is a batch, which its data set makes: DataLoader(sampler=BatchSampler(…))."""
    return type(batch_sampler) is BatchSampler and isinstance(batch_sampler.sampler, BatchSampler)


def reads_of(batch_sampler):
    """How often each batch is read. trl's sampler for GRPO gives a batch again and again, and each time another part of
    it is trained on, so its samples count once."""
    for _ in range(MOST_WRAPPERS):  # accelerate wraps it to share its batches among the ranks
        batch_sampler = getattr(batch_sampler, "batch_sampler", batch_sampler)
    order = getattr(batch_sampler, "sampler", None)
    reads = getattr(order, "repeat_count", 1) if hasattr(order, "batch_size") else 1
    return reads if isinstance(reads, int) and reads > 0 else 1


def batch_size_of(loader):
    """None if nothing tells it: what torch's iterators read may be no DataLoader (fastai makes its batches itself)."""
    return getattr(loader, "batch_size", None) or made_by(getattr(loader, "batch_sampler", None))


def given_batch_size():
    """The value that the trial put for {batch_size} into the command; None if the command has no such placeholder."""
    text = os.environ.get("REDLINE_BATCH_SIZE", "")
    return int(text) if text.isdigit() else None


def samples_by_shape(batch):
    """The leading dimension of images (4 or 5 dimensions, also as bytes) and of tables (2), where all layers expect the
    batch. None if this does not tell."""
    first = next((tensor for tensor in tensors_in(batch) if tensor.dim() > 0), None)
    if first is None:
        return None
    is_table = first.dim() == 2 and first.is_floating_point()
    are_images = first.dim() in (4, 5) and (first.is_floating_point() or first.dtype == torch.uint8)
    return first.size(0) if is_table or are_images else None


def ids_in(batch, batch_sizes):
    """The tensor of token ids: it has the dimensions samples and sequence, in either order. None if there is none."""
    for tensor in tensors_in(batch):
        if tensor.dim() != 2 or tensor.dtype not in _TOKEN_TYPES:
            continue
        one, other = tensor.shape
        if (one in batch_sizes and other > 1) or (other in batch_sizes and one > 1):
            return tensor
    return None


def reads_sequences(model):
    """Whether the model takes rows of ids for sequences: it looks them up in an embedding, and has layers (RNN,
    attention) that go along the sequence. A model of tables looks up categories, too, but has no such layer."""
    kinds = [type(module) for module in model.modules()]
    along = any(issubclass(kind, nn.RNNBase) or "Attention" in kind.__name__ for kind in kinds)
    return along and any(issubclass(kind, nn.Embedding) for kind in kinds)


def shapes_text(batch):
    """The shape of the first tensor as words for a sentence, such as "35 x 20"."""
    first = next(_tensors(batch, DEEPEST_NEST), None)
    return "no tensor" if first is None else " x ".join(map(str, first.shape)) or "a scalar"


class BatchCounter:
    """Tells how many samples each batch of an iterator holds, which is how many its sampler asked for."""

    def __init__(self, loader):
        size, given = batch_size_of(loader), given_batch_size()
        batches = getattr(loader, "batch_sampler", None)
        self.reads = reads_of(batches)
        self.holds_batches = _holds_batches(batches)
        self.given = StreamBatches(given) if given else None
        stream = loader._dataset_kind == _DatasetKind.Iterable
        self.stream = StreamBatches(size) if stream and size else None
        self.asked_for = None if stream else collections.deque()
        self.pass_through = None
        self.latest = None  # what samples_in() gave, which can be asked only once for each batch

    def asked(self, sampler_iterator, index):
        if self.asked_for is None:
            return
        if sampler_iterator is not self.pass_through:  # with persistent workers, an iterator serves several epochs
            self.pass_through = sampler_iterator
            self.asked_for.clear()
        size = sum(_size_of(one) or 1 for one in index) if self.holds_batches else _size_of(index)
        self.asked_for.append(None if size is None else size // self.reads)

    def samples_in(self, batch):
        """The number of samples, or None if nothing tells it."""
        self.latest = self._count(batch)
        return self.latest

    def _count(self, batch):
        if self.stream is not None:
            return self.stream.samples_in(batch)
        known = self.asked_for.popleft() if self.asked_for else None
        if known is not None:
            return known
        return self.given.samples_if_shown(batch) if self.given else samples_by_shape(batch)


def _size_of(index):
    """How many samples a sampler asks for: by a list, an array, or an object of its own, as lhotse's. None if by one
    number or name."""
    if isinstance(index, (str, bytes, dict)):
        return None
    try:
        return len(index)
    except Exception:  # a number, also a tensor without dimensions; what is read lazily does not know
        return None


class StreamBatches:
    """Counts samples of batches that no sampler made, such as those of a loader over an IterableDataset. All but the
    last ones have `batch_size` samples."""

    def __init__(self, batch_size):
        self.batch_size = batch_size
        # (index of a tensor, index of its dimension) where the size is the number of samples: a full batch shows it.
        self.place = None

    def samples_in(self, batch):
        samples = self._shown(batch)
        if samples is None:
            # The stream is shorter than one batch, or its samples cannot be stacked into tensors.
            samples = next((shape[0] for shape in _shapes(batch) if shape), self.batch_size)
        return min(samples, self.batch_size)

    def samples_if_shown(self, batch):
        """None for a smaller batch as long as no full one has shown where its size stands, and for a larger one."""
        samples = self._shown(batch)
        return None if samples is None or samples > self.batch_size else samples

    def _shown(self, batch):
        shapes = _shapes(batch)
        places = [(i, shape.index(self.batch_size)) for i, shape in enumerate(shapes) if self.batch_size in shape]
        if places:
            self.place = self.place or places[0]
            return self.batch_size
        tensor, dimension = self.place or (len(shapes), 0)
        if tensor < len(shapes) and dimension < len(shapes[tensor]):
            return shapes[tensor][dimension]
        return None


def _shapes(batch):
    return [tensor.shape for tensor in _tensors(batch, DEEPEST_NEST)]


def tensors_in(batch):
    """The first ones, also of dicts and lists in it."""
    return list(_tensors(batch, DEEPEST_NEST))[:MOST_TENSORS]


def _tensors(batch, depth):
    if isinstance(batch, torch.Tensor):
        yield batch
    elif depth > 0 and callable(getattr(batch, "values", None)):
        for value in batch.values():
            yield from _tensors(value, depth - 1)
    elif depth > 0 and isinstance(batch, (list, tuple)):
        for value in batch[:MOST_TENSORS]:
            yield from _tensors(value, depth - 1)

"""How many samples a batch holds. Told by the loader, or by the batch size that the command was given; a tensor's shape
alone does not say it, because the first dimension may be time."""

import os

import torch
from torch import nn

MOST_TENSORS = 8
_TOKEN_TYPES = (torch.int64, torch.int32)
DEEPEST_NEST = 3


def given_batch_size():
    """The value that {batch_size} has in the words of this trial's command; None where it has none."""
    text = os.environ.get("REDLINE_BATCH_SIZE", "")
    return int(text) if text.isdigit() else None


def samples_by_shape(batch, batch_size=None):
    """`batch_size` where a dimension of some tensor has it. Otherwise the leading dimension of images and of tables, which
    is the batch for each layer that takes them. None where neither tells."""
    tensors = list(_tensors(batch, DEEPEST_NEST))[:MOST_TENSORS]
    if batch_size is not None:
        return batch_size if any(batch_size in tensor.shape for tensor in tensors) else None
    first = next((tensor for tensor in tensors if tensor.dim() > 0), None)
    if first is not None and first.is_floating_point() and first.dim() in (2, 4, 5):
        return first.size(0)
    return None


def ids_in(batch, batch_sizes):
    """The tensor of token ids: whole numbers, samples x sequence in either order. None where there is none."""
    for tensor in list(_tensors(batch, DEEPEST_NEST))[:MOST_TENSORS]:
        if tensor.dim() != 2 or tensor.dtype not in _TOKEN_TYPES:
            continue
        one, other = tensor.shape
        if (one in batch_sizes and other > 1) or (other in batch_sizes and one > 1):
            return tensor
    return None


def reads_sequences(model):
    """Whether ids of two dimensions are a sequence to it: looked up, and worked on by layers that go along it. A table of
    categories is looked up, too, but no layer goes along its columns."""
    kinds = [type(module) for module in model.modules()]
    along = any(issubclass(kind, nn.RNNBase) or "Attention" in kind.__name__ for kind in kinds)
    return along and any(issubclass(kind, nn.Embedding) for kind in kinds)


def shapes_text(batch):
    """ "35 x 20" of the first tensor, for a sentence."""
    first = next(_tensors(batch, DEEPEST_NEST), None)
    return "no tensor" if first is None else " x ".join(map(str, first.shape)) or "a scalar"


class StreamBatches:
    """The batches of one loader over an IterableDataset: all have `batch_size` samples but the last."""

    def __init__(self, batch_size):
        self.batch_size = batch_size
        self.place = None  # (which tensor, which of its dimensions) counts samples, once a full batch has shown it

    def samples_in(self, batch):
        shapes = [tensor.shape for tensor in _tensors(batch, DEEPEST_NEST)]
        places = [(i, shape.index(self.batch_size)) for i, shape in enumerate(shapes) if self.batch_size in shape]
        if places:
            self.place = self.place or places[0]
            return self.batch_size
        if self.place is not None and self.place[0] < len(shapes):
            return min(shapes[self.place[0]][self.place[1]], self.batch_size)
        # A stream that is shorter than one batch, or batches of samples that cannot be stacked.
        leading = next((shape[0] for shape in shapes if shape), self.batch_size)
        return min(leading, self.batch_size)


def _tensors(batch, depth):
    if isinstance(batch, torch.Tensor):
        yield batch
    elif depth > 0 and callable(getattr(batch, "values", None)):
        for value in batch.values():
            yield from _tensors(value, depth - 1)
    elif depth > 0 and isinstance(batch, (list, tuple)):
        for value in batch[:MOST_TENSORS]:
            yield from _tensors(value, depth - 1)

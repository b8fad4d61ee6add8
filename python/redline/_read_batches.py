"""Tells whether ranks read the same samples, by a digest of the first batches that each of them works on.

Stages of a pipeline and tensor parallel ranks read the same batches, so their samples must count once. Ranks that train
copies of a model should not: where they do, somebody has forgotten the DistributedSampler.
"""

import ctypes
import hashlib

import torch

from redline._batch_samples import tensors_in
from redline._rank import rank_and_world_size

_MOST_STEPS = 16  # data that did not change for so long are made up, and their digest says nothing
_PIECES = 16  # of a large tensor, spread over it
_PIECE_BYTES = 1024
_STEP_ENDED = object()


class ReadBatches:
    """Called with each batch of a DataLoader, and without one at the end of each step. A step works on the last batch
    before its end: what was read before that was for an evaluation, or is a part of an accumulated step.

    digest: of the first two such batches that differ; "" as long as they are unknown.
    """

    def __init__(self, decided):
        self.digest = ""
        self._decided = decided
        self._latest = None
        self._first = None
        self._steps = 0

    def __call__(self, batch=_STEP_ENDED):
        """Whether all is known, so that further calls are of no use."""
        _, world_size = rank_and_world_size()
        if batch is _STEP_ENDED:
            return world_size == 1 or self._step_ended()
        if world_size > 1:
            self._latest = _digest_of(batch)
        return False

    def _step_ended(self):
        self._steps += 1
        if self._first is None:
            self._first = self._latest
        if self._latest in (None, self._first):
            return self._steps >= _MOST_STEPS
        self.digest = hashlib.blake2b(self._first + self._latest, digest_size=8).hexdigest()
        self._decided(self.digest)
        return True


def _digest_of(batch):
    """None if no tensor of the batch is in the host's memory. No operator of torch runs, since it would be recorded."""
    digest = hashlib.blake2b(digest_size=8)
    is_empty = True
    for tensor in tensors_in(batch):
        if type(tensor) is not torch.Tensor or tensor.layout is not torch.strided or tensor.device.type != "cpu":
            continue
        if tensor.is_contiguous() and tensor.nbytes > 0:
            is_empty = False
            _add_bytes(digest, tensor.data_ptr(), tensor.nbytes)
    return None if is_empty else digest.digest()


def _add_bytes(digest, address, size):
    if size <= _PIECES * _PIECE_BYTES:
        digest.update(ctypes.string_at(address, size))
        return
    for piece in range(_PIECES):
        begin = (size - _PIECE_BYTES) * piece // (_PIECES - 1)
        digest.update(ctypes.string_at(address + begin, _PIECE_BYTES))

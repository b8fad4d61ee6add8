"""Sees models whose gradients are averaged over ranks: each rank trains a copy, or a shard of one, on its own samples."""

import contextlib

import torch

from redline._after_import import after_import
from redline._stand_in import replace


def watch_data_parallel(wrapped):
    """Calls wrapped(what wraps the model, number of ranks) after DistributedDataParallel, FullyShardedDataParallel or
    fully_shard() took a model. Of the latter two this uses inner names of torch; where torch has renamed them, their
    ranks are not seen."""
    _watch(torch.nn.parallel.DistributedDataParallel, lambda model: model.process_group.size(), wrapped)
    for module, name, ranks_of in [
        ("fully_sharded_data_parallel", "FullyShardedDataParallel", _ranks_of_sharded),
        ("_fully_shard._fsdp_param_group", "FSDPParamGroup", lambda group: group.mesh_info.mesh.size()),
    ]:
        after_import(f"torch.distributed.fsdp.{module}", _watch_class(name, ranks_of, wrapped))


def _ranks_of_sharded(model):
    """A hybrid one is sharded within nodes and copied over them."""
    copies = getattr(model, "_inter_node_pg", None)
    return model.process_group.size() * (1 if copies is None else copies.size())


def _watch_class(name, ranks_of, wrapped):
    def watch(module):
        if hasattr(module, name):
            _watch(getattr(module, name), ranks_of, wrapped)

    return watch


def _watch(kind, ranks_of, wrapped):
    def make(original, wrapper, *arguments, **named):
        original(wrapper, *arguments, **named)
        with contextlib.suppress(Exception):  # the training does not depend on it
            wrapped(wrapper, ranks_of(wrapper))

    replace(kind, "__init__", make)

"""Tells which process of a distributed job this is, from the variables that the launcher has set."""

import os

# base/launched_rank.h has the same list.
_VARIABLES = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),  # not SLURM_NTASKS, which a batch script has outside of any step
    ("PMI_RANK", "PMI_SIZE"),
)
# These modules import torch and inherit our start-up hook, but only start other processes or compile kernels.
_COMPILE_WORKER = "torch/_inductor/compile_worker/__main__.py"  # torch 2.7 and later start this file, without -m
_LAUNCHERS = (
    "torch.distributed.run",
    "torch.distributed.launch",
    "torch._inductor.compile_worker",
    "accelerate.commands.",
)
_PROGRAMS = ("torchrun", "accelerate")


def launched_rank():
    """(rank, world size) of the first launcher that tells both; None if none does. A script may say -1 for "alone"."""
    for names in _VARIABLES:
        try:
            rank, size = (int(os.environ[name]) for name in names)
        except (KeyError, ValueError):
            continue
        if 0 <= rank < size:
            return rank, size
    return None


def rank_and_world_size():
    """The process's place in the job, from torch.distributed if that is initialized, else from the launcher."""
    from torch import distributed  # here, because the start-up hook asks for the rest before torch is imported

    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return launched_rank() or (0, 1)


def is_excluded(ranks):
    """Whether `redline record --ranks` leaves this process out. If the launcher tells no rank, this is False: the
    process group will tell the rank later."""
    launched = launched_rank()
    return bool(ranks) and launched is not None and launched[0] not in ranks


def is_launcher(command):
    """Whether `command` (as sys.orig_argv) only starts other processes: those that train, or that compile kernels."""
    if any(os.path.basename(word) in _PROGRAMS or word.endswith(_COMPILE_WORKER) for word in command[:2]):
        return True
    return any(
        flag == "-m" and module.startswith(_LAUNCHERS) for flag, module in zip(command, command[1:])
    )

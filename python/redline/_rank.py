"""Which process of a distributed job this is, by what its launcher has put into the environment."""

import os

# profiler/request/job_rank.cc has the same list.
_VARIABLES = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),  # a batch script has SLURM_NTASKS without a step
    ("PMI_RANK", "PMI_SIZE"),
)


def launched_rank():
    """(rank, world size) of the first launcher that tells both; None where none does."""
    for rank, size in _VARIABLES:
        try:
            return int(os.environ[rank]), int(os.environ[size])
        except (KeyError, ValueError):
            continue
    return None


def is_excluded(ranks):
    """Whether `redline record --ranks` leaves this process alone; a rank that nobody tells may be one
    of them until its process group says otherwise."""
    launched = launched_rank()
    return bool(ranks) and launched is not None and launched[0] not in ranks

"""How a rank of Gloo under torchrun leaves its process group."""

import torch.distributed


def leave_together():
    """Leaves once all ranks have come here. A rank that still waits for its last collective fails where another one
    has closed the connection already, and on a busy machine it may come to its wait late. Without the destruction
    a thread of Gloo that lets go of a tensor while Python ends aborts the process (pytorch/pytorch#190489)."""
    store = torch.distributed.distributed_c10d._get_default_store()  # the launcher's, so it outlives the ranks
    store.set(f"rank {torch.distributed.get_rank()} leaves", "")
    store.wait([f"rank {rank} leaves" for rank in range(torch.distributed.get_world_size())])
    torch.distributed.destroy_process_group()

"""What torch's allocator holds on the GPUs of a trial's rank."""

import torch

THRASHING_CHECKS = 2


class DeviceMemory:
    def __init__(self):
        self._peak = None  # of the fullest GPU, in bytes
        self._resting = None  # what tensors hold there between steps, at least
        self._fullest = None  # its number
        self._devices = 0
        self._capacities = {}  # by device, in bytes
        self._retries = 0
        self._thrashing_checks = 0

    def fields(self):
        """What a line of the trial's report says of it; nothing before the first check, and without a GPU."""
        if self._peak is None:
            return {}
        return {"memory": self._peak, "resting": self._resting, "capacity": self._capacities[self._fullest],
                "device": self._fullest, "devices": self._devices}

    def thrashing(self):
        """Checks, between two steps. Gives what the allocator does if it flushes its cache from check to check."""
        if not torch.cuda.is_initialized():  # is_available() would end CUDA in forked children
            return None
        stats = self._stats()
        peaks = {device: each.get("reserved_bytes.all.peak", 0) for device, each in stats.items()}
        fullest = max(stats, key=lambda device: peaks[device] / max(1, self._capacities[device]))
        resting = stats[fullest].get("allocated_bytes.all.current", 0)
        is_first = self._resting is None or fullest != self._fullest
        self._resting = resting if is_first else min(self._resting, resting)
        self._fullest, self._peak, self._devices = fullest, peaks[fullest], len(stats)
        retries = sum(each.get("num_alloc_retries", 0) for each in stats.values())
        self._thrashing_checks = self._thrashing_checks + 1 if retries > self._retries else 0
        self._retries = retries
        if self._thrashing_checks < THRASHING_CHECKS:
            return None
        return f"the allocator flushed its cache {retries} times"

    def _stats(self):
        """The allocator's figures for each GPU on which it holds memory, because a model may be spread over several
        GPUs; for the current GPU if there is none. No other GPU is asked for its capacity, because the question would
        make a CUDA context there."""
        stats = {device: torch.cuda.memory_stats(device) for device in range(torch.cuda.device_count())}
        used = [device for device, each in stats.items() if each.get("reserved_bytes.all.peak", 0) > 0]
        used = used or [torch.cuda.current_device()]
        for device in used:
            if device not in self._capacities:
                self._capacities[device] = torch.cuda.mem_get_info(device)[1]
        return {device: stats[device] for device in used}

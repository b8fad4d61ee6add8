"""What the programs here print of their own run, for the tests: their own clock beside ours."""

import json
import os
import time


class Outcome:
    """Counts as a careful script would: losses, optimizer steps, samples, and seconds from the second step on."""

    def __init__(self):
        self.losses = []
        self.samples = 0
        self.begin = None
        self.samples_at_begin = 0

    def step(self, loss, samples):
        self.losses.append(float(loss.detach() if hasattr(loss, "detach") else loss).hex())
        self.samples += samples
        if self.begin is None:
            self.begin = time.perf_counter()
            self.samples_at_begin = self.samples

    def print(self, **more):
        """One line, of rank 0 alone."""
        if int(os.environ.get("RANK", more.pop("rank", 0))) != 0:
            return
        seconds = time.perf_counter() - (self.begin or time.perf_counter())
        rate = (self.samples - self.samples_at_begin) / seconds if seconds else None
        outcome = {"losses": self.losses, "steps": len(self.losses), "samples": self.samples, "rate": rate}
        print("OUTCOME " + json.dumps({**outcome, **more}), flush=True)


def loader_knobs(loader):
    """What a DataLoader is really built with."""
    batch_size = loader.batch_size or getattr(loader.batch_sampler, "batch_size", None)
    return {"batch_size": batch_size, "num_workers": loader.num_workers, "pin_memory": loader.pin_memory}

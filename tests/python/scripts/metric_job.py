"""Stands for a training program whose rate has one peak, and which runs out of memory with too large a batch.

    python metric_job.py BATCH WORKERS [SECONDS]     prints "rate: N" after SECONDS

With HOLD_FROM=N in its environment, trial N and those after it run until they are killed. With HOLD_UNTIL=FILE each
trial first waits for that file.
"""

import os
import pathlib
import sys
import time

batch, workers = int(sys.argv[1]), int(sys.argv[2])
if batch > 200:
    sys.exit("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB")
seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 0
if "HOLD_FROM" in os.environ:
    trial = int(pathlib.Path(os.environ["REDLINE_TRIAL_DIRECTORY"]).name)
    seconds = 1000 if trial >= int(os.environ["HOLD_FROM"]) else seconds
while "HOLD_UNTIL" in os.environ and not os.path.exists(os.environ["HOLD_UNTIL"]):
    time.sleep(0.02)
time.sleep(seconds)
loader = 100 * (1 + min(workers, 4))
device = 1000 * batch / (batch + 20)
print(f"rate: {min(loader, device):.3f}")

"""Logs steps of a known length by the C ABI, as a training would, without torch."""

import argparse
import ctypes
import os
import pathlib
import sys
import time

DATA_WAIT = 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("--step-ms", type=float, default=1)
    parser.add_argument("--wait-ms", type=float, default=0)
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--status", type=int, default=0)
    parser.add_argument("--then-hang", action="store_true")
    arguments = parser.parse_args()
    library = ctypes.CDLL(str(arguments.library))
    for_every = [ctypes.c_int64, ctypes.c_int64]
    library.redline_log_step.argtypes = for_every
    if "REDLINE_LOG" in os.environ:
        folder, run = os.environ["REDLINE_LOG"].encode(), os.environ["REDLINE_LOG_RUN"].encode()
        assert library.redline_log_open(folder, run, arguments.rank, arguments.ranks) == 0
    library.redline_log_know(DATA_WAIT)
    for _ in range(arguments.steps):
        library.redline_log_enter(DATA_WAIT)
        time.sleep(arguments.wait_ms / 1e3)
        library.redline_log_leave(DATA_WAIT)
        time.sleep(arguments.step_ms / 1e3)
        library.redline_log_step(8, -1)
    print("what the command says", flush=True)
    if arguments.then_hang:
        time.sleep(600)
    library.redline_log_close(arguments.status)
    sys.exit(arguments.status)


if __name__ == "__main__":
    main()

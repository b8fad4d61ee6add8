"""Stands for a training program that fails in the way that its first argument says; with `none` it prints a rate.

    python faulty_job.py FAULT PIDS      appends a line for each of its processes to the file PIDS:
                                         its id and its start time, because ids are given again
"""

import argparse
import ctypes
import mmap
import os
import signal
import subprocess
import sys
import time

CLONE_NEWNS = 0x20000
MS_REC_PRIVATE = 0x44000


def start_time(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[19]


def note(pid):
    with open(sys.argv[2], "a") as file:
        file.write(f"{pid} {start_time(pid)}\n")


def exits():
    print("it says why", file=sys.stderr)
    sys.exit(1)


def segfaults():
    os.kill(os.getpid(), signal.SIGSEGV)


def hangs():
    time.sleep(1000)


def raises_out_of_memory():
    sys.exit("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB")


def is_killed():
    os.kill(os.getpid(), signal.SIGKILL)


def fills_shm():
    """Fills a /dev/shm of 64 KiB if this process may mount one; otherwise sends itself the signal of a full one."""
    libc = ctypes.CDLL(None, use_errno=True)
    private = libc.unshare(CLONE_NEWNS) == 0 and libc.mount(None, b"/", None, MS_REC_PRIVATE, None) == 0
    if not private or libc.mount(b"none", b"/dev/shm", b"tmpfs", 0, b"size=64k") != 0:
        os.kill(os.getpid(), signal.SIGBUS)
    with open("/dev/shm/segment", "w+b") as file:
        file.truncate(1 << 20)
        mmap.mmap(file.fileno(), 1 << 20)[:] = b"x" * (1 << 20)


def prints_garbage():
    garbage = bytes(range(256)) * 4000
    os.write(1, garbage)
    os.write(2, garbage)
    channel = os.open(os.environ["REDLINE_TRIAL"], os.O_WRONLY)
    os.write(channel, b'{"type": "step"}\n{"type": 7}\n\xff\x00{[\n' + b"x" * 4000 + b"\n")


def leaves_deaf_grandchildren():
    """Leaves grandchildren in a session of their own that ignore SIGTERM; one of them lacks this environment."""
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(1000)"
    for environment in (None, {"PATH": os.environ["PATH"]}):
        child = subprocess.Popen(
            [sys.executable, "-S", "-c", deaf], start_new_session=True, env=environment, stdout=subprocess.PIPE
        )
        note(child.pid)
        child.stdout.readline()  # now it ignores SIGTERM
    print("rate: 2")


def is_called_wrong():
    argparse.ArgumentParser().parse_args(["--no-such-option"])


def none():
    print("rate: 1")


note(os.getpid())
globals()[sys.argv[1]]()

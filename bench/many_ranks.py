"""Records many ranks of one machine at once, with Redline and with torch.profiler.

All ranks are forks of one process that has loaded torch. Each trains alone: a loop of small operators in one window,
which ends in a .json.gz. Looks at the folder show how fast all ranks together write.
"""

import argparse
import gzip
import json
import multiprocessing
import os
import pathlib
import re
import statistics
import sys
import tempfile
import threading
import time

import torch
from places import LIBRARIES, ROOT

sys.path.insert(0, str(ROOT / "python"))
os.environ.update(LIBRARIES)
import redline  # noqa: E402

FOLDER = tempfile.gettempdir()
LOOK_S = 0.1
context = multiprocessing.get_context("fork")


def profiler_of(name, rate):
    activities = [torch.profiler.ProfilerActivity.CPU]
    if name == "torch.profiler":
        return torch.profiler.profile(activities=activities)
    return redline.profile(activities=activities, host_samples_hz=0, max_write_rate=rate)


def rank(number, name, events, rate, folder, barrier, results):
    tensor = torch.zeros(1)
    profiler = profiler_of(name, rate)
    path = folder / f"rank{number}.pt.trace.json.gz"
    barrier.wait()
    begin = time.perf_counter()
    profiler.start()
    for _ in range(events):
        tensor.add_(1)
    looped = time.perf_counter()
    profiler.stop()
    profiler.export_chrome_trace(str(path))
    results.put((looped - begin, time.perf_counter() - looped))


class Folder(threading.Thread):
    """Sees how fast the folder grows, at most, over a second or, where it got no core to look, a little more."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.looks, self.is_over = path, [(time.monotonic() - 1, 0)], threading.Event()

    def run(self):
        while not self.is_over.wait(LOOK_S):
            self.looks.append((time.monotonic(), self.size()))

    def size(self):
        total = 0
        for path in self.path.iterdir():
            try:
                total += path.stat().st_size
            except FileNotFoundError:  # it was renamed
                return self.looks[-1][1]
        return total

    def most_bytes_a_second(self):
        self.is_over.set()
        self.join()
        most = 0
        for at, (begin, before) in enumerate(self.looks):
            later = next(((end, after) for end, after in self.looks[at:] if end >= begin + 1), None)
            if later:
                most = max(most, (later[1] - before) / (later[0] - begin))
        return round(most)


def lost_events(folder):
    """By the counts at the end of each trace; a million events are too many for Python to parse them all."""
    lost = 0
    for path in folder.glob("*.json.gz"):
        end = b""
        with gzip.open(path) as file:
            while block := file.read(1 << 20):
                end = (end + block)[-1 << 16:]
        lost += int(re.findall(rb'"dropped": (\d+)', end)[-1])
    return lost


def measure(name, ranks, events, rate):
    with tempfile.TemporaryDirectory(prefix="redline-many-", dir=FOLDER) as place:
        folder = pathlib.Path(place)
        os.environ["TMPDIR"] = place  # where traces grow that have no folder of their own
        tempfile.tempdir = None
        barrier, results = context.Barrier(ranks + 1), context.Queue()
        processes = [context.Process(target=rank, args=(number, name, events, rate, folder, barrier, results))
                     for number in range(ranks)]
        for process in processes:
            process.start()
        watch = Folder(folder)
        barrier.wait()
        begin = time.perf_counter()
        watch.start()
        rows = [results.get() for _ in processes]
        wall = time.perf_counter() - begin
        for process in processes:
            process.join()
        loops, ends = zip(*rows, strict=True)
        return {
            "profiler": name, "ranks": ranks, "events": events, "max_write_rate": rate, "wall_s": wall,
            "loop_s": {"median": statistics.median(loops), "most": max(loops)},
            "stop_and_export_s": {"median": statistics.median(ends), "most": max(ends)},
            "most_bytes_a_second": watch.most_bytes_a_second(),
            "bytes": sum(path.stat().st_size for path in folder.glob("*.json.gz")),
            "lost": lost_events(folder) if name == "redline" else None,
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--events", type=int, default=20_000, help="turns of each rank's loop, five operators each (20,000)")
    parser.add_argument("--rates", type=int, nargs="*", default=[0, 200_000], help="bytes a second; 0: no limit")
    parser.add_argument("--no-peer", action="store_true", help="without torch.profiler, which needs 1 kB an operator")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    cases = [("redline", rate) for rate in arguments.rates]
    cases += [] if arguments.no_peer else [("torch.profiler", 0)]
    for name, rate in cases:
        print(json.dumps(measure(name, arguments.ranks, arguments.events, rate)), flush=True)


if __name__ == "__main__":
    main()

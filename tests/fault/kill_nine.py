"""Kills a recorded job at random moments and reads what it leaves: kill_nine.py LIBREDLINE [--kills N].

Every trace under its final name must be whole, and every .partial file readable to its last whole event.
"""

import argparse
import gzip
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import zlib

JOB = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
print("ready", flush=True)
while True:
    assert library.redline_prepare(b'{"directory": "%s"}' % sys.argv[2].encode()) == 0
    assert library.redline_start() == 0
    for number in range(int(sys.argv[3])):
        library.redline_range_push(b"name %d" % (number % 500))
        library.redline_range_pop()
    assert library.redline_stop() == 0
    assert library.redline_export_to_directory(sys.argv[2].encode(), None, 0) == 0
"""


def check_whole(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        trace = json.load(file)
    assert trace["redline"]["dropped"] == 0, path


def check_partial(path):
    """How many whole events a .partial file holds."""
    text = zlib.decompressobj(wbits=31).decompress(path.read_bytes()).decode()
    if '"traceEvents": [' not in text:
        return 0
    head, _, events = text.partition('"traceEvents": [')
    # An event is a line; the last line may be torn at any byte.
    lines = events.partition("\n]")[0].rpartition("\n")[0]
    return len(json.loads(f"[{lines.rstrip(',')}]"))


def kill_once(library, generator):
    """Kills one job and checks the traces and partial files that it left; returns how many of each."""
    with tempfile.TemporaryDirectory() as folder:
        events = generator.choice((10, 1000, 20_000, 500_000))
        words = [sys.executable, "-c", JOB, library, folder, str(events)]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            time.sleep(generator.choice((0.0, 0.01, 0.1, 1.2)) + generator.random() * 0.05)
            process.kill()
        whole = list(pathlib.Path(folder).glob("*.gz"))
        partial = list(pathlib.Path(folder).glob("*.partial"))
        for path in whole:
            check_whole(path)
        for path in partial:
            check_partial(path)
        others = set(pathlib.Path(folder).iterdir()) - {*whole, *partial}
        assert not others, others
        return len(whole), len(partial)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    generator = random.Random(arguments.seed)
    totals = [0, 0]
    for _ in range(arguments.kills):
        totals = [total + found for total, found in zip(totals, kill_once(arguments.library, generator))]
    print(f"{arguments.kills} kills: {totals[0]} whole traces, {totals[1]} partial ones, all readable")


if __name__ == "__main__":
    main()

"""Measures whether `redline compare` alarms by chance, and whether it catches and names a planted change of 5 %.

A small training is compared with itself, and with itself made 5 % slower in one of three ways: an operator called
twice, a delay in the loader, a synchronisation with a late rank. A process beside it keeps a core busy now and then.
The limit is --fail-slower 0.5%, between nothing and the 5 % that are planted.

    bench/run gate --pairs 20

200 comparisons of each kind take hours. With --json FILE each is kept in the file, and the next call with the same
options goes on from there. With --at-once 2 two comparisons run side by side, each the other work of the other:

    bench/run gate --json gate.json --minutes 60 --at-once 2 --alone

--keep DIR keeps the step logs of all runs, so that `redline diff` can compare them anew.
"""

import argparse
import json
import multiprocessing
import os
import pathlib
import random
import shlex
import statistics
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from places import REDLINE, ROOT

TRAINING = ROOT / "bench/gate_training.py"
PLANTED = 0.05
# To wake the late rank costs a few tenths of a millisecond, which shall be little beside the 5 % of a step.
STEP_MS = 20
# The parts of the step that may be named first; an operator of the forward pass can be seen in no other.
PARTS = {"operator": ("forward",), "loader": ("data_wait",), "synchronisation": ("communication_wait",)}
BEYOND, CANNOT_TELL = 3, 4
# Memory that each step takes from the kernel again makes equal runs differ (docs/ci.md).
KEPT = {"MALLOC_TRIM_THRESHOLD_": "2147483647", "MALLOC_MMAP_THRESHOLD_": "1073741824"}


def be_busy(seed):
    """Other work on the machine: busy for up to 4 s, then idle for up to 4 s."""
    chance = random.Random(seed)
    while True:
        end = time.monotonic() + chance.uniform(0, 4)
        while time.monotonic() < end:
            pass
        time.sleep(chance.uniform(0, 4))


def training(*words):
    return shlex.join([sys.executable, str(TRAINING), *map(str, words)])


def measured(at_once, batch):
    """Of a run beside as many others as there are in the comparisons: two cores may share what makes them fast."""
    command = shlex.split(training("--measure", "--batch", batch))
    with ThreadPoolExecutor(at_once) as pool:
        said = list(map(json.loads, pool.map(subprocess.check_output, [command] * at_once)))
    return {name: statistics.mean(one[name] for one in said) for name in said[0]}


def calibrated(seconds, at_once):
    """Words that make steps and a run so long, and the planted changes, or the operator that is doubled, 5 % of a step."""
    batch = 64
    for _ in range(3):  # a part of the step does not grow with the batch
        batch = max(1, round(batch * STEP_MS / measured(at_once, batch)["step_ms"]))
    said = measured(at_once, batch)
    sums = max(1, round(PLANTED * said["step_ms"] / said["sum_ms"]))
    step_ms = said["step_ms"] + sums * said["sum_ms"]
    return ["--batch", batch, "--steps", round(1000 * seconds / step_ms), "--sums", sums,
            "--planted-ms", round(PLANTED * step_ms, 3)]


def compare(number, change, sizes, arguments):
    base, new = training(*sizes), training(*sizes, "--change", change)
    command = [REDLINE, "compare", "-n", str(arguments.runs), "--fail-slower", arguments.limit, "--format", "json",
               "--base", base, "--new", new]
    if arguments.keep:
        command += ["-o", str(arguments.keep / f"{number}-{change}")]
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, BEYOND, CANNOT_TELL):
        sys.exit(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stderr}")
    run = json.loads(done.stdout)["run"]
    first = run["parts"][0]["part"] if run["parts"] else None
    operator = (run["operator"] or {}).get("name")
    named = first in PARTS.get(change, ()) and (change != "operator" or operator == "aten::cumsum")
    return {"change": change, "status": done.returncode, "ratio": run["ratio"], "spread": run["spread"],
            "runs": len(run["after"]), "first": first, "operator": operator, "named": named,
            "minutes": (time.monotonic() - begin) / 60}


def changes(pairs):
    """What the new side differs in: of each pair of comparisons the first differs in nothing."""
    return [change for number in range(pairs) for change in ("none", list(PARTS)[number % len(PARTS)])]


def rows_in(file, options):
    """The comparisons in the file that were made with the same options."""
    if file is None or not file.exists():
        return []
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return [row for row in rows if row["options"] == options]


def compare_all(todo, sizes, options, arguments):
    """Makes the comparisons of `todo`, as many at once as asked for, and gives the row of each; those that would begin
    too late are left out."""
    begin = time.monotonic()
    writing = threading.Lock()

    def row_of(number, change):
        if arguments.minutes and time.monotonic() - begin > 60 * arguments.minutes:
            return None
        row = {"number": number, **compare(number, change, sizes, arguments), "options": options,
               "date": time.strftime("%Y-%m-%d")}
        with writing:
            if arguments.json:
                with arguments.json.open("a") as file:
                    file.write(json.dumps(row) + "\n")
            print(f"{change:<16} {row['ratio']['value']:.3f} ({row['ratio']['low']:.3f} to {row['ratio']['high']:.3f})"
                  f" {row['runs']} runs, exit {row['status']}, {row['first']}, {row['operator']},"
                  f" {row['minutes']:.1f} min", flush=True)
        return row

    with ThreadPoolExecutor(arguments.at_once) as pool:
        return [row for row in pool.map(row_of, *zip(*todo)) if row is not None] if todo else []


def share(rows, test):
    return f"{sum(map(test, rows))} of {len(rows)}"


def show(rows):
    equal = [row for row in rows if row["change"] == "none"]
    planted = [row for row in rows if row["change"] != "none"]
    print(f"alarms where nothing changed   {share(equal, lambda row: row['status'] == BEYOND)}")
    for kind in PARTS:
        own = [row for row in planted if row["change"] == kind]
        caught = [row for row in own if row["status"] == BEYOND]
        print(f"{kind + ' caught':<30} {share(own, lambda row: row['status'] == BEYOND)}, "
              f"named first {share(caught, lambda row: row['named'])}, "
              f"cannot tell {share(own, lambda row: row['status'] == CANNOT_TELL)}")
    if minutes := sorted(row["minutes"] for row in rows):
        print(f"minutes a pair                 {minutes[len(minutes) // 2]:.2f} (median), {minutes[-1]:.2f} (longest)")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=200, help="comparisons without a change, and as many with one")
    parser.add_argument("--runs", type=int, default=16, help="runs of each side, at most")
    parser.add_argument("--seconds", type=float, default=1.3, help="of training in each run")
    parser.add_argument("--limit", default="0.5%")
    parser.add_argument("--minutes", type=float, default=0, help="begins no further pair after this time")
    parser.add_argument("--alone", action="store_true", help="without other work beside it")
    parser.add_argument("--at-once", type=int, default=1, help="comparisons side by side")
    parser.add_argument("--json", type=pathlib.Path, help="appends a line for each comparison, goes on from those in "
                        "the file, and counts all")
    parser.add_argument("--keep", type=pathlib.Path, help="folder that gets the runs of each comparison")
    arguments = parser.parse_args()
    options = {name: getattr(arguments, name) for name in ("runs", "seconds", "limit", "alone", "at_once")}
    os.environ.update(KEPT)
    rows = rows_in(arguments.json, options)
    made = {row["number"] for row in rows}
    todo = [(number, change) for number, change in enumerate(changes(arguments.pairs)) if number not in made]
    beside = multiprocessing.Process(target=be_busy, args=(len(rows),), daemon=True)
    if not arguments.alone:
        beside.start()
    sizes = calibrated(arguments.seconds, arguments.at_once) if todo else []
    print("sizes", *sizes, flush=True)
    rows += compare_all(todo, sizes, options, arguments)
    if not arguments.alone:
        beside.terminate()
    show(rows)


if __name__ == "__main__":
    main()

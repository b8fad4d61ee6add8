"""How soon a launcher names who holds up many ranks. No rank runs: one process writes the tables of all of them each
second (trace/read/hang_tables.h), as ranks on other machines with a shared folder would. Only one of them sleeps."""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from places import REDLINE

RANKS_OF_A_HOST = 8
COLLECTIVES = 64
STEPS_SECONDS = 3  # so long the ranks make steps
NS = 1_000_000_000
PLACE = "written"


def table(rank, ranks, since_ns):
    """The text of a rank's table, with PLACE where its time stands. `since_ns`: it hangs since then."""
    is_culprit = rank == ranks // 2
    last = 10_000 - is_culprit
    entry = {"process_group": ["0", "default_pg"], "profiling_name": "nccl:all_reduce", "input_sizes": [[4096, 4096]],
             "input_dtypes": ["BFloat16"], "state": "completed", "time_created_ns": since_ns}
    entries = [{**entry, "collective_seq_id": number, "retired": True}
               for number in range(last - COLLECTIVES + 1, last + 1)]
    if not is_culprit:
        entries[-1].update(state="started", retired=False)
    return json.dumps({
        "schema": "redline.hang/1", "run": os.environ["REDLINE_LOG_RUN"], "job": "", "rank": rank, "world_size": ranks,
        "host": f"node{rank // RANKS_OF_A_HOST}", "process": 1000 + rank, "thread": 1000 + rank, "written_ns": PLACE,
        "step": 500, "step_began_ns": since_ns, "usual_step_ns": NS // 5, "overdue": True,
        "state": "sleeps" if is_culprit else "lock", "phase": "", "moving": False,
        "groups": [{"name": "0", "entered": last, "ranks": list(range(ranks))}], "entries": entries,
        "stack": ["train.py:31 sync", "train.py:60 <module>"], "inner": "", "sealed_ns": PLACE})


def write_for_ever(ranks):
    began_ns = time.time_ns()
    texts = None
    while True:
        now_ns = time.time_ns()
        if texts is None and now_ns - began_ns > STEPS_SECONDS * NS:
            texts = [table(rank, ranks, now_ns) for rank in range(ranks)]
        for rank, text in enumerate(texts or []):
            name = f"rank{rank}.{os.environ['REDLINE_LOG_RUN']}.hang.redline"
            path = pathlib.Path(os.environ["REDLINE_LOG"]) / name
            path.write_text(text.replace(f'"{PLACE}"', str(time.time_ns())) + "\n")
        time.sleep(max(0.0, 1 - (time.time_ns() - now_ns) / NS))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ranks", type=int, nargs="?", default=1024)
    parser.add_argument("--hang-after", type=float, default=5)
    parser.add_argument("--write", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.write:
        write_for_ever(arguments.ranks)
    with tempfile.TemporaryDirectory() as folder:
        command = [REDLINE, "run", "--log", folder, "--hang-after", f"{arguments.hang_after}s", "--on-hang",
                   "abort", "--", sys.executable, __file__, "--write", str(arguments.ranks)]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        size = sum(path.stat().st_size for path in pathlib.Path(folder).glob("*.hang.redline"))
    print(done.stderr, end="")
    waited = float(re.search(r", for ([\d.]+) s", done.stderr)[1])
    print(f"{arguments.ranks} ranks, {size / 1e6:.0f} MB of tables: said {waited - arguments.hang_after:.1f} s after the "
          f"threshold, load {os.getloadavg()[0]:.0f}")


if __name__ == "__main__":
    main()

"""Writes the tables of two ranks on two machines, as if the shared folder had them, until it is ended. Rank 1 sleeps,
and the clock of its machine goes seven seconds late. Arguments: so many seconds both clocks are later than here, and
what else rank 1 says of itself as JSON, or null where its table is not to be seen."""

import json
import os
import pathlib
import sys
import time

RUN = os.environ["REDLINE_LOG_RUN"]
NS = 1_000_000_000
LATE_NS, OWN = int(sys.argv[1]) * NS, json.loads(sys.argv[2])
HANGS_SINCE_NS = time.time_ns() - LATE_NS


def table(rank):
    now_ns = time.time_ns() - LATE_NS - rank * 7 * NS
    all_reduce = {"group": "0", "sequence": 21, "operation": "all_reduce", "entered_ns": HANGS_SINCE_NS}
    return {"schema": "redline.hang/1", "run": RUN, "rank": rank, "world_size": 2, "host": f"node{rank}",
            "process": 1000, "thread": 1000, "written_ns": now_ns, "step": 10, "overdue": True,
            "state": "sleeps" if rank == 1 else "lock",
            "groups": [{"name": "0", "entered": 21 - rank, "ranks": [0, 1]}],
            "collectives": [] if rank == 1 else [all_reduce], "stack": ["train.py:31 sync"], "sealed_ns": now_ns,
            **(OWN if rank == 1 else {})}


while True:
    for rank in range(2 if OWN is not None else 1):
        path = pathlib.Path(os.environ["REDLINE_LOG"], f"rank{rank}.{RUN}.hang.redline")
        path.write_text(json.dumps(table(rank)) + "\n")
    time.sleep(0.2)

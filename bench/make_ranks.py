"""Writes the traces of a big job, made of one real trace.

    make_ranks.py TRACE.pt.trace.json.gz FOLDER RANKS [RANKS_PER_HOST = 8]

Each rank gets the real trace's events under its own number and its host's name. All times of the ranks of one host are
stretched by 6 %, and those of one rank elsewhere by 30 %. A .gz file may have several parts, so a rank costs only its
first part, and the events are compressed once for each speed.
"""

import gzip
import pathlib
import re
import sys

SLOW_HOST, SLOW_RANK = 3, 21


def stretched(events, factor):
    """The text of events with all times stretched from the first one."""
    times = [float(number) for number in re.findall(r'"ts": ?([\d.]+)', events)]
    first = min(times)

    def begin(match):
        return f"{match[1]}{first + (float(match[2]) - first) * factor:.3f}"

    def length(match):
        return f"{match[1]}{float(match[2]) * factor:.3f}"

    events = re.sub(r'("ts": ?)([\d.]+)', begin, events)
    return re.sub(r'("dur": ?)([\d.]+)', length, events)


def main(trace, folder, ranks, per_host="8"):
    text = gzip.open(trace).read().decode()
    head, key, events = text.partition('"traceEvents"')
    ranks, per_host = int(ranks), int(per_host)
    bodies = {
        factor: gzip.compress((key + (events if factor == 1 else stretched(events, factor))).encode(), 6)
        for factor in (1, 1.06, 1.3)
    }
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for rank in range(ranks):
        host = rank // per_host
        own = re.sub(r'"rank": ?\d+', f'"rank": {rank}', head)
        own = re.sub(r'"world_size": ?\d+', f'"world_size": {ranks}', own)
        own = own.replace("{", f'{{"host_name": "node{host:03}",', 1)
        factor = 1.3 if rank == SLOW_RANK else 1.06 if host == SLOW_HOST and ranks > SLOW_RANK + per_host else 1
        (folder / f"rank{rank:05}.pt.trace.json.gz").write_bytes(gzip.compress(own.encode()) + bodies[factor])


main(*sys.argv[1:])

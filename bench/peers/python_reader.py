"""Reads one trace with a reader that is written in Python, and prints as JSON how long this took.

    python_reader.py hta TRACE      HolisticTraceAnalysis: a TraceAnalysis of one rank
    python_reader.py json TRACE     the standard library's json

The memory is the peak of the process, including its imports.
"""

import contextlib
import json
import resource
import sys
import time


def read_hta(path):
    from hta.trace_analysis import TraceAnalysis

    begin = time.perf_counter()
    trace = TraceAnalysis(trace_files={0: path}, trace_dir="").t.get_trace(0)
    return time.perf_counter() - begin, {"rows": len(trace)}


def read_json(path):
    begin = time.perf_counter()
    with open(path, "rb") as file:
        events = json.load(file)["traceEvents"]
    return time.perf_counter() - begin, {"events": len(events)}


READERS = {"hta": read_hta, "json": read_json}


def main(reader, path):
    # HolisticTraceAnalysis prints its progress, which must not get into our output.
    with contextlib.redirect_stdout(sys.stderr):
        seconds, counts = READERS[reader](path)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": seconds, "memory_bytes": peak, **counts}))


if __name__ == "__main__":
    main(*sys.argv[1:])

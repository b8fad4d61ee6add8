"""Measures `redline report` beside peers on the same traces, in turn: seconds and the most memory of the process.

Redline writes everything that its report has, as JSON. HolisticTraceAnalysis is asked for its breakdowns of time and
kernels, overlap, idle time, queue and launches; TensorBoard's plugin loads the run as for its pages. TraceLens, which
PyPI does not have, is measured where --tracelens names its command.
"""

import argparse
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from places import PEERS, REDLINE, ROOT

TRACES = ROOT.parent / "shared/traces"
HTA = """
import sys
from hta.trace_analysis import TraceAnalysis
found = TraceAnalysis(trace_dir=sys.argv[1])
found.get_temporal_breakdown(visualize=False)
found.get_gpu_kernel_breakdown(visualize=False)
found.get_comm_comp_overlap(visualize=False)
found.get_idle_time_breakdown(visualize=False)
found.get_queue_length_summary()
found.get_cuda_kernel_launch_stats(visualize=False)
"""
TENSORBOARD = """
import sys
from torch_tb_profiler.io import Cache
from torch_tb_profiler.profiler.loader import RunLoader
RunLoader("run", sys.argv[1], Cache()).load()
"""


def commands(tracelens):
    """The tools, each a function from a trace and a folder that holds only it to a command."""
    tools = {
        "redline": lambda trace, folder: [REDLINE, "report", "--format", "json", trace],
        "HTA": lambda trace, folder: [PEERS / "bin/python", "-c", HTA, folder],
        "TensorBoard plugin": lambda trace, folder: [PEERS / "bin/python", "-c", TENSORBOARD, folder],
    }
    if tracelens:
        tools["TraceLens"] = lambda trace, folder: shlex.split(tracelens.format(trace=trace, folder=folder))
    return tools


def measure(command):
    """Seconds and MB of a command; None if it fails."""
    begin = time.perf_counter()
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return (time.perf_counter() - begin, used.ru_maxrss / 1024) if process.returncode == 0 else None


def compare(trace, tools, rounds):
    """A row: the medians of each tool, and how many times as much it takes as Redline."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(trace, folder)
        took = {name: [] for name in tools}
        for _ in range(rounds):
            for name, command in tools.items():
                took[name].append(measure(command(trace, folder)))
    cells, ours = [], None
    for name, rows in took.items():
        if None in rows:
            cells.append("fails")
            continue
        seconds, megabytes = (statistics.median(row[i] for row in rows) for i in (0, 1))
        ours = ours or (seconds, megabytes)
        ratio = "" if name == "redline" else f" ({seconds / ours[0]:.0f} x, {megabytes / ours[1]:.0f} x)"
        cells.append(f"{seconds:.2f} s, {megabytes:.0f} MB{ratio}")
    return f"| {trace.name.removesuffix('.pt.trace.json.gz')} | " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("traces", nargs="*", type=pathlib.Path, help="without any, those of shared/traces")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tracelens", metavar="COMMAND", help="with {trace} where the file's name belongs")
    arguments = parser.parse_args()
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
    os.environ["REDLINE_CACHE"] = "off"  # each report reads the trace itself
    tools = commands(arguments.tracelens)
    traces = arguments.traces or sorted(TRACES.glob("*.gz"))
    if not traces:
        sys.exit("no traces: name some")
    if subprocess.run([ROOT / "scripts/install-peers"]).returncode != 0:
        sys.exit(1)
    print("| trace | " + " | ".join(tools) + " |\n|" + " --- |" * (len(tools) + 1), flush=True)
    for trace in traces:
        print(compare(trace.resolve(), tools, arguments.rounds), flush=True)


if __name__ == "__main__":
    main()

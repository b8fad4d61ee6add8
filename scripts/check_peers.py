"""Prints as JSON what HolisticTraceAnalysis and TensorBoard's PyTorch plugin find in a folder of traces.

scripts/check-peers runs it in an environment that has both. The exit status is 1 if one of them reports an error; the
plugin logs such errors and goes on without the trace.
"""

import contextlib
import json
import logging
import sys


# Both log warnings about sound traces, too: HTA its timings, and the plugin that ranks differ in the collectives
# inside their steps, because a thread of Gloo may leave its range after the step has ended.
HARMLESS = ("leaving ", "Number of communication operation nodes don't match")


class Complaints(logging.Handler):
    """Keeps what is logged as a warning or worse, except what is harmless."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.messages = []

    def emit(self, record):
        message = record.getMessage()
        if not message.startswith(HARMLESS):
            self.messages.append(f"{record.name}: {message}")


def holistic_trace_analysis(folder):
    """How many events and steps HolisticTraceAnalysis finds, by rank."""
    from hta.trace_analysis import TraceAnalysis

    traces = TraceAnalysis(trace_dir=folder).t
    return {
        str(rank): {
            "events": len(traces.get_trace(rank)),
            "steps": [int(step) for step in traces.get_iterations(rank)],
        }
        for rank in sorted(traces.traces)
    }


def tensorboard_plugin(folder):
    """By worker, the steps that the plugin shows and the calls of each operator."""
    from torch_tb_profiler.io import Cache
    from torch_tb_profiler.profiler.loader import RunLoader

    run = RunLoader("run", folder, Cache()).load()
    result = {}
    for worker, _ in run.profiles:
        profile = run.get_profile(worker, "1")
        if worker != "All":
            rows = profile.operation_table_by_name["data"]
            result[worker] = {
                "steps": [step[0] for step in profile.overview["steps"]["rows"]],
                "operators": {row["name"]: row["calls"] for row in rows},
            }
    return result


def main(folder):
    complaints = Complaints()
    logging.getLogger().addHandler(complaints)
    # Both print progress to stdout, which is for our JSON.
    with contextlib.redirect_stdout(sys.stderr):
        found = {
            "holistic_trace_analysis": holistic_trace_analysis(folder),
            "tensorboard_plugin": tensorboard_plugin(folder),
        }
    found["complaints"] = complaints.messages
    print(json.dumps(found, indent=2))
    return 1 if complaints.messages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

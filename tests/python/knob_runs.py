"""Runs a script under knobs set from outside, as a trial of autotune does, and keeps what it reports."""

import json
import os
import threading

from running import run_to_end


def run_with_knobs(python, startup, folder, knobs, command, trial, check, seconds=300):
    """Runs the command and returns the finished process. In a trial its `reports` are the lines that it sent."""
    environment = {
        "PYTHONPATH": f"{startup}:{startup.parents[1]}",
        "REDLINE_KNOBS": json.dumps(knobs),
        "OMP_NUM_THREADS": "1",
    }
    lines = []
    if trial:
        fifo = folder / "reports"
        fifo.unlink(missing_ok=True)
        os.mkfifo(fifo)
        environment["REDLINE_TRIAL"] = str(fifo)
        # Opened for writing, too, so that reading ends only when this end is closed.
        keeper = os.open(fifo, os.O_RDWR)
        # A daemon: processes that outlive a script which is killed for its time may still hold the FIFO.
        reader = threading.Thread(target=lambda: lines.extend(fifo.open().readlines()), daemon=True)
        reader.start()
    try:
        done = run_to_end([python, *command], seconds, environment, check)
    finally:
        if trial:
            os.close(keeper)
    if trial:
        reader.join()
    done.reports = [json.loads(line) for line in lines]
    return done


def seen_knobs(done):
    """What rank 0 has reported of its knobs."""
    return {name: value for report in of_type(done, "seen") if report["rank"] == 0
            for name, value in report["knobs"].items()}


def of_type(done, kind):
    return [report for report in done.reports if report["type"] == kind]

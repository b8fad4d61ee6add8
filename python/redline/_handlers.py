"""torch.profiler's handler for on_trace_ready."""

import os
import socket
import time
import warnings

from redline._library import RecorderError


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False, use_python_export=False):
    """An on_trace_ready that writes {worker_name}.{time in ns}.pt.trace.json[.gz] into `dir_name`.

    `worker_name` must differ between the processes of a job; by default it is host_pid.
    `use_python_export` chooses among torch's writers and changes nothing here. If the folder cannot
    be written, a warning says so, and training goes on.
    """

    def write(recorded):
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        try:
            os.makedirs(dir_name, exist_ok=True)
            recorded.export_chrome_trace(os.path.join(dir_name, name))
        except (OSError, RecorderError) as error:
            warnings.warn(f"redline: no trace in {dir_name}: {error}")

    write.directory = dir_name
    return write

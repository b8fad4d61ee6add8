"""What a rank says of itself while a step does not end: its last collectives, and what its training thread does.

A thread looks four times a second whether the step is overdue. While it is, the thread writes a small table each second
(trace/read/hang_tables.h), and removes it when the step ends. So a rank that is stopped or killed leaves its last
words, and `redline record` and `redline report` find out who holds the others up. It costs nothing in the training
thread.
"""

import collections
import contextlib
import json
import os
import platform
import socket
import statistics
import sys
import threading
import time

import torch
import torch.distributed

from redline._rank import rank_and_world_size

_LOOK_SECONDS = 0.25
_WRITE_SECONDS = 1.0
_OVERDUE_SECONDS = 2.0
_OVERDUE_STEPS = 3  # median steps
_FEWEST_STEPS = 3
_EVALUATION_SECONDS = 10  # so long after a model in evaluation mode was seen, it still counts as one
_MOST_COLLECTIVES = 64
_MOST_FRAMES = 16
_BUSY_SHARE = 0.01  # of a core; a thread that waits takes far less, and one that computes more on any machine

_LIBRARIES = (os.path.dirname(os.__file__) + os.sep, os.path.dirname(os.path.abspath(__file__)) + os.sep)
_PHASES = (
    ("checkpoint", (os.sep + os.path.join("torch", "serialization.py"),
                    os.sep + os.path.join("torch", "distributed", "checkpoint") + os.sep)),
    ("compile", (os.sep + os.path.join("torch", "_dynamo") + os.sep,
                 os.sep + os.path.join("torch", "_inductor") + os.sep)),
)
_LOADER = os.path.join("torch", "utils", "data", "dataloader.py")
_SYSTEM_CALLS = {
    "x86_64": {"lock": {202}, "sleeps": {35, 230},
               "io": {0, 1, 2, 7, 17, 19, 23, 42, 43, 45, 47, 61, 74, 75, 232, 247, 257, 270, 271, 281, 288}},
    "aarch64": {"lock": {98}, "sleeps": {101, 115},
                "io": {22, 56, 63, 64, 67, 72, 73, 82, 95, 202, 203, 207, 212, 242, 260}},
}


class HangWatch:
    """`current_step` gives the number of the open step and when it began (time.monotonic()); `operators` a number that
    changes whenever an operator has run."""

    def __init__(self, folder, current_step, operators):
        self._folder = folder
        self._current_step = current_step
        self._operators = operators
        self._lengths = collections.deque(maxlen=64)
        self._path = None
        self._over = threading.Event()
        self._seen = None  # the thread's CPU time, its stack and the operators at the last look
        self._unchanged_since = 0.0
        self._evaluated = float("-inf")

    def start(self):
        """Watches the calling thread, whose first step ends now."""
        self._begins = time.monotonic()
        self._thread = threading.get_ident()
        self._native = threading.get_native_id()
        threading.Thread(target=self._run, name="redline-hang", daemon=True).start()

    def stop(self, keep):
        """The process ends. `keep`: not as it should, so the table stays."""
        self._over.set()
        if not keep:
            self._remove()

    def _run(self):
        step, began = 0, self._begins
        written = 0.0
        while not self._over.wait(_LOOK_SECONDS):
            try:
                now_at, now_began = self._current_step()
                if now_at != step:
                    self._lengths.append((now_began - began) / max(1, now_at - step))
                    step, began = now_at, now_began
                    self._remove()
                now = time.monotonic()
                if step > _FEWEST_STEPS and self._is_overdue(now - began) and now - written >= _WRITE_SECONDS:
                    written = now
                    self._write(step, now - began)
            except Exception:  # such as a full disk: the job goes on, and the next look may have more luck
                continue

    def _is_overdue(self, seconds):
        # One length a look, which is the mean of the steps in between.
        return seconds > max(_OVERDUE_SECONDS, _OVERDUE_STEPS * statistics.median(self._lengths))

    def _remove(self):
        path, self._path = self._path, None
        self._seen = None
        if path is not None:
            with contextlib.suppress(OSError):
                os.unlink(path)

    def _write(self, step, open_seconds):
        rank, world_size = rank_and_world_size()
        now_ns = time.time_ns()
        table = {
            "schema": "redline.hang/1",
            "run": os.environ.get("REDLINE_LOG_RUN", ""),
            "rank": rank,
            "world_size": world_size,
            "host": socket.gethostname(),
            "process": os.getpid(),
            "written_ns": now_ns,
            "step": step,
            "step_began_ns": now_ns - int(open_seconds * 1e9),
            "usual_step_ns": int(statistics.median(self._lengths) * 1e9),
            **self._thread_facts(),
            "groups": _groups(),
            "collectives": entered_collectives(),
        }
        path = os.path.join(self._folder, f"rank{rank}.hang.redline")
        partial = f"{path}.{os.getpid()}.partial"
        with open(partial, "w", encoding="utf-8") as file:
            json.dump(table, file)
        os.replace(partial, path)
        self._path = path

    def _thread_facts(self):
        now = time.monotonic()
        frames = _frames_of(self._thread)
        names = [(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name) for frame in frames]
        if any(_is_in_evaluation(frame) for frame in frames):
            self._evaluated = now
        place = [(name, frame.f_lasti) for name, frame in zip(names, frames)]
        del frames
        busy = _core_seconds(self._native)
        operators = self._operators()
        is_moving, state = False, None
        if self._seen is not None:
            then, busy_then, place_then, operators_then = self._seen
            is_moving = operators != operators_then
            if place != place_then:
                self._unchanged_since = now
            if busy - busy_then > _BUSY_SHARE * (now - then):
                state = "runs"
        else:
            self._unchanged_since = now
        self._seen = now, busy, place, operators
        state = state or _waits_in(self._native)
        is_stuck = state != "runs" and now - self._unchanged_since > _OVERDUE_SECONDS
        phase = _phase_of(names)
        if not phase and now - self._evaluated < _EVALUATION_SECONDS and not is_stuck:
            phase = "evaluation"
        own = [f"{os.path.basename(file)}:{line} {function}" for file, line, function in names if not _is_library(file)]
        return {"phase": phase, "moving": is_moving, "state": state, "stack": own[:_MOST_FRAMES],
                "inner": _inner(names)}


def entered_collectives():
    """The last collectives as torch's own flight recorder lists them; [] for a torch that lists none."""
    entries = []
    for dump in ("_dump_fr_trace_json", "_dump_nccl_trace_json"):
        function = getattr(getattr(torch._C, "_distributed_c10d", None), dump, None)
        if function is None or (dump == "_dump_nccl_trace_json" and not torch.cuda.is_available()):
            continue
        entries += json.loads(function(True, False)).get("entries", [])
    return [
        {
            "group": str(entry["process_group"][0]),
            "sequence": entry["collective_seq_id"],
            "operation": entry["profiling_name"].partition(":")[2] or entry["profiling_name"],
            "sizes": json.dumps(entry["input_sizes"]),
            "types": ", ".join(entry["input_dtypes"]),
            "done": bool(entry["retired"]) or entry["state"] == "completed",
            "entered_ns": entry["time_created_ns"],
        }
        for entry in entries[-_MOST_COLLECTIVES:]
        if not entry.get("is_p2p")
    ]


def _groups():
    dist = torch.distributed
    if not dist.is_available() or not dist.is_initialized():
        return []
    configurations = getattr(dist.distributed_c10d, "_get_all_pg_configs", list)()  # private, so it may go
    return [{"name": str(group["pg_name"]), "ranks": list(group["ranks"])} for group in configurations]


def _frames_of(thread):
    """Innermost first."""
    frames = []
    frame = sys._current_frames().get(thread)
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames


def _is_library(file):
    return file.startswith(("<", *_LIBRARIES)) or "-packages" + os.sep in file


def _is_in_evaluation(frame):
    code = frame.f_code
    if not code.co_varnames or code.co_varnames[0] != "self" or code.co_name not in ("forward", "_call_impl"):
        return False
    return getattr(frame.f_locals.get("self"), "training", True) is False


def _phase_of(names):
    for phase, places in _PHASES:
        if any(place in file for place in places for file, _, _ in names):
            return phase
    return ""


def _inner(names):
    """The loader's frame if the thread waits for data, wherever in it; else the innermost, if that is a library's."""
    names = [name for name in names if not name[0].startswith(_LIBRARIES[1])]  # without what watches the job
    loader = next((name for name in names if name[0].endswith(_LOADER)), None)
    file, line, function = loader or (names[0] if names and _is_library(names[0][0]) else ("", 0, ""))
    return f"{os.path.basename(file)}:{line} {function}" if file else ""


def _core_seconds(native):
    """Not by the thread's clock, because asking for that of a thread that has ended may crash."""
    try:
        with open(f"/proc/self/task/{native}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def _waits_in(native):
    """What the kernel says of a thread that takes no time of a core; "" if it does not say."""
    try:
        with open(f"/proc/self/task/{native}/syscall", encoding="ascii") as file:
            call = file.read().split()[0]
    except (OSError, IndexError):
        return ""
    if call == "running":
        return "runs"
    calls = _SYSTEM_CALLS.get(platform.machine(), {})
    return next((state for state, numbers in calls.items() if call in map(str, numbers)), "")

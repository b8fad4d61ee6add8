"""What a rank says of itself, so that others can tell who holds a hanging job up.

A thread writes a small table each second (trace/read/hang_tables.h): the step, the last collective that the rank has
entered of each group, and in which line of code it is. While a step is overdue, the table also lists the last
collectives as torch's own flight recorder does, and says what the training thread does. A rank that is stopped or
killed leaves its last table. In the training thread this costs nothing; while no step is overdue, the table takes some
ten microseconds a second.
"""

import atexit
import collections
import contextlib
import ctypes
import faulthandler
import json
import os
import signal
import socket
import statistics
import sys
import threading
import time
import traceback

import torch
import torch.distributed

from redline._library import RecorderError, core_path, libraries
from redline._rank import rank_and_world_size

_LOOK_NS = 500_000_000
_WRITE_SECONDS = 1.0
_END_SECONDS = 5.0  # in which a look ends
_OVERDUE_SECONDS = 2.0
_OVERDUE_STEPS = 3  # median steps
_FEWEST_STEPS = 3
_START_SECONDS = 300  # so long an early step may take: data are opened, models are moved and compiled
_EVALUATION_SECONDS = 10  # so long after a model in evaluation mode was seen, it still counts as one
_ENTRY_KEYS = ("process_group", "collective_seq_id", "profiling_name", "input_sizes", "input_dtypes", "state", "retired",
               "time_created_ns")  # what trace/read/flight_dumps.cc reads
_MOST_COLLECTIVES = 64
_MOST_PENDING = 192
_MOST_FRAMES = 16
_MOST_LETTERS = 200
_BUSY_SHARE = 0.01  # of a core; a thread that waits takes far less, and one that computes more on any machine
_STARVED_SECONDS = 1.0  # with less of a core since its last operator, a thread that runs may be about to call the next
STACKS_SIGNAL = signal.SIGRTMIN + 13  # the launcher and autotune send it: tuner/trial/trial_files.cc

_LIBRARIES = (os.path.dirname(os.__file__) + os.sep, os.path.dirname(os.path.abspath(__file__)) + os.sep)
_PHASES = (
    ("checkpoint", (os.sep + os.path.join("torch", "serialization.py"),
                    os.sep + os.path.join("torch", "distributed", "checkpoint") + os.sep)),
    ("compile", (os.sep + os.path.join("torch", "_dynamo") + os.sep,
                 os.sep + os.path.join("torch", "_inductor") + os.sep)),
)
_LOADER = os.path.join("torch", "utils", "data", "dataloader.py")
_watch = None


def watch_for_hangs(folder, run):
    """Called by the training thread once a process group is there, and at the end of the first step. Does nothing
    unless the launcher reads the tables."""
    global _watch
    if not os.environ.get("REDLINE_HANG_TABLES"):
        return
    with contextlib.suppress(Exception):  # the job goes on without
        if _watch is None or _watch.process != os.getpid():  # a child that was forked has no thread for it
            _watch = HangWatch(folder, run)
            _watch.start()
        else:
            _watch.follow_this_thread()


def end_watch():
    """The process is about to end as it should, by something else than the end of the script."""
    if _watch is not None:
        _watch.stop()


def note_out_of_memory(error):
    """An allocation has failed. The script may catch that, and leave out what the other ranks wait for."""
    if _watch is not None:
        _watch.note_out_of_memory(str(error))


class HangWatch:
    def __init__(self, folder, run):
        self._folder, self._run_name = folder, run
        core = ctypes.CDLL(core_path())
        self._progress = core.redline_log_progress
        self._wait_for_abort, self._wake = core.redline_abort_wait, core.redline_abort_wake
        self._wait_for_abort.argtypes = [ctypes.c_int64]
        self._end_abort = core.redline_abort_told
        self._waits_in = core.redline_thread_wait
        self._waits_in.argtypes, self._waits_in.restype = [ctypes.c_int64], ctypes.c_char_p
        self._count_operators = _operator_counter()
        self._lengths = collections.deque(maxlen=64)
        self._is_over = False
        self.process = os.getpid()
        self._path = None
        self._memory_error = 0, ""  # the step, and what torch said
        self._forget()
        self._evaluated = float("-inf")

    def start(self):
        self._began = time.monotonic()
        self.follow_this_thread()
        self._answer = _answer_with_stacks()
        atexit.register(self.stop)
        self._look = threading.Thread(target=self._run, name="redline-hang", daemon=True)
        self._look.start()

    def follow_this_thread(self):
        self._thread, self._native = threading.get_ident(), threading.get_native_id()

    def stop(self):
        """The process ends. If not as it should, the table stays, and says why."""
        self._is_over = True
        if self.process != os.getpid():
            return
        self._wake()
        with contextlib.suppress(Exception):
            # What it writes now must not come later. And where Python ends while it gives a tensor of the script's
            # frames back, torch ends the process by SIGABRT.
            self._look.join(_END_SECONDS)
            if self._path is None:
                return
            error = getattr(sys, "last_type", None)
            if error is None:
                os.unlink(self._path)
            elif not issubclass(error, KeyboardInterrupt):  # after that, who hung is what matters
                self._write_last()

    def note_out_of_memory(self, text):
        self._memory_error = self._current_step()[0], text.partition("\n")[0][:_MOST_LETTERS]

    def _run(self):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {STACKS_SIGNAL})
        step, began = self._current_step()
        written = float("-inf")
        while not self._is_over:
            try:
                now_at, now_began = self._current_step()
                if now_at != step:
                    self._lengths.append((now_began - began) / max(1, now_at - step))
                    step, began = now_at, now_began
                    self._forget()
                now = time.monotonic()
                if now - written >= _WRITE_SECONDS:
                    written = now
                    self._write(step, now - began)
            except Exception:  # such as a full disk: the job goes on, and the next look may have more luck
                pass
            if self._wait_for_abort(_LOOK_NS):
                with contextlib.suppress(Exception):
                    self._write_aborted()
                self._end_abort()
                return

    def _current_step(self):
        """Its number, and when it began."""
        step, age_ns = ctypes.c_int64(), ctypes.c_int64()
        self._progress(ctypes.byref(step), ctypes.byref(age_ns))
        return step.value, time.monotonic() - age_ns.value / 1e9 if step.value else self._began

    def _is_overdue(self, seconds):
        return seconds > max(_OVERDUE_SECONDS, _OVERDUE_STEPS * self._usual_seconds())

    def _usual_seconds(self):
        # One length a look, which is the mean of the steps in between.
        return statistics.median(self._lengths) if self._lengths else 0.0

    def _forget(self):
        """The step is not overdue any more."""
        self._seen = None  # the thread's CPU time, its stack and the operators at the last look
        self._unchanged_since = 0.0
        self._listed = None, []  # the collectives, and what they depend on
        self._work = set()
        self._count_operators(False)

    def _write(self, step, open_seconds):
        frames = _frames_of(self._thread)
        names = [(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name) for frame in frames]
        is_overdue = self._is_overdue(open_seconds)
        table = {**self._owner(step, open_seconds), **_places(names), "overdue": is_overdue,
                 "groups": _groups(with_ranks=is_overdue)}
        if is_overdue:
            table.update(self._thread_facts(names, frames))
            if not table["phase"] and step <= _FEWEST_STEPS and open_seconds < _START_SECONDS:
                table["phase"] = "start"
            key = str((names, table["groups"]))
            if self._listed[0] != key:  # torch takes 20 ms for its 2,000 collectives
                self._listed = key, []
                with contextlib.suppress(KeyError, TypeError, IndexError):  # a torch that lists them in another form
                    self._listed = key, entered_collectives()
            table["entries"] = self._listed[1]
        del frames
        if not self._is_over:  # else stop() may have given up waiting, and removed the table
            self._put(table)

    def _write_last(self):
        """An exception ends the process."""
        names = [(frame.f_code.co_filename, line, frame.f_code.co_name)
                 for frame, line in traceback.walk_tb(sys.last_traceback)][::-1]
        error = "".join(traceback.format_exception_only(sys.last_type, sys.last_value)).strip()
        collectives = entered_collectives()
        if collectives and names and _is_library(names[0][0]):
            # It may have raised, and then its entry says that it is done.
            collectives[-1].update(retired=False, state="")
        self._put_end(names, error, collectives)

    def _write_aborted(self):
        """Another thread aborts, such as Gloo's, which got more than it wanted, or the watchdog of NCCL."""
        names = [(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name) for frame in _frames_of(self._thread)]
        self._put_end(names, "aborted (SIGABRT)", entered_collectives())

    def _put_end(self, names, error, collectives):
        step, began = self._current_step()
        self._put({**self._owner(step, time.monotonic() - began), **_places(names), "overdue": True, "state": "gone",
                   "error": error[:_MOST_LETTERS], "groups": _groups(with_ranks=True), "entries": collectives})

    def _owner(self, step, open_seconds):
        rank, world_size = rank_and_world_size()
        now_ns = time.time_ns()
        memory_step, memory_error = self._memory_error
        return {
            "schema": "redline.hang/1",
            "run": self._run_name,
            "job": _job_name(),
            "rank": rank,
            "world_size": world_size,
            "host": socket.gethostname(),
            "process": self.process,
            "pid_namespace": _pid_namespace(),
            "thread": self._native,
            "thread_ident": self._thread,
            "stack_thread": self._look.native_id,
            **self._answer,
            "written_ns": now_ns,
            "step": step,
            "step_began_ns": now_ns - int(open_seconds * 1e9),
            "usual_step_ns": int(self._usual_seconds() * 1e9),
            "memory_error": memory_error if step - memory_step <= 1 else "",
            "met": "REDLINE_HANG_MEET" in os.environ,
        }

    def _put(self, table):
        run = f".{self._run_name}" if self._run_name else ""  # two jobs may use one folder
        self._path = os.path.join(self._folder, f"rank{table['rank']}{run}.hang.redline")
        table["sealed_ns"] = table["written_ns"]  # comes last, so it shows a table that is written at this moment
        # Opened each time: other machines see what was written once it is closed.
        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.pwrite(file, (json.dumps(table) + "\n").encode(), 0)
        finally:
            os.close(file)

    def _thread_facts(self, names, frames):
        now = time.monotonic()
        if any(_is_in_evaluation(frame) for frame in frames):
            self._evaluated = now
        place = [(name, frame.f_lasti) for name, frame in zip(names, frames)]
        busy = _core_seconds(self._native)
        operators = self._count_operators(True)
        is_moving, state = False, None
        if self._seen is not None:
            then, busy_then, place_then, operators_then = self._seen
            is_moving = operators != operators_then
            if is_moving:
                self._busy_at_operator = busy
            if place != place_then:
                self._unchanged_since = now
            if busy - busy_then > _BUSY_SHARE * (now - then):
                state = "runs"
        else:
            self._unchanged_since = now
            self._busy_at_operator = busy
        self._seen = now, busy, place, operators
        state = state or self._waits_in(self._native).decode()
        is_moving = is_moving or (state == "runs" and busy - self._busy_at_operator < _STARVED_SECONDS)
        is_stuck = state != "runs" and now - self._unchanged_since > _OVERDUE_SECONDS
        phase = _phase_of(names)
        if not phase and now - self._evaluated < _EVALUATION_SECONDS and not is_stuck:
            phase = "evaluation"
        if _inner(names).startswith(os.path.basename(_LOADER)):
            before, self._work = self._work, _work_of_children()
            if not phase and self._work - before:
                phase = "data"
        return {"phase": phase, "moving": is_moving, "state": state}


def _work_of_children():
    """Of each child process, which are the loader's workers, how long it has computed and how much it has read."""
    work = set()
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError):
            for child in _text(f"/proc/self/task/{task}/children").split():
                with contextlib.suppress(OSError):
                    read = _text(f"/proc/{child}/io").partition("\n")[0]
                    work.add((child, *_text(f"/proc/{child}/stat").rpartition(")")[2].split()[11:13], read))
    return work


def _text(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def _operator_counter():
    """Gives a number that changes whenever an operator has run, between a call with True and one with False."""
    with contextlib.suppress(RecorderError, AttributeError):
        _, adapter = libraries()
        adapter.redline_torch_count_operators.restype = ctypes.c_int64
        return adapter.redline_torch_count_operators
    return lambda is_on: 0


def _answer_with_stacks():
    """A thread of C++ code may keep the interpreter lock for ever, and no table is written then. So faulthandler, which
    needs no lock, answers a signal of the launcher by writing every thread's stack to a file that has no name. The
    signal goes to the thread of the tables, because it could interrupt what another one waits for."""
    if signal.getsignal(STACKS_SIGNAL) is not signal.SIG_DFL:
        return {}
    file = os.memfd_create("redline-stacks")
    faulthandler.register(STACKS_SIGNAL, file=file, all_threads=True)
    return {"stack_signal": int(STACKS_SIGNAL), "stack_file": file}


def _job_name():
    """The same on all machines of a job, also where each has a launcher of its own; "" if nothing tells."""
    address, port = os.environ.get("MASTER_ADDR"), os.environ.get("MASTER_PORT")
    place = f"{address}:{port}" if address and port else ""
    if "SLURM_JOB_ID" not in os.environ:
        return place
    # A script may start one step for all nodes of a job, or one for each. Jobs of one node each may all have localhost.
    if not place or address in ("localhost", "127.0.0.1", "::1"):
        place = "step " + os.environ.get("SLURM_STEP_ID", "")
    return f"slurm {os.environ['SLURM_JOB_ID']} {place}"


def _pid_namespace():
    """Two containers of one machine may have its name, and processes of the same number."""
    with contextlib.suppress(OSError):
        return os.stat("/proc/self/ns/pid").st_ino
    return 0


def entered_collectives():
    """The last collectives as torch's own flight recorder lists them; [] for a torch that lists none."""
    entries = []
    for dump in ("_dump_fr_trace_json", "_dump_nccl_trace_json"):
        function = getattr(getattr(torch._C, "_distributed_c10d", None), dump, None)
        if function is None or (dump == "_dump_nccl_trace_json" and not torch.cuda.is_initialized()):
            continue
        entries += json.loads(function(True, False)).get("entries", [])
    collectives = _latest([entry for entry in entries if not entry.get("is_p2p")])
    return [{key: entry[key] for key in _ENTRY_KEYS if key in entry} for entry in collectives]


def _latest(entries):
    """And those that are not done, however old."""
    early, late = entries[:-_MOST_COLLECTIVES], entries[-_MOST_COLLECTIVES:]
    return [entry for entry in early if not _is_done(entry)][:_MOST_PENDING] + late


def _is_done(entry):
    return bool(entry["retired"]) or entry["state"] == "completed"


def _groups(with_ranks):
    dist = torch.distributed
    if not dist.is_available() or not dist.is_initialized():
        return []
    groups = []
    # Of the private module, where another torch may have something else.
    with contextlib.suppress(AttributeError, RuntimeError):
        world = dist.distributed_c10d._world
        for group, name in list(world.pg_names.items()):
            row = {"name": str(name), "entered": group._get_sequence_number_for_group()}
            if with_ranks:
                row["ranks"] = dist.get_process_group_ranks(group)
            groups.append(row)
    return groups


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


def _places(names):
    own = [f"{os.path.basename(file)}:{line} {function}" for file, line, function in names if not _is_library(file)]
    return {"stack": own[:_MOST_FRAMES], "inner": _inner(names)}


def _inner(names):
    """The loader's frame if the thread waits for data, wherever in it; else the innermost, if that is a library's."""
    names = [name for name in names if not name[0].startswith(_LIBRARIES[1])]  # without what watches the job
    loader = next((name for name in names if name[0].endswith(_LOADER)), None)
    file, line, function = loader or (names[0] if names and _is_library(names[0][0]) else ("", 0, ""))
    return f"{os.path.basename(file)}:{line} {function}" if file else ""


def _core_seconds(native):
    """Not by the thread's clock, because asking for that of a thread that has ended may crash."""
    try:
        return int(_text(f"/proc/self/task/{native}/schedstat").split()[0]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0

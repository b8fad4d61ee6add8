"""Zero-code recording: what `redline record` does inside each Python process of the command.

REDLINE_RECORD holds the request as a JSON object: "schedule" and the options of redline_prepare (profiler/c_api.h),
such as "directory". REDLINE_NOTES names a file for notes that `redline record` sums up at the end. A step ends when the
optimizer steps (_optimizer_steps.py), or at step() of torch.profiler if the script uses that.
"""

import atexit
import json
import os
import sys

from redline._automatic import AutomaticRecording
from redline._flight import FlightRecording
from redline._library import recorder
from redline._notes import Notes
from redline._rank import is_excluded, is_launcher
from redline._stand_in import replace

_recording = None


def install():
    """Records this process as REDLINE_RECORD asks. It is called once, right after `import torch`."""
    global _recording
    request = json.loads(os.environ["REDLINE_RECORD"])
    notes = Notes(os.environ.get("REDLINE_NOTES"))
    notes.add("torch")
    if is_launcher(sys.orig_argv):
        return
    if is_excluded(request.get("ranks")):
        notes.add("excluded")
        return
    kind = FlightRecording if request.get("ring_seconds") else AutomaticRecording
    try:
        recorder().take_request()
        _recording = kind(request, notes)
    except Exception as error:
        notes.tell("failed", f"nothing is recorded, training goes on: {error}")
        return
    _recording.watch(is_spawned(sys.orig_argv))
    atexit.register(_recording.finish)
    _note_exit_status(_recording)
    _call_before(("_exit",), _recording.finish)
    _call_before(("execv", "execve"), _recording.finish_before_exec)


def step_aside():
    """Gives up the recording, because the script uses redline.profile, and a process has only one recorder."""
    if _recording is not None:
        _recording.give_up("the script records itself with redline.profile")


def is_spawned(command):
    """Whether multiprocessing started this process with "spawn" or "forkserver". The command line tells it, because
    multiprocessing.parent_process() does not know it yet when the main module, and with it torch, is imported."""
    code = command[command.index("-c") + 1 :] if "-c" in command else []  # behind the interpreter's options
    return any(word.startswith("from multiprocessing.") for word in code[:1])


def _note_exit_status(recording):
    """Keeps the status that the script gives to sys.exit(), because atexit does not tell it to its handlers."""

    def note_and_exit(leave, status=None, /):
        recording.exit_status = status
        leave(status)

    replace(sys, "exit", note_and_exit)


def _call_before(names, finish):
    """Finishes before these functions of os, which skip atexit. Some scripts end by os._exit because a thread hangs, and
    some start anew by an exec. If there is no such program, the script goes on without being recorded."""

    def finish_and_leave(leave, *arguments, **named):
        try:
            finish()
        finally:
            leave(*arguments, **named)

    for name in names:
        replace(os, name, finish_and_leave)

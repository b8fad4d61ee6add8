"""Each rank of a trial writes JSON lines for the runner into the FIFO that REDLINE_TRIAL names. Each line is one write
of less than 4096 bytes (PIPE_BUF), so that the lines of several ranks never mix.
"""

import contextlib
import errno
import json
import os
import socket
import time

from redline._rank import rank_and_world_size

LONGEST_LINE = 4000  # bytes; PIPE_BUF is 4096


class Channel:
    """Writes to the FIFO. It never raises and never blocks for long, because the training matters more.

    A FIFO works only within one machine. A rank on another machine that shares the folder sees the name, but no
    reader. It then appends its lines to a file in PATH.d, a folder that the runner makes if trials may run on
    several machines. Each of these lines says how far the time of day is ahead of the monotonic clock here, so that
    the runner can translate times into its own monotonic clock.
    """

    def __init__(self, path):
        self.path = path
        self.descriptor = None
        self.identity = None
        self.remote = False

    def _open(self):
        if self.descriptor is not None and self._identity() == self.identity:
            return True
        self.descriptor = None  # if it was open, the script has closed it, and a file of its own may have its number
        try:
            self.descriptor = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno == errno.ENXIO:
                self._open_file()
        self.identity = self._identity()
        return self.descriptor is not None

    def _identity(self):
        try:
            status = os.fstat(self.descriptor)
        except (OSError, TypeError):
            return None
        return status.st_dev, status.st_ino

    def _open_file(self):
        with contextlib.suppress(OSError):
            path = os.path.join(self.path + ".d", f"{socket.gethostname()}.{os.getpid()}")
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self.descriptor = os.open(path, flags, 0o600)
            self.remote = True

    def send(self, line_type, patience=0.0, **fields):
        """Writes one line. Gives whether this succeeded. A full pipe is waited for, but only `patience` seconds."""
        rank, _ = rank_and_world_size()
        fields = {"type": line_type, "rank": rank, **fields}
        if self._open() and self.remote:
            fields["clock"] = time.time_ns() - time.monotonic_ns()
        line = _line(fields)
        while len(line) > LONGEST_LINE and fields.get("message"):
            fields["message"] = fields["message"][len(fields["message"]) // 2 + 1 :]
            line = _line(fields)
        deadline = time.monotonic() + patience
        while not self._write(line + b"\n"):
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.01)
        return True

    def _write(self, line):
        try:
            return self._open() and os.write(self.descriptor, line) == len(line)
        except OSError:  # full, or the runner is gone and will not miss it
            return False


def _line(fields):
    # Scripts may give torch numbers of numpy, such as num_workers.
    return json.dumps(fields, ensure_ascii=False, default=int).encode(errors="replace")

"""Notes from the processes of a recorded command to `redline record`, which sums them up at the end.

All processes of the command share one file. Each fact is one JSON line, appended in one write, so that it stays however
a rank dies.
"""

import json
import os
import sys


class Notes:
    """`path` may be None or out of reach (a rank on another machine)."""

    def __init__(self, path):
        self._path = path

    def add(self, what, text=None):
        """Appends a fact. Gives whether it reached the file."""
        note = {"pid": os.getpid(), "what": what, "text": text}
        try:
            file = os.open(self._path, os.O_WRONLY | os.O_APPEND)
            try:
                os.write(file, json.dumps(note).encode() + b"\n")
            finally:
                os.close(file)
        except (OSError, TypeError):  # also of a full disk
            return False
        return True

    def tell(self, what, text):
        """Adds a fact that the user must not miss: it goes to stderr if the file is out of reach."""
        if not self.add(what, text):
            print(f"redline: {text}", file=sys.stderr)

    def another_process_recorded(self):
        """Whether a process of this command other than this one has written a trace."""
        try:
            with open(self._path, encoding="utf-8") as file:
                notes = [json.loads(line) for line in file]
        except (OSError, TypeError, ValueError):
            return False
        return any(note["what"] == "trace" and note["pid"] != os.getpid() for note in notes)

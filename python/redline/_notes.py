"""What the processes of a recorded command tell `redline record`, which sums it up at the end.

One JSON line a fact, each appended in one write to one file that all processes of the command share:
ranks die in every way, and what they had written stays.
"""

import json
import os
import sys


class Notes:
    """`path` may be None or out of reach (a rank on another machine)."""

    def __init__(self, path):
        self._path = path

    def add(self, what, text=None):
        """Whether the fact reached the file."""
        note = {"pid": os.getpid(), "what": what, "text": text}
        try:
            file = os.open(self._path, os.O_WRONLY | os.O_APPEND)
        except (OSError, TypeError):
            return False
        try:
            os.write(file, json.dumps(note).encode() + b"\n")
        finally:
            os.close(file)
        return True

    def tell(self, what, text):
        """A fact that the user must not miss: said on stderr where the file is out of reach."""
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

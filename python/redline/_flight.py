"""redline record --ring: runs a flight recorder in one process of a command.

It runs from the start, or, in a process that may be a worker, from the first model call on. The recorder itself writes
the ring at a slow step, a crash, SIGTERM or `redline trigger`. This module writes it if an exception ends the script. A
normal end writes nothing.
"""

import sys

from redline._automatic import AutomaticRecording, never_harm
from redline._job_metadata import describe_job


class FlightRecording(AutomaticRecording):
    """Finds steps as AutomaticRecording does, but steps begin and end no window."""

    @never_harm
    def finish(self):
        describe_job(self._recorder)
        # The interpreter sets it when it prints an exception that nobody caught.
        uncaught = getattr(sys, "last_type", None)
        if self._whole_run and uncaught is not None:
            path = self._recorder.write_ring(f"uncaught {uncaught.__name__}")
            self.notes.add("trace", path)
        elif self._whole_run:
            self._recorder.discard()
            self.notes.add("nothing", "the flight recorder met no slow step, crash or request")
        self.notes.add("finished")
        self.over = True

    def _next_step(self):
        self._recorder.end_step()
        self._samples.end_step(recorded=False)
        if self._step == 0:
            self._begin_work()
        self._step += 1
        self._open_step()

    def _forget_steps(self):
        """The ring keeps what it holds."""
        self._infers = self._steps_by_backward = False

    def _begin_whole_run(self):
        if not self._whole_run:
            super()._begin_whole_run()
            self._listen()

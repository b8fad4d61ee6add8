"""redline record --ring: one process of a command with a flight recorder.

It runs from the first model call on, or from the start where the process is no worker; what it holds is
written by the recorder itself (a slow step, a crash, SIGTERM, redline trigger), and here where the script
ends by an exception. A normal end writes nothing.
"""

import sys

from redline._automatic import AutomaticRecording, never_harm
from redline._job_metadata import describe_job


class FlightRecording(AutomaticRecording):
    """Steps are found as ever; they begin and end no window."""

    @never_harm
    def finish(self):
        describe_job(self._recorder)
        # Set by the interpreter when it prints an exception that nobody caught.
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
        self._close_step()
        if self._step == 0:
            self._begin_work()
        self._step += 1
        self._open_step()

    def _forget_inference(self):
        """The ring goes on with what it has."""
        self._infers = False

    def _begin_whole_run(self):
        if not self._whole_run:
            super()._begin_whole_run()
            self._listen()

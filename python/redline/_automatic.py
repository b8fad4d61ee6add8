"""The recording of one process of a command that knows nothing of Redline.

Until the first optimizer step nobody knows whether the process trains at all, so it is recorded from
the start as one window: training gives that window up when its schedule begins, inference keeps it.

Nothing here may harm the job: what fails is said once, the recording ends, and training goes on.
"""

import contextlib
import functools
import os
import threading

import torch
from torch.profiler import ProfilerAction

from redline._cycle import operations, records
from redline._job_metadata import describe_job, distributed_info, world_size
from redline._library import RecorderError, recorder
from redline._model_calls import ModelCalls
from redline._optimizer_steps import watch_optimizers
from redline._sample_count import SampleCount, watch_data_loaders
from redline._schedule import action_rule
from redline._script_profiler import watch_script_profiler
from redline._torch_settings import note_autocast


_USAGE_ERROR = 2  # the exit status of argparse and click
_UNSCHEDULED = {"skip_first": 0, "wait": 0, "warmup": 0, "active": 1, "repeat": 0}


class NotWanted(Exception):
    """This process turns out to be of a rank that --ranks leaves alone."""


def never_harm(method):
    """Runs `method` only while the recording lives, in the process that it belongs to: forked
    children, such as DataLoader workers, inherit the object and must leave it alone."""

    @functools.wraps(method)
    def guarded(self, *arguments):
        if self.over or os.getpid() != self.process:
            return
        try:
            method(self, *arguments)
        except NotWanted:
            self.over = True
            self._recorder.discard()
        except Exception as error:
            self.over = True
            with contextlib.suppress(Exception):
                self._recorder.discard()
            self.notes.tell("failed", f"recording ended early, training went on: {error}")

    return guarded


class AutomaticRecording:
    """Raises RecorderError where the recorder cannot be loaded; later nothing is raised."""

    def __init__(self, request, notes):
        self.process = os.getpid()
        self.over = False
        self.notes = notes
        self._recorder = recorder()
        self._directory = request["directory"]
        self._options = request  # the recorder leaves alone what is not for it
        self._ranks = request.get("ranks")
        self._marker = request.get("step_marker")
        self._cycles = request["schedule"] or _UNSCHEDULED
        self._action_of = action_rule(**self._cycles)
        self._step = 0
        self._action = self._action_of(0)
        self._script_marks_steps = False
        self._unmarked_steps = None  # of the optimizer since the script's profiler started, until its step()
        self._whole_run = False
        self.exit_status = None
        self._works = False
        self._first_step_is_open = False
        self._told_of_fork = False
        self._exporter = None
        self._ending = False
        self._traces = 0
        self._samples = SampleCount()

    @never_harm
    def watch(self, is_spawned):
        """`is_spawned`: it may be a DataLoader worker, and must first show that it is not."""
        self.notes.add("watching")
        self._recorder.finish_on_termination()
        if self._marker:
            self._recorder.watch_marker(self._marker, self.marker_seen)
        else:
            watch_optimizers(self.optimizer_stepped)
            watch_script_profiler(
                self.profiler_started, self.profiler_stepped, self.profiler_stopped
            )
        watch_data_loaders(self._samples, self.batch_fetched)
        self._model_calls = ModelCalls(self.model_called)
        if not is_spawned:
            self._begin_whole_run()

    @never_harm
    def model_called(self):
        """A model is called for the first time: this process does work of its own."""
        if torch.utils.data.get_worker_info() is not None:
            return
        self._model_calls.stop()
        self._works = True
        note_autocast()
        if self._whole_run:
            describe_job(self._recorder)
            self._open_first_step()
        elif self._step == 0:
            self._begin_whole_run()
            self._open_first_step()

    @never_harm
    def batch_fetched(self):
        """A DataLoader is asked for its next batch."""
        self._open_first_step()

    def optimizer_stepped(self):
        if os.getpid() == self.process:
            self._optimizer_stepped()
        elif not self._told_of_fork:
            self._told_of_fork = True
            self.notes.add("forked", "training in processes that were forked after `import torch` "
                                     "is not recorded: have them spawned")

    @never_harm
    def _optimizer_stepped(self):
        if self._unmarked_steps is not None:
            self._unmarked_steps += 1
            if self._unmarked_steps == 1:  # its step() may follow
                return
            self._unmarked_steps = None
        if not self._script_marks_steps:
            self._next_step()

    @never_harm
    def marker_seen(self):
        self._next_step()

    @never_harm
    def profiler_started(self):
        """Its step() marks the steps from now on, unless two steps of the optimizer show that nobody calls it."""
        self._close_step()
        self._unmarked_steps = 0

    @never_harm
    def profiler_stepped(self):
        self._unmarked_steps = None
        self._script_marks_steps = True
        self._next_step()

    @never_harm
    def profiler_stopped(self):
        self._unmarked_steps = None
        self._script_marks_steps = False

    @never_harm
    def finish(self):
        """The process ends: what was recorded is written."""
        self._wait_for_export()
        self._ending = True
        if self._whole_run:
            self._finish_whole_run()
        elif records(self._action):
            self._finish_cut_window()
        else:
            self._finish_between_windows()
        self._wait_for_export()
        self.notes.add("finished")
        self.over = True

    @never_harm
    def give_up(self, why):
        self._close_step()
        self._wait_for_export()
        if self._whole_run or self._action is not ProfilerAction.NONE:
            self._recorder.discard()
        self.over = True
        self.notes.add("gave_up", why)

    def _next_step(self):
        self._close_step()
        previous = self._leave_whole_run() if self._step == 0 else self._action
        self._samples.end_step(records(self._action))
        self._step += 1
        self._action = self._action_of(self._step)
        for operation in operations(previous, self._action):
            getattr(self, f"_{operation}")()
        self._open_step()

    # The window, by the names that _cycle.operations gives.

    def _prepare(self):
        self._wait_for_export()
        self._recorder.prepare(**self._options)

    def _start(self):
        describe_job(self._recorder)
        self._recorder.start()

    def _stop(self):
        samples = self._samples.take_samples_per_step()
        if samples:
            self._recorder.add_metadata("redline", {"samples_per_step": samples * world_size()})
        self._recorder.stop()

    def _ready(self):
        """Compressing and writing take a while: training does not wait for them."""
        self._traces += 1
        if self._ending:  # no thread starts any more, and nobody trains
            self._export()
            return
        self._exporter = threading.Thread(target=self._export, name="redline-export", daemon=True)
        self._exporter.start()

    @never_harm
    def _export(self):
        self.notes.add("trace", self._recorder.export_to_directory(self._directory))

    def _wait_for_export(self):
        if self._exporter is not None:
            self._exporter.join()
            self._exporter = None

    # The window of a process that may turn out not to train.

    def _begin_whole_run(self):
        self._prepare()
        self._start()
        self._whole_run = True

    def _open_first_step(self):
        """Not before the first batch or call of a model: imports and set-up are no part of the step."""
        if self._whole_run and self._step == 0 and not self._first_step_is_open and records(self._action):
            self._first_step_is_open = True
            self._open_step()

    def _leave_whole_run(self):
        """The first step has ended, so this is training. Gives the action that its window is in."""
        self._begin_work()
        if not self._whole_run:
            return ProfilerAction.NONE
        self._whole_run = False
        if records(self._action):
            return self._action
        self._recorder.discard()
        return ProfilerAction.NONE

    def _begin_work(self):
        job = distributed_info() if self._ranks else None
        if job is not None and job["rank"] not in self._ranks:
            raise NotWanted
        describe_job(self._recorder)
        self._listen()
        self._works = True

    def _finish_whole_run(self):
        describe_job(self._recorder)
        self._stop()
        only_launched_others = not self._works and self.notes.another_process_recorded()
        refused_its_arguments = not self._works and self.exit_status == _USAGE_ERROR
        if only_launched_others or refused_its_arguments or self._recorder.stats().events_recorded == 0:
            self._recorder.discard()
            return
        self._ready()
        self.notes.add("whole_run", "no optimizer step was seen: the trace holds the whole run")

    # The end of a process that trains.

    def _finish_cut_window(self):
        # The annotation of the unfinished step stays open: what follows training is no step.
        self._stop()
        self._ready()
        asked = self._cycles["active"]
        self.notes.tell(
            "cut", f"the command ended within the window: fewer than {asked} steps are recorded"
        )

    def _finish_between_windows(self):
        if self._action is ProfilerAction.WARMUP:
            self._recorder.discard()
        if self._traces == 0 and self._step > 0:
            self.notes.tell(
                "nothing",
                f"nothing was recorded: the command made {self._step} optimizer steps, the schedule "
                f"records from the {self._first_recorded_step() + 1}th on. Give a shorter --schedule",
            )

    def _first_recorded_step(self):
        return self._cycles["skip_first"] + self._cycles["wait"] + self._cycles["warmup"]

    def _open_step(self):
        self._recorder.begin_step(self._step, has_own_slice=self._script_marks_steps)
        self._tell_samples_to_a_capture()

    def _tell_samples_to_a_capture(self):
        """`redline trigger` may record right now, which nobody tells us."""
        samples = self._samples.typical()
        if samples and not records(self._action):
            with contextlib.suppress(RecorderError):
                self._recorder.add_metadata("redline", {"samples_per_step": samples * world_size()})

    def _close_step(self):
        self._recorder.end_step()

    def _listen(self):
        try:
            self._recorder.listen(steps=self._cycles["active"], **self._options)
        except RecorderError as error:
            self.notes.add("deaf", f"redline trigger cannot reach this process: {error}")

"""Records one process of a command that knows nothing of Redline.

Until the first training step nobody knows whether the process trains at all. So the whole run is recorded as one
window, which is discarded when the schedule begins. In inference each batch is a step. If the process trains later,
this inference was an evaluation before the training, and its steps are forgotten.

Nothing here may harm the job: a failure is told once, the recording ends, and training goes on.
"""

import contextlib
import functools
import math
import os
import threading
import time

import torch
from torch.profiler import ProfilerAction

from redline._batch_samples import ids_in, reads_sequences
from redline._cycle import operations, records
from redline._job_metadata import describe_job, distributed_info
from redline._library import MAY_BE_CAPTURED, NOT_CAPTURED, ProcessEnds, RecorderError, core_path, recorder
from redline._model_calls import ModelCalls
from redline._optimizer_steps import watch_optimizers
from redline._python_library import step_functions
from redline._rank import launched_rank, rank_and_world_size
from redline._sample_count import SampleCount, watch_data_loaders
from redline._schedule import action_rule
from redline._script_profiler import watch_script_profiler
from redline._step_log import batches_digest, step_log
from redline._torch_settings import note_model, watch_autocast
from redline._training_signs import BACKWARDS_WITHOUT_STEP, TrainingSigns


_USAGE_ERROR = 2  # the exit status of argparse and click
_UNSCHEDULED = {"skip_first": 0, "wait": 0, "warmup": 0, "active": 1, "repeat": 0}
# With this schedule, which is the default, inference is recorded longer: three batches are too few for latencies.
_DEFAULT_SCHEDULE = {"skip_first": 0, "wait": 1, "warmup": 1, "active": 3, "repeat": 1}
_MOST_BATCHES = 100
_SECONDS_OF_BATCHES = 3.0
_FEW_BATCHES = 2  # inference that is shorter has a trace of the whole run


class NotWanted(Exception):
    """Raised when this process turns out to be a rank that --ranks leaves out."""


def never_harm(method):
    """Runs `method` only while the recording lives, in the process that it belongs to: forked
    children, such as DataLoader workers, inherit the object and must leave it alone."""

    @functools.wraps(method)
    def guarded(self, *arguments):
        if self.over or self.is_forked:
            return
        try:
            method(self, *arguments)
        except NotWanted:
            self.over = True
            self._recorder.discard()
        except ProcessEnds:  # nothing failed: a signal ends the job while its threads still run
            self.over = True
        except Exception as error:
            self.over = True
            with contextlib.suppress(Exception):
                self._recorder.discard()
            self.notes.tell("failed", f"recording ended early, training went on: {error}")

    return guarded


def one_at_a_time(method):
    """For what ends a step: several threads may train, and a window is prepared, started and stopped in an order. A
    forked child never waits, because the thread that held the lock may not be in it."""

    @functools.wraps(method)
    def alone(self, *arguments):
        if self.is_forked:
            return method(self, *arguments)
        with self._stepping:
            return method(self, *arguments)

    return alone


class AutomaticRecording:
    """Raises RecorderError if the recorder cannot be loaded. Later calls raise nothing."""

    def __init__(self, request, notes):
        self.is_forked = False  # this is a child of the process that is recorded
        self._stepping = threading.RLock()  # a signal handler may step within a step
        os.register_at_fork(after_in_child=self._forked)
        self.over = False
        # Has an entry while no step will be recorded unless `redline trigger` asks for it: steps are numbered, and
        # nothing else is done.
        self.idle = []
        self.notes = notes
        self._recorder = recorder()
        self._directory = request["directory"]
        self._options = request  # the recorder ignores the fields that are not its options
        self._ranks = request.get("ranks")
        self._marker = request.get("step_marker")
        self._only_on_request = request.get("only_on_request", False)
        self._cycles = request["schedule"] or _UNSCHEDULED
        self._follow(self._cycles)
        self._step = 0
        self._action = self._action_of(0)
        self._script_marks_steps = False
        # Optimizer steps since the script's own profiler started, or since its step() was called last; None without one.
        self._since_mark = None
        self._most_since_mark = 0  # between two of these
        self._whole_run = False
        self._trains = False
        self._made_optimizer = self._steps_by_backward = False
        self._has_inferred = False  # a model was called on the latest batch, and not to train
        self._infers = False  # the process does inference, so each batch is a step
        self._pass_is_over = False
        self._step_began = 0.0
        self._written = []  # paths of traces
        self.exit_status = None
        self._works = False
        self._first_step_is_open = False
        self._told_of_fork = False
        self._exporter = None
        self._ending = False
        self._samples = SampleCount()
        self._reads_sequences = False

    def _forked(self):
        self.is_forked = True
        self._be_idle(False)

    def _follow(self, cycles):
        """From now on this schedule holds."""
        if self._only_on_request:
            self._action_of = lambda step: ProfilerAction.NONE
            self._end_of_schedule = 1  # listening begins with step 1
            return
        self._action_of = action_rule(**cycles)
        a_cycle = cycles["wait"] + cycles["warmup"] + cycles["active"]
        is_endless = cycles["repeat"] == 0
        self._end_of_schedule = math.inf if is_endless else cycles["skip_first"] + cycles["repeat"] * a_cycle

    @never_harm
    def watch(self, is_spawned):
        """Begins to watch. A process that `is_spawned` may be a DataLoader worker, and waits for a model's call."""
        self.notes.add("watching")
        self._recorder.finish_on_termination()
        if self._marker:
            self._recorder.watch_marker(self._marker, self.marker_seen)
        else:
            watch_optimizers(self.training_stepped, self.idle_ended)
            watch_script_profiler(
                self.profiler_started, self.profiler_stepped, self.profiler_stopped
            )
        watch_data_loaders(self)
        watch_autocast()
        self._signs = TrainingSigns(self.optimizer_made, self.training_seen)
        self._model_calls = ModelCalls(self.model_called)
        self._model_calls.await_next()
        if not is_spawned:
            self._begin_whole_run()

    @never_harm
    def model_called(self, module):
        """Called at the first call of a model, which shows that this process is no worker; later at the first call on
        each batch."""
        if torch.utils.data.get_worker_info() is not None:
            return
        self._has_inferred = not (torch.is_grad_enabled() and getattr(module, "training", True))
        if self._works:
            return
        self._works = True
        self._reads_sequences = module is not None and reads_sequences(module)
        note_model(module)
        if self._whole_run:
            describe_job(self._recorder)
            self._open_first_step()
        elif self._step == 0:
            self._begin_whole_run()
            self._open_first_step()

    @never_harm
    def batch_asked(self):
        """The script asks a DataLoader for a batch, so it has done with the batch before."""
        if self._trains and self._step > 0:
            return
        if self._has_inferred and not self._trains and not self._marker:
            self._infers = True
            self._step_seen()
        elif self._pass_is_over and self._infers:
            self._open_step()  # again: the time between two passes over a loader belongs to no batch
        self._pass_is_over = self._has_inferred = False
        self._open_first_step()
        self._model_calls.await_next()

    @never_harm
    def batch_fetched(self, iterator, samples, batch):
        if torch.is_grad_enabled() or not self._trains:  # otherwise the batch is for an evaluation during training
            counts = self._reads_sequences and not self._trains and records(self._action)
            ids = ids_in(batch, {samples}) if counts else None
            self._samples.add(iterator, samples, 0 if ids is None else ids.numel())

    @never_harm
    def pass_ended(self, iterator):
        self._samples.pass_ended(iterator)
        self._pass_is_over = True

    @never_harm
    def optimizer_made(self):
        """The process will train, so the inference so far was an evaluation, and a few backward passes that counted as
        steps prepared the training. The next batch begins the first step."""
        self._made_optimizer = True
        if self._infers:
            self._forget_steps()
            self._begin_whole_run()
            self._action = self._action_of(0)
        elif self._steps_by_backward and self._step < BACKWARDS_WITHOUT_STEP:
            self._begin_within_a_step()

    @never_harm
    def training_seen(self):
        """The process trains; this comes in the middle of a training step."""
        self._trains = True
        self._signs.stop()
        self._model_calls.stop()
        if self._infers:
            self._begin_within_a_step()

    @one_at_a_time
    def idle_ended(self, began, step):
        """The hooks have numbered the steps so far."""
        self._step = step
        if not self._unrecorded_step_began(began):
            self._training_stepped()

    @one_at_a_time
    def training_stepped(self):
        """An optimizer has stepped; where none was made, a backward pass has ended (profiler/python/training_loop.h)."""
        if self.idle and self._begin_unrecorded_step():
            return
        if not self.is_forked:
            self._training_stepped()
        elif not self._told_of_fork:
            self._told_of_fork = True
            self.notes.add("forked", "training in processes that were forked after `import torch` "
                                     "is not recorded: have them spawned")

    @never_harm
    def _training_stepped(self):
        if not self._trains:
            self.training_seen()
        self._steps_by_backward = not self._made_optimizer
        self._step_seen()

    def _step_seen(self):
        if self._since_mark is not None:
            self._since_mark += 1
            expected = 2 * self._most_since_mark if self._script_marks_steps else 0
            if self._since_mark <= expected + 1:  # the script may still call its profiler's step()
                return
            self._script_marks_steps = False
        self._next_step()

    @one_at_a_time
    @never_harm
    def marker_seen(self):
        self._next_step()

    @never_harm
    def profiler_started(self):
        """The script's own profiler starts. Its step() marks the steps from now on, unless the optimizer steps twice
        without a call of it, or later much oftener than the script has called it so far."""
        self._recorder.end_step()
        if self.idle:
            self._be_idle(False)
        self._since_mark = self._most_since_mark = 0

    @one_at_a_time
    @never_harm
    def profiler_stepped(self):
        self._most_since_mark = max(self._most_since_mark, self._since_mark or 0)
        self._since_mark = 0
        self._script_marks_steps = True
        self._next_step()

    @never_harm
    def profiler_stopped(self):
        self._since_mark = None
        self._script_marks_steps = False

    def finish_before_exec(self):
        """The process becomes another program. One that has only prepared for that, as launchers do, has no trace."""
        if self._works:
            self.finish()

    @never_harm
    def finish(self):
        """Writes what was recorded, because the process ends."""
        self._wait_for_export()
        self._ending = True
        if self._steps_by_backward:
            self.notes.add("backward", "no optimizer of torch.optim was made: each backward pass counts as a step")
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
        self._recorder.end_step()
        self._wait_for_export()
        if self._whole_run or self._action is not ProfilerAction.NONE:
            self._recorder.discard()
        self.over = True
        self.notes.add("gave_up", why)

    def _next_step(self):
        # When the schedule's windows are over, only `redline trigger` asks for recordings.
        is_over = self._step >= self._end_of_schedule and not self._script_marks_steps
        if is_over and self._begin_unrecorded_step():
            return
        previous = self._action
        self._samples.end_step(records(previous) or self._whole_run, self._tokens_trained_on())
        self._tell_samples_to_a_capture()
        self._recorder.end_step()
        self._step += 1
        if self._infers and self._step == self._first_recorded_step() and self._cycles == _DEFAULT_SCHEDULE:
            self._record_more_batches()
        self._action = self._action_of(self._step)
        if self._step == 1:
            self._begin_work()
        if self._whole_run:
            if self._infers and self._step < min(_FEW_BATCHES, self._first_recorded_step()):
                self._open_step()
                return
            previous = self._leave_whole_run(previous)
        elif self._step == 1:
            previous = ProfilerAction.NONE
        for operation in operations(previous, self._action):
            getattr(self, f"_{operation}")()
        self._open_step()

    def _tokens_trained_on(self):
        """In this step, by the step log. None in inference, of which it counts none."""
        return None if self._infers or (log := step_log()) is None else log.take_tokens()

    def _begin_unrecorded_step(self):
        """False, and nothing is done, while steps are captured."""
        return self._unrecorded_step_began(self._recorder.next_step(self._step + 1))

    def _unrecorded_step_began(self, began):
        if began > 0:
            self._step += 1
        is_idle = began == NOT_CAPTURED and not self._infers  # in inference the batches are the steps
        if is_idle != bool(self.idle):
            self._be_idle(is_idle)
        elif began > 0 and not is_idle:
            self._samples.end_step(recorded=False)
        if began == MAY_BE_CAPTURED:
            self._recorder.start_captured_frames()
        return began > 0

    def _be_idle(self, is_idle):
        self.idle[:] = [True] if is_idle else []
        with contextlib.suppress(OSError):  # for another Python
            self._step = max(self._step, step_functions(core_path()).be_idle(self._step if is_idle else -1))
        self._samples = SampleCount()  # of the steps from here on, if they are captured

    def _record_more_batches(self):
        """Records as many batches as fit into three seconds, so that percentiles of latency mean something."""
        of_time = _SECONDS_OF_BATCHES / max(time.monotonic() - self._step_began, 1e-9)
        active = int(min(max(of_time, self._cycles["active"]), _MOST_BATCHES))
        self._follow({**self._cycles, "active": active})

    def _begin_within_a_step(self):
        """Other things counted as steps before, so nobody saw where this step began, and it is not recorded."""
        self._forget_steps()
        if records(self._action_of(0)):
            self._follow({**self._cycles, "skip_first": self._cycles["skip_first"] + 1})

    def _forget_steps(self):
        if self.idle:
            self._be_idle(False)
        self._recorder.end_step()
        self._wait_for_export()
        if self._whole_run or self._action is not ProfilerAction.NONE:
            self._recorder.discard()
        for path in self._written:
            with contextlib.suppress(OSError):
                os.unlink(path)
        self._written = []
        self._samples = SampleCount()
        self._infers = self._steps_by_backward = self._whole_run = self._first_step_is_open = False
        self._step = 0
        self._follow(self._cycles)
        self._action = ProfilerAction.NONE

    # The operations on a window; _cycle.operations() gives their names.

    def _prepare(self):
        self._wait_for_export()
        self._recorder.prepare(**self._options)

    def _start(self):
        describe_job(self._recorder)
        self._recorder.start()

    def _stop(self):
        tokens = self._samples.tokens_per_step()
        self._describe_steps(self._samples.take_samples_per_step(), tokens)
        self._recorder.stop()

    def _describe_steps(self, samples, tokens=0):
        counts = {"samples_per_step": samples, "tokens_per_step": tokens}
        facts = {name: count * rank_and_world_size()[1] for name, count in counts.items() if count}
        if self._infers:
            facts["inference"] = True
        if digest := batches_digest():
            facts["batches_digest"] = digest
        if facts:
            self._recorder.add_metadata("redline", facts)

    def _ready(self):
        """Exports in a thread, because compressing and writing take a while, and training must not wait for them."""
        if self._ending:  # Python starts no thread at exit, and no training waits
            self._export()
            return
        self._exporter = threading.Thread(target=self._export, name="redline-export", daemon=True)
        self._exporter.start()

    @never_harm
    def _export(self):
        self._written.append(self._recorder.export_to_directory(self._directory))
        self.notes.add("trace", self._written[-1])

    def _wait_for_export(self):
        if self._exporter is not None:
            self._exporter.join()
            self._exporter = None

    # The window of the whole run: the process may turn out not to train.

    def _begin_whole_run(self):
        if self._only_on_request:
            return
        self._prepare()
        self._start()
        self._whole_run = True

    def _open_first_step(self):
        """Opens the first step at the first batch or call of a model, because imports and set-up are no part of it."""
        if self._whole_run and self._step == 0 and not self._first_step_is_open:
            self._first_step_is_open = True
            self._open_step()

    def _leave_whole_run(self, action):
        """The schedule begins; `action` is that of its first step. The window goes on if that step is recorded, and is
        discarded otherwise. Gives the action that the window is now in."""
        self._whole_run = False
        if records(action):
            return action
        self._samples.take_samples_per_step()
        self._recorder.discard()
        return ProfilerAction.NONE

    def _begin_work(self):
        job = distributed_info() if self._ranks else None
        if job is not None and job["rank"] not in self._ranks:
            raise NotWanted
        if self._ranks and job is None and launched_rank() is None:
            self.notes.add("no_rank", "a process knew of no rank at its first step, so --ranks did not apply to it")
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
        steps = "no training step was"
        if self._infers:
            steps = f"only {self._step} {'batch of inference was' if self._step == 1 else 'batches of inference were'}"
        self.notes.add("whole_run", f"{steps} seen: the trace holds the whole run")

    # The end of a process that trains.

    def _finish_cut_window(self):
        # The annotation of the unfinished step stays open: what follows training is no step.
        is_empty = self._action_of(self._step - 1) is not ProfilerAction.RECORD
        if is_empty and self._written:
            self._recorder.discard()  # schedules without `wait` begin a window after the last step
            return
        self._stop()
        self._ready()
        asked = self._cycles["active"]
        if self._step < self._first_recorded_step() + asked:
            self.notes.tell(
                "cut", f"the command ended within the window: fewer than {asked} steps are recorded"
            )

    def _finish_between_windows(self):
        if self._action is ProfilerAction.WARMUP:
            self._recorder.discard()
        if not self._written and self._step > 0 and not self._only_on_request:
            one, many = ("batch", "batches") if self._infers else ("step", "steps")
            self.notes.tell(
                "nothing",
                f"nothing was recorded: the command made {self._step} {one if self._step == 1 else many}, the schedule "
                f"leaves out the first {self._first_recorded_step()}. Give a shorter --schedule",
            )

    def _first_recorded_step(self):
        return self._cycles["skip_first"] + self._cycles["wait"] + self._cycles["warmup"]

    def _open_step(self):
        self._step_began = time.monotonic()
        self._recorder.begin_step(self._step, has_own_slice=self._script_marks_steps)

    def _tell_samples_to_a_capture(self):
        """Nobody tells us whether `redline trigger` records right now, so each step tells the figures at its end."""
        if not records(self._action):
            with contextlib.suppress(RecorderError):
                self._describe_steps(self._samples.typical())

    def _listen(self):
        try:
            self._recorder.listen(steps=self._cycles["active"], **self._options)
        except RecorderError as error:
            self.notes.add("deaf", f"redline trigger cannot reach this process: {error}")

"""Counts the steps and samples of a trial's rank and reports them to the runner.

The lines hold totals, not increments, so that a line dropped on a full pipe loses no sample.
"""

import atexit
import contextlib
import faulthandler
import os
import sys
import threading
import time
import weakref
from multiprocessing.process import BaseProcess

import torch

from redline._batch_samples import (StreamBatches, given_batch_size, ids_in, reads_sequences, samples_by_shape,
                                    shapes_text)
from redline._device_memory import DeviceMemory
from redline._evaluation_time import EvaluationTime
from redline._hang_table import STACKS_SIGNAL
from redline._memory_errors import outcome_of
from redline._optimizer_steps import parameters_of
from redline._rank import launched_rank, rank_and_world_size
from redline._stand_in import replace
from redline._step_log import OUT_OF_MEMORY, UNKNOWN, batches_digest, step_log
from redline._training_code import may_train
from redline._training_signs import BACKWARDS_WITHIN_STEP, BACKWARDS_WITHOUT_STEP
from redline._trial_channel import Channel

MOST_BATCHES = 200  # the times of so many batches fit into a line beside its other fields
SECONDS_BETWEEN_LINES = 0.005
SECONDS_BETWEEN_SIGNS_OF_LIFE = 1.0
SECONDS_BETWEEN_CHECKS = 0.5  # the checks of device memory and of the loss are rare, because each may wait for the GPU
SECONDS_WITHOUT_STEP = 5.0
NAN_CHECKS = 2  # so many NaN losses in a row are a failure; a single one may come from a GradScaler finding its scale
STEPS_WITHOUT_BATCH = 10  # more follow each other only in a script that goes on with batches that it took earlier
EMPTY_STEPS = 3  # the first marked steps may be empty, because the script warms something up


def show_stacks_when_asked(folder):
    """Lets faulthandler write every thread's stack to a file when the runner asks where the rank hangs."""
    launched = launched_rank()
    rank = f"rank {launched[0]}, " if launched else ""
    try:
        file = open(os.path.join(folder, f"stacks.{rank}pid {os.getpid()}"), "w")
        faulthandler.register(STACKS_SIGNAL, file=file)
    except (OSError, RuntimeError, ValueError):
        pass  # the trial works without the stacks


class TrialReporter:
    """Counts optimizer steps and samples of this process and reports them.

    A step is an optimizer step that new samples went into: gradient accumulation makes one step of
    several batches, and two optimizers that step after the same batch make one step. If models only ran
    without gradients on a batch, it was for evaluation, and its samples do not count.
    """

    def __init__(self, path):
        self.channel = Channel(path)
        self.is_helper = _is_of_another_program()
        self.first_step_ended = lambda: None  # the owner may replace it
        self.marker = os.environ.get("REDLINE_STEP_MARKER")  # if set, steps begin and end only at ranges of this name
        self.optimizer = None  # gives the one that was made last; None before
        self._begin()
        self.channel.send("begin", patience=1.0)
        os.register_at_fork(after_in_child=self._begin)
        atexit.register(self._flush)
        show_stacks_when_asked(os.path.join(os.path.dirname(path), "stacks"))

    def _begin(self):
        self.steps = 0
        self.steps_sent = 0
        self.samples_sent = 0
        self.step_ns = 0  # when the last step ended
        self.without_batch = 0  # optimizer steps since then, which are not counted
        self.told_without_batch = None  # when the runner was told of them
        self.samples = 0
        self.new_samples = 0
        self.new_batches = 0
        self.batch_sizes = set()  # every number of samples that a batch had
        self.tokens = 0  # in all steps so far; None if they cannot be counted
        self.new_tokens = 0
        self.backwards = 0  # since the last step
        # Batches that a pass over a loader took since the last forward with gradients: they may be for evaluation.
        self.undecided = None  # [pass, batches, samples]
        self.only_evaluated = False  # a model ran on the undecided batches, and only without gradients
        self.trained_pass = None  # the pass over a loader whose batch was trained on last
        given = given_batch_size()
        self.given = StreamBatches(given) if given else None
        self.unknown_batches = 0  # backward passes whose number of samples is unknown
        self._forget_smaller()
        self.loader_batches = 0
        self.data_wait_ns = 0
        self.ran_on = None  # the thread that called a model last
        self.is_read_ahead = False  # by another thread of the script: that one waits, and not the model
        self.evaluation = EvaluationTime()
        # (waiting, evaluating and compiling), ns until the last step ended: its line may be sent later, at exit.
        self.times_at_step = (0, 0)
        self.last_line = 0.0
        self.last_check = 0.0
        self.loss = None
        self.nan_checks = 0
        self.memory = DeviceMemory()
        # Of the loader that is trained on: samples that this rank takes in an epoch, and batches that workers may have
        # ready.
        self.epoch = None
        self.ahead = 0
        self.facts_of_pass = weakref.WeakKeyDictionary()
        self.is_countable = True
        # --objective steps: each step counts as one sample, because none of the knobs changes what a step takes.
        self.by_steps = os.environ.get("REDLINE_OBJECTIVE") == "steps"
        self.is_first_step = True  # of those whose samples cannot be counted
        self.compilation_ns = 0
        self.optimizer_stepped = False
        self.has_optimizer = False  # one would step, but the knob accumulation holds it back
        self.is_stepping = False  # an optimizer is: its closure may make backward passes
        self.first_backward = None  # when it ended, by time.monotonic()
        self.all_backwards = 0
        self.accumulates = False  # gradients of an earlier backward pass were there when the latest began
        self.backwards_made = False  # backward() was called; a script may call only torch.autograd.grad()
        self.all_forwards = 0  # calls of models with gradients enabled
        self.steps_by_backward = False  # each backward pass counts as a step
        self.is_marked = False  # a marker was seen
        self.empty_steps = 0  # marked steps without any sample, before the first step with samples
        self.trains = False  # an optimizer was made or a backward pass began
        self.has_inferred = False  # a model ran on the latest batch, and not for training
        self.is_inference = False
        self.may_train = False
        self.batch_began = None  # when the latest batch of inference began, ns
        self.batches_ns = []  # how long each batch of inference since the last line took

    def ask_for_batch(self, now_ns):
        """The training loop goes on to its next batch, or begins an epoch."""
        if self.only_evaluated and self.trains:
            self.take_back_batches()
            self.evaluation.last_batch_was_evaluated()
        self.evaluation.training_goes_on(self._without_compilation(now_ns))

    def pass_begins(self, loader_pass):
        """Workers that stay keep it for the next pass over their loader, which may be an evaluation."""
        if loader_pass is self.trained_pass:
            self.trained_pass = None

    def pass_is_made(self, loader_pass, epoch, ahead):
        """Nobody knows yet what the pass is for: an evaluation may shuffle, and have gradients enabled."""
        self.facts_of_pass[loader_pass] = epoch, ahead
        if not self.trains:
            self.epoch, self.ahead = epoch, ahead

    def take_back_batches(self):
        """The last batches seemed to be for training, and were not."""
        _, batches, samples = self.undecided
        self.new_batches -= batches
        self.new_samples -= samples
        self._keep_batches()

    def _without_compilation(self, now_ns):
        """A clock that stands while something is compiled, so that an evaluation's compilation does not count twice."""
        return now_ns - self.compilation_ns

    def add_batch(self, samples, waited_ns, loader_pass=None):
        """The training loop took a batch out of a DataLoader and waited `waited_ns` for it. Each pass over a loader has
        its own object `loader_pass`."""
        if self.undecided is None or self.undecided[0] is not loader_pass:
            self.undecided = [loader_pass, 0, 0]
        self.undecided[1] += 1
        self.undecided[2] += samples
        self.batch_sizes.add(samples)
        self.loader_batches += 1
        self.new_batches += 1
        self.new_samples += samples
        self.data_wait_ns += waited_ns
        self.is_read_ahead |= self.ran_on not in (None, threading.get_ident())

    def batches_a_step(self):
        """How many batches the step that ends now was made of. The script may have fetched a batch for the next step
        already, so backward passes limit the number. None if no optimizer has stepped: only optimizers show steps."""
        if not self.optimizer_stepped:
            return None
        return min(self.new_batches, self.backwards or self.new_batches)

    def add_forward(self, model, inputs):
        """A model was called for training. Its tokens count; its samples count only in scripts without a DataLoader."""
        if self.loader_batches == 0:
            self._add_samples_of(inputs)
        if self.tokens == 0 and self.new_tokens == 0 and not reads_sequences(model):
            self.tokens = None
        if self.tokens is not None:
            ids = ids_in(inputs, self.batch_sizes)
            self.new_tokens += 0 if ids is None else ids.numel()
            self.tokens = None if ids is None else self.tokens

    def forget_forwards(self):
        """Those since the last step seemed to be for training, and were not."""
        self.new_tokens = 0
        if self.loader_batches == 0:
            self.new_batches = self.new_samples = 0
            self._forget_smaller()

    def _add_samples_of(self, inputs):
        samples = self.given.samples_if_shown(inputs) if self.given else samples_by_shape(inputs)
        if self.given and samples != self.given.batch_size:
            self._add_smaller(samples, inputs)
            return
        self.has_full_batch = True
        if samples is None:
            self._cannot_count_inputs(shapes_text(inputs))
        self.new_batches += 1
        self.new_samples += samples or 0
        self.batch_sizes.add(samples)

    def _add_smaller(self, samples, inputs):
        """Smaller than {batch_size}, or unknown: an epoch ends, or reinforcement learning acts. One sample alone is an
        action."""
        if samples is None:
            self.unknown_shape = shapes_text(inputs)
        elif samples > 1:
            self.smaller_batches += 1
            self.smaller_samples += samples
            self.batch_sizes.add(samples)

    def _take_smaller(self):
        """A backward pass or a step takes what the model was called with, and of this only full batches, if there are
        any: the others were actions, as those of DQN, then."""
        if not self.has_full_batch:
            self.new_batches += self.smaller_batches
            self.new_samples += self.smaller_samples
            self.unknown_batches += self.unknown_shape is not None
            # The first passes may be those of another model, a critic, before this one has got a batch.
            if self.unknown_shape and (self.given.place or self.unknown_batches == STEPS_WITHOUT_BATCH):
                self._cannot_count_inputs(self.unknown_shape)
        self._forget_smaller()

    def _forget_smaller(self):
        """Of calls of the model since the latest backward pass."""
        self.smaller_batches = self.smaller_samples = 0
        self.unknown_shape = None
        self.has_full_batch = False

    def _cannot_count_inputs(self, shape):
        self.cannot_count(f"the script has no DataLoader, and of its model's input of {shape} any dimension may be the "
                          "batch")

    def forward(self, gradients, model=None, evaluates=False):
        """A model is called; `gradients` says whether they are enabled. `model` is given if it is in the mode that fits:
        training with gradients, or evaluation without. `evaluates`: it runs in evaluation mode, which it does not train
        in, and the script forgot torch.no_grad()."""
        self.ran_on = threading.get_ident()
        if gradients:
            self.all_forwards += 1
            if not self.steps_sent:
                self._show_activity(time.monotonic())
        if gradients and not evaluates:
            self.evaluation.forward_with_gradients(model, self._without_compilation(time.monotonic_ns()))
            self._train_on_batches()
            return
        self.evaluation.forward_without_gradients(model)
        if model is None and self._goes_on_training():
            self._keep_batches()
        self.only_evaluated = self.undecided is not None
        if self.steps_sent and time.monotonic() - self.last_line >= SECONDS_BETWEEN_SIGNS_OF_LIFE:
            self.last_line = time.monotonic()
            self._send_totals(time.monotonic_ns(), self.steps_sent, self.samples_sent)

    def _goes_on_training(self):
        """Whether the undecided batches are of a pass that trains. In training mode a model that runs on them without
        gradients does not evaluate: GradCache (open_clip's --accum-freq) trains on several batches after it has run on
        each of them, and others look for the samples that are worth training on."""
        of_pass = self.undecided and self.undecided[0]
        return of_pass is not None and of_pass is self.trained_pass

    def _train_on_batches(self):
        if self.undecided is not None and self.undecided[0] is not self.trained_pass:
            self.trained_pass = self.undecided[0]
            if self.trained_pass in self.facts_of_pass:
                self.epoch, self.ahead = self.facts_of_pass[self.trained_pass]
        self._keep_batches()

    def _keep_batches(self):
        self.undecided = None
        self.only_evaluated = False

    def backward_ended(self):
        """Ends a step if no optimizer does, as in a script that updates its parameters by hand."""
        now = time.monotonic()
        self.evaluation.backward_ended(self._without_compilation(time.monotonic_ns()))
        self.all_backwards += 1
        self.first_backward = self.first_backward or now
        if self.marker:
            return
        if self.steps_by_backward:
            self._end_step()
        elif not self.optimizer_stepped and self._waits_long_for_an_optimizer(now):
            self.steps_by_backward = True
            self.note(f"no optimizer step was seen in {self.all_backwards} backward passes: each counts as a step")
            self._end_step(steps=self.all_backwards)
        elif not self.steps_sent:
            self._show_activity(now)

    def gradients_taken(self):
        """torch.autograd.grad() was called on parameters: a backward pass, if the script never calls backward()."""
        if not self.backwards_made:
            self.backward_ended()

    def _waits_long_for_an_optimizer(self, now):
        if self.has_optimizer or (self.is_stepping and self.all_backwards < BACKWARDS_WITHIN_STEP):
            return False
        if self.all_backwards >= BACKWARDS_WITHOUT_STEP:
            return True
        # A compiled step is not seen. Otherwise an optimizer that was made will step, after many batches.
        is_hidden = self.compilation_ns > 0 and not self.accumulates
        waited = now - self.first_backward
        return (self.optimizer is None or is_hidden) and self.all_backwards >= 3 and waited > SECONDS_WITHOUT_STEP

    def _show_activity(self, now):
        """Tells the runner, once a second, that the script works although no step has ended."""
        if now - self.last_line < SECONDS_BETWEEN_SIGNS_OF_LIFE:
            return
        self.last_line = now
        self._send_activity()

    def _send_activity(self):
        self.channel.send("activity", t=time.monotonic_ns(), forwards=self.all_forwards, backwards=self.all_backwards,
                          without_batch=self.without_batch if self._trains_without_batches() else 0)

    def compilation(self, running, total_ns):
        self.compilation_ns = total_ns
        self.channel.send("compile", patience=1.0, t=time.monotonic_ns(), running=running, total=total_ns)

    def next_batch_is_due(self):
        """The loop has done with its batch. If the job trains nothing, this ends a step."""
        if self.marker or self.trains:
            return
        now_ns = time.monotonic_ns()
        if self.has_inferred and self.new_batches > 0:
            self.has_inferred = False
            if not self.is_inference:
                self.is_inference = True
                self.may_train = may_train()
            elif self.steps == 1:  # a first batch alone may be there to build the model, as in Keras
                self.note("no optimizer was made: this is inference, and a batch is a step")
            if self.batch_began is not None and len(self.batches_ns) < MOST_BATCHES:
                self.batches_ns.append(now_ns - self.batch_began)
            self._end_step()
        if self.new_batches == 0:
            self.batch_began = now_ns

    def begin_training(self):
        """The job trains. What models ran on before was evaluation; batches that no model saw were only looked at."""
        self.trains = True
        if self.all_forwards == 0:
            self.new_batches = self.new_samples = 0
        if self.is_inference:
            self.is_inference = False
            self.steps = self.steps_sent = self.samples = self.samples_sent = 0

    def add_step(self):
        self.optimizer_stepped = True
        self.is_stepping = self.steps_by_backward = False
        if not self.marker:
            self._end_step()

    def step_begins(self):
        """The script begins a range of the name that the user gave with --step-marker."""
        if self.is_marked:
            self._end_step()
            self.empty_steps += self.steps == 0
            if self.empty_steps == EMPTY_STEPS:
                self.cannot_count("between the steps that the script marks, no batch of a DataLoader and no call of a "
                                  "model was seen")
        self.is_marked = True

    def _end_step(self, steps=1):
        self._keep_batches()
        now_ns = time.monotonic_ns()
        self.evaluation.step_ended(self._without_compilation(now_ns))
        self._take_smaller()
        if not self.is_countable:
            self._end_uncounted_step()
            return
        if self.by_steps:
            self.new_samples = 1 if self.marker else min(self.new_batches, 1)
            self.tokens = None
        if self.new_samples == 0:
            self._end_step_without_batch()
            return
        self._batches_go_on()
        self.step_ns = now_ns
        self.times_at_step = (self.data_wait_ns, self.evaluation.total_ns + self.compilation_ns)
        if self.steps == 0:
            self.first_step_ended()
        if (log := step_log()) is not None:
            tokens = UNKNOWN if self.tokens is None else self.new_tokens or UNKNOWN
            log.end_step(UNKNOWN if self.by_steps else self.new_samples, tokens, self.is_inference)
        self.steps += steps
        self.samples += self.new_samples
        self.new_samples = 0
        if self.tokens is not None:
            self.tokens += self.new_tokens
        self.new_tokens = 0
        self.new_batches = 0
        self.backwards = 0
        now = time.monotonic()
        if now - self.last_check >= SECONDS_BETWEEN_CHECKS and not _captures_a_graph():
            self.last_check = now
            if why := self.memory.thrashing():
                self.fail("thrash", "", why)
            self._check_loss()
        if now - self.last_line >= SECONDS_BETWEEN_LINES:
            self.last_line = now
            self._send_step()

    def _end_step_without_batch(self):
        """Such as the last step of an epoch, if its batch was fetched during the step before."""
        self.without_batch += 1
        now = time.monotonic()
        if self._trains_without_batches() and now - (self.told_without_batch or 0) >= SECONDS_BETWEEN_SIGNS_OF_LIFE:
            self.told_without_batch = now
            self._send_activity()

    def _trains_without_batches(self):
        """Not so where many optimizers step after one backward pass."""
        return not self.marker and min(self.without_batch, self.backwards) >= STEPS_WITHOUT_BATCH

    def _batches_go_on(self):
        self.without_batch = 0
        if self.told_without_batch is not None:
            self.told_without_batch = None
            self._send_activity()

    def _end_uncounted_step(self):
        """What the job has, and which knobs it has no use for, can be told all the same."""
        if self.is_first_step:
            self.is_first_step = False
            self.first_step_ended()
        self.new_samples = self.new_batches = self.backwards = 0

    def _flush(self):
        """At exit: sends the last steps, which may not have been sent yet."""
        self.batch_began = None  # the last batch gets no time, because the script may have done other work since
        self.next_batch_is_due()
        if self.steps > self.steps_sent:
            self._send_step()
        if self._trains_without_batches():
            self._send_activity()

    def _send_step(self):
        self.steps_sent = self.steps
        self.samples_sent = self.samples
        self._send_totals(self.step_ns, self.steps, self.samples)

    def _send_totals(self, t, steps, samples):
        fields = self.memory.fields()
        data_wait_ns, evaluation_ns = self.times_at_step
        if self.loader_batches and not self.is_read_ahead:
            fields["wait"] = data_wait_ns
        if evaluation_ns:
            fields["evaluation"] = evaluation_ns
        if self.is_inference:
            fields.update(inference=True, may_train=self.may_train, batches=self.batches_ns)
            self.batches_ns = []
        if self.epoch and not self.by_steps:
            fields["epoch"] = self.epoch
        if self.ahead:
            fields["ahead"] = self.ahead
        if self.tokens:
            fields["tokens"] = self.tokens
        # A step is one of the whole job, however many ranks take part in it.
        if digest := "steps" if self.by_steps else batches_digest():
            fields["batches_digest"] = digest
        _, world_size = rank_and_world_size()
        self.channel.send(
            "step",
            world=world_size,
            t=t,
            steps=steps,
            samples=samples,
            **fields,
        )

    def _check_loss(self):
        loss, self.loss = self.loss, None
        if loss is None:
            return
        with contextlib.suppress(Exception):  # a loss of a run without data, for example, has no value
            self.nan_checks = self.nan_checks + 1 if bool(torch.isnan(loss)) else 0
        if self.nan_checks == NAN_CHECKS:
            self.fail("nan_loss", "", f"the loss is NaN at step {self.steps}")

    def note_loss(self, loss):
        """Keeps the tensor on which backward() is called, so that the next check can look for NaN."""
        self._train_on_batches()
        self._take_smaller()
        self.backwards_made = True
        self.backwards += 1
        if not self.optimizer_stepped and not self.steps_by_backward:
            self.accumulates = self._has_gradients()
        if isinstance(loss, torch.Tensor) and loss.numel() == 1 and loss.is_floating_point():
            loss = loss.detach()
            # torch.isnan of a DTensor may communicate, and each rank checks at another step.
            self.loss = loss.to_local() if hasattr(loss, "to_local") else loss

    def _has_gradients(self):
        optimizer = self.optimizer and self.optimizer()
        return optimizer is not None and any(parameter.grad is not None for parameter in parameters_of(optimizer))

    def fail(self, kind, error, message, **fields):
        if kind in ("gpu_oom", "host_oom") and (log := step_log()) is not None:
            log.mark(OUT_OF_MEMORY, message)
        self.channel.send(
            "failure", patience=1.0, kind=kind, error=error, message=message, **fields
        )

    def cannot_count(self, why):
        """Fails the trial, because nothing tells how many samples a batch holds. A guess might let the slower of two
        configurations win. A trial by --metric does not need them and only has no steps."""
        if self.by_steps or not self.is_countable:
            return
        self.is_countable = False
        if os.environ.get("REDLINE_METRIC"):
            return
        metric = "give --metric with a rate that the command prints"
        cure = f"or {metric}" if self.given else f"{metric}, or write {{batch_size}} in the command"
        self.fail("invalid", "", f"samples cannot be counted: {why}. Compare steps (--objective steps), {cure}")

    def unused(self, knobs, why, above=None):
        """These knobs can do nothing in this job, or, if `above` is given, nothing with values above it."""
        fields = {} if above is None else {"above": above}
        self.channel.send("unused", patience=1.0, knobs=list(knobs), why=why, **fields)

    def note(self, text):
        """Sends a remark that the user should read beside the trial, such as a knob that was not applied."""
        self.channel.send("note", patience=1.0, text=text)

    def seen(self, knobs):
        """Sends the knob values that the job really runs with. None means unknown, and is not sent."""
        texts = {name: _text(value) for name, value in knobs.items() if value is not None}
        self.channel.send("seen", patience=1.0, knobs=texts)

    def watch_exceptions(self):
        """Reports the exception that ends this process, then calls the excepthook that was set before. That of a process
        which multiprocessing started reaches no excepthook; it counts if the process trains, and so does that of
        another program that the script started, perhaps to see whether something works."""

        def excepthook(before, error_type, error, traceback):
            try:
                if not self.is_helper or self.all_forwards > 0:
                    self._report_exception(error_type, error)
            finally:
                before(error_type, error, traceback)

        def run_watched(run, process):
            try:
                run(process)
            except Exception as error:
                if self.all_forwards > 0:
                    self._report_exception(type(error), error)
                raise

        replace(sys, "excepthook", excepthook)
        replace(BaseProcess, "run", run_watched)

    def _report_exception(self, error_type, error):
        # ChildFailedError is torchrun's summary of its ranks: each rank reports its own failure.
        if issubclass(error_type, KeyboardInterrupt) or error_type.__name__ == "ChildFailedError":
            return
        self.report_error(outcome_of(error) or "exception", error)

    def report_error(self, kind, error):
        error_type = type(error)
        module = error_type.__module__
        name = error_type.__qualname__
        fields = {}
        if hasattr(error, "error_index"):  # torch.multiprocessing.spawn names the rank that failed
            fields["rank"] = error.error_index
        self.fail(
            kind,
            name if module == "builtins" else f"{module}.{name}",
            str(error)[-1500:],
            **fields,
        )


def _is_of_another_program():
    """Whether a process of the trial started this one as another program, and not as a rank."""
    trial, rank = os.environ.get("REDLINE_TRIAL"), launched_rank()
    own = f"{trial} {rank} {os.path.abspath(next(iter(getattr(sys, 'argv', ())), ''))}"
    first = os.environ.get("REDLINE_TRIAL_PROGRAM", "")
    if not first.startswith(f"{trial} "):  # nor of another trial, within which this one runs
        os.environ["REDLINE_TRIAL_PROGRAM"] = first = own
    return first != own and first.startswith(f"{trial} {rank} ")


def _captures_a_graph():
    """Within torch.cuda.graph() nothing may wait for the GPU."""
    return torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()


def _text(value):
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)

"""What a rank of a trial tells the runner: JSON lines over the FIFO named by REDLINE_TRIAL.

Totals, not increments, so that a line dropped on a full pipe loses no sample. Each line is one
write of less than 4096 bytes (PIPE_BUF), so that the lines of several ranks never mix.
"""

import atexit
import contextlib
import errno
import faulthandler
import json
import os
import signal
import socket
import sys
import time

import torch

from redline._evaluation_time import EvaluationTime
from redline._rank import launched_rank

LONGEST_LINE = 4000  # bytes; PIPE_BUF is 4096
SECONDS_BETWEEN_LINES = 0.005
SECONDS_BETWEEN_SIGNS_OF_LIFE = 1.0
SECONDS_BETWEEN_CHECKS = 0.5  # of device memory and of the loss: each may wait for the device
NAN_CHECKS = 2  # in a row that make a failure: one may be a scaler finding its scale
THRASHING_CHECKS = 2
STACKS_SIGNAL = signal.SIGRTMIN + 13  # as in trial_files.cc


def rank_and_world_size():
    """This process's place in the job: torch.distributed's, else the launcher's variables."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return launched_rank() or (0, 1)


def show_stacks_when_asked(folder):
    """Lets faulthandler write every thread's stack to a file when the runner asks where the rank hangs."""
    launched = launched_rank()
    rank = f"rank {launched[0]}, " if launched else ""
    try:
        file = open(os.path.join(folder, f"stacks.{rank}pid {os.getpid()}"), "w")
        faulthandler.register(STACKS_SIGNAL, file=file)
    except (OSError, RuntimeError, ValueError):
        pass  # the trial runs as well without


class Channel:
    """The FIFO. Never raises and never blocks for long: the training matters more.

    A FIFO ends at its machine. Where another one shares the folder, it sees the name but no reader;
    then lines are appended to a file in PATH.d, which the runner makes where trials may run on other
    machines, and carry what sets their clock apart.
    """

    def __init__(self, path):
        self.path = path
        self.descriptor = None
        self.remote = False

    def _open(self):
        if self.descriptor is not None:
            return True
        try:
            self.descriptor = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno == errno.ENXIO:
                self._open_file()
        return self.descriptor is not None

    def _open_file(self):
        with contextlib.suppress(OSError):
            path = os.path.join(self.path + ".d", f"{socket.gethostname()}.{os.getpid()}")
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self.descriptor = os.open(path, flags, 0o600)
            self.remote = True

    def send(self, line_type, patience=0.0, **fields):
        """Writes one line; True when it went out. `patience` is how long to wait for a full pipe,
        in seconds."""
        rank, _ = rank_and_world_size()
        fields = {"type": line_type, "rank": rank, **fields}
        if self._open() and self.remote:
            fields["clock"] = time.time_ns() - time.monotonic_ns()
        line = json.dumps(fields, ensure_ascii=False).encode(errors="replace")
        while len(line) > LONGEST_LINE and fields.get("message"):
            fields["message"] = fields["message"][len(fields["message"]) // 2 + 1 :]
            line = json.dumps(fields, ensure_ascii=False).encode(errors="replace")
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


class TrialReporter:
    """Counts optimizer steps and samples of this process and reports them.

    A step is an optimizer step that new samples went into: gradient accumulation makes one step of
    several batches, and two optimizers of one batch are one step. A batch of which a model saw
    nothing but a forward without gradients was for evaluation, and is no sample.
    """

    def __init__(self, path):
        self.channel = Channel(path)
        self.process = os.getpid()
        self._begin()
        atexit.register(self._flush)
        show_stacks_when_asked(os.path.join(os.path.dirname(path), "tmp"))

    def _begin(self):
        self.steps = 0
        self.steps_sent = 0
        self.samples_sent = 0
        self.step_ns = 0  # when the last one ended
        self.samples = 0
        self.new_samples = 0
        self.new_batches = 0
        self.backwards = 0  # since the last step
        self.last_batch = None  # its samples, until a forward with gradients or a step
        self.only_evaluated = False  # a model ran on it, without gradients
        self.loader_batches = 0
        self.data_wait_ns = 0
        self.evaluation = EvaluationTime()
        self.times_at_step = (0, 0)  # of waits and evaluations; a step may be sent later, at exit
        self.last_line = 0.0
        self.last_check = 0.0
        self.loss = None
        self.nan_checks = 0
        self.thrashing_checks = 0
        self.retries = 0
        self.memory = None
        self.capacity = None
        self.epoch = None  # samples that this rank takes in one

    def ask_for_batch(self, now_ns):
        """The training loop goes on to its next batch, or begins an epoch."""
        if self.only_evaluated:
            self.new_batches -= 1
            self.new_samples -= self.last_batch
            self._keep_last_batch()
            self.evaluation.last_batch_was_evaluated()
        self.evaluation.training_goes_on(now_ns)

    def add_batch(self, samples, waited_ns):
        """A batch that the training loop took out of a DataLoader, for which it waited so long."""
        self.last_batch = samples
        self.loader_batches += 1
        self.new_batches += 1
        self.new_samples += samples
        self.data_wait_ns += waited_ns

    def batches_a_step(self):
        """Of the step that ends now; a batch may have been fetched ahead, for the next."""
        return min(self.new_batches, self.backwards or self.new_batches)

    def add_forward(self, samples):
        """A training forward; counts only in scripts without a DataLoader."""
        if self.loader_batches == 0:
            self.new_batches += 1
            self.new_samples += samples

    def forward(self, gradients):
        """A model runs."""
        if gradients:
            self.evaluation.forward_with_gradients(time.monotonic_ns())
            self._keep_last_batch()
            return
        self.evaluation.forward_without_gradients()
        self.only_evaluated = self.last_batch is not None
        if self.steps_sent and time.monotonic() - self.last_line >= SECONDS_BETWEEN_SIGNS_OF_LIFE:
            self.last_line = time.monotonic()
            self._send_totals(time.monotonic_ns(), self.steps_sent, self.samples_sent)

    def _keep_last_batch(self):
        self.last_batch = None
        self.only_evaluated = False

    def add_step(self):
        if os.getpid() != self.process:  # a rank forked from the process that was hooked
            self.process = os.getpid()
            self._begin()
        self._keep_last_batch()
        now_ns = time.monotonic_ns()
        self.evaluation.step_ended(now_ns)
        if self.new_samples == 0:  # where batches are fetched ahead: the last of an epoch
            return
        self.step_ns = now_ns
        self.times_at_step = (self.data_wait_ns, self.evaluation.total_ns)
        self.steps += 1
        self.samples += self.new_samples
        self.new_samples = 0
        self.new_batches = 0
        self.backwards = 0
        now = time.monotonic()
        if now - self.last_check >= SECONDS_BETWEEN_CHECKS:
            self.last_check = now
            self._check_memory()
            self._check_loss()
        if now - self.last_line >= SECONDS_BETWEEN_LINES:
            self.last_line = now
            self._send_step()

    def _flush(self):
        """The last steps of a script that ends by itself."""
        if self.steps > self.steps_sent and os.getpid() == self.process:
            self._send_step()

    def _send_step(self):
        self.steps_sent = self.steps
        self.samples_sent = self.samples
        self._send_totals(self.step_ns, self.steps, self.samples)

    def _send_totals(self, t, steps, samples):
        fields = {} if self.memory is None else {"memory": self.memory, "capacity": self.capacity}
        data_wait_ns, evaluation_ns = self.times_at_step
        if self.loader_batches:
            fields["wait"] = data_wait_ns
        if evaluation_ns:
            fields["evaluation"] = evaluation_ns
        if self.epoch:
            fields["epoch"] = self.epoch
        _, world_size = rank_and_world_size()
        self.channel.send(
            "step",
            world=world_size,
            t=t,
            steps=steps,
            samples=samples,
            **fields,
        )

    def _check_memory(self):
        if not torch.cuda.is_available() or not torch.cuda.is_initialized():
            return
        statistics = torch.cuda.memory_stats()
        self.memory = statistics.get("reserved_bytes.all.peak", 0)
        if self.capacity is None:
            _, self.capacity = torch.cuda.mem_get_info()
        retries = statistics.get("num_alloc_retries", 0)
        self.thrashing_checks = self.thrashing_checks + 1 if retries > self.retries else 0
        self.retries = retries
        if self.thrashing_checks >= THRASHING_CHECKS:
            self.fail("thrash", "", f"the allocator flushed its cache {retries} times")

    def _check_loss(self):
        loss, self.loss = self.loss, None
        if loss is None:
            return
        self.nan_checks = self.nan_checks + 1 if bool(torch.isnan(loss)) else 0
        if self.nan_checks == NAN_CHECKS:
            self.fail("nan_loss", "", f"the loss is NaN at step {self.steps}")

    def note_loss(self, loss):
        """Keeps what backward() was called on, for the next check."""
        self._keep_last_batch()
        self.backwards += 1
        if isinstance(loss, torch.Tensor) and loss.numel() == 1 and loss.is_floating_point():
            self.loss = loss.detach()

    def fail(self, kind, error, message, **fields):
        self.channel.send(
            "failure", patience=1.0, kind=kind, error=error, message=message, **fields
        )

    def note(self, text):
        """Something that the user should read beside the trial, such as a knob not applied."""
        self.channel.send("note", patience=1.0, text=text)

    def seen(self, knobs):
        """Knob values that the job really runs with; those that are None are not told."""
        texts = {name: _text(value) for name, value in knobs.items() if value is not None}
        self.channel.send("seen", patience=1.0, knobs=texts)

    def watch_exceptions(self):
        """Reports the exception that ends this process, then lets the hook before go on."""
        before = sys.excepthook

        def excepthook(error_type, error, traceback):
            try:
                self._report_exception(error_type, error)
            finally:
                before(error_type, error, traceback)

        sys.excepthook = excepthook

    def _report_exception(self, error_type, error):
        # A launcher's summary of its ranks is not a rank's failure.
        if issubclass(error_type, KeyboardInterrupt) or error_type.__name__ == "ChildFailedError":
            return
        kind = "exception"
        if issubclass(error_type, torch.OutOfMemoryError):
            kind = "gpu_oom"
        elif issubclass(error_type, MemoryError):
            kind = "host_oom"
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


def _text(value):
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def samples_in(batch, expected):
    """How many samples a batch holds: the leading size of its tensors.

    `expected` is the loader's batch size or None. It decides where the batch is a nest in which
    other sizes come first, such as the lists of unequal images of detection models.
    """
    sizes, lengths = [], []
    _collect_sizes(batch, sizes, lengths, depth=0)
    if expected is not None and (expected in sizes or expected in lengths):
        return expected
    if sizes and (expected is None or sizes[0] <= expected):
        return sizes[0]
    return expected or 0


def _collect_sizes(batch, sizes, lengths, depth):
    if len(sizes) >= 8 or depth > 3:
        return
    if isinstance(batch, torch.Tensor):
        if batch.dim() > 0:
            sizes.append(batch.size(0))
    elif hasattr(batch, "values") and callable(batch.values):
        for value in batch.values():
            _collect_sizes(value, sizes, lengths, depth + 1)
    elif isinstance(batch, (list, tuple)):
        lengths.append(len(batch))
        for value in batch[:8]:
            _collect_sizes(value, sizes, lengths, depth + 1)

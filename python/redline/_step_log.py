"""Writes the step log of a rank: hooks tell libredline.so what the training thread does, and where a step ends.

REDLINE_LOG names the folder (`redline run --log` sets it), REDLINE_LOG_RUN the run that all ranks share. libredline.so
adds up the times and writes them (profiler/session/step_log.h). A hook runs at each step, so it does nothing that can be
done once. What no hook sees is absent from the log, never guessed.
"""

import contextlib
import ctypes
import functools
import gc
import json
import os
import sys
import time
import weakref

import torch
from torch import is_grad_enabled
from torch.utils.data import BatchSampler
from torch.utils.data.dataloader import _BaseDataLoaderIter, _DatasetKind

from redline._after_import import after_import
from redline._batch_samples import ids_in, reads_sequences
from redline._compilation_time import CompilationTime
from redline._hidden_code import hide_from_compiler
from redline._library import core_path
from redline._loader_knobs import BatchCounter
from redline._memory_errors import MemoryErrors
from redline._model_calls import replace
from redline._optimizer_steps import watch_optimizers
from redline._outermost import watch_models
from redline._python_library import step_functions
from redline._rank import is_excluded, is_launcher, rank_and_world_size

# trace/emit/step_log_terms.h has the same.
(DATA_WAIT, FORWARD, BACKWARD, OPTIMIZER, COMMUNICATION_WAIT, EVALUATION, CHECKPOINT, GARBAGE_COLLECTION,
 COMPILE) = range(9)
EPOCH, WINDOW, OUT_OF_MEMORY, COMPILED, EVALUATED, CHECKPOINTED, EXCEPTION, NOTE = range(8)

UNKNOWN = -1
BACKWARDS_WITHOUT_STEP = 64  # as in _trial_report.py

_log = None


def step_log():
    """The log of this process; None where none is asked for."""
    return _log


def install():
    """Called by the start-up hook after `import torch` where REDLINE_LOG is set."""
    global _log
    recorded = json.loads(os.environ.get("REDLINE_RECORD") or "{}")
    if is_launcher(sys.orig_argv) or is_excluded(recorded.get("ranks")):
        return
    try:
        _log = StepLog(os.environ["REDLINE_LOG"], os.environ.get("REDLINE_LOG_RUN", ""))
    except Exception as error:  # whatever else is asked of this process can still be done
        print(f"redline: no step log, training goes on: {error}", file=sys.stderr)
        return
    # In a trial, what is reported to the runner is what is logged (_trial_report.py).
    _log.install(finds_steps="REDLINE_TRIAL" not in os.environ)


class StepLog:
    """The hooks of one process. install() once."""

    def __init__(self, directory, run):
        library = ctypes.PyDLL(core_path())  # keeps the interpreter lock: these take some ten nanoseconds
        self._enter, self._leave, self._step, _ = step_functions(core_path())
        self._know = _function(library.redline_log_know, None)
        self._evaluated = _function(library.redline_log_evaluated, None)
        self._mark = _function(library.redline_log_mark, None, ctypes.c_int, ctypes.c_int64, ctypes.c_char_p)
        self._device_memory = _function(library.redline_log_device_memory, None, ctypes.c_int64)
        waiting = ctypes.CDLL(core_path())  # without the lock: these wait for a disk
        self._open = waiting.redline_log_open
        self._close = _function(waiting.redline_log_close, None, ctypes.c_int)
        self._last_error = _function(library.redline_last_error, ctypes.c_char_p)
        self._directory, self._run = os.path.abspath(directory), run
        self._begin()

    def _begin(self):
        self._is_open = self._has_failed = False
        self._samples = UNKNOWN
        self._tokens = UNKNOWN
        self._reads_sequences = None
        self._made_optimizer = self._stepped = False
        self._backwards = 0
        self._inferred = self._trained = False  # on the latest batch
        self._batch = None  # how many samples, while nothing was computed with it
        self._begins_pass = False  # with this batch
        self._epochs = 0
        self._is_saving = False
        self._reduces = False  # gradients, in backward passes
        self._since = {}  # by part, for marks

    def install(self, finds_steps):
        self._finds_steps = finds_steps
        os.register_at_fork(after_in_child=self._begin)
        for part in (CHECKPOINT, GARBAGE_COLLECTION, COMPILE):
            self._know(part)
        self._watch_loaders()
        watch_models(self._enter_model, self._leave_model)
        self._watch_backward()
        watch_optimizers(self._optimizer_stepped, functools.partial(self._enter, OPTIMIZER),
                         functools.partial(self._leave, OPTIMIZER))
        replace(torch.optim.Optimizer, "__init__", self._make_optimizer)
        self._watch_saving(torch, "save")
        after_import("torch.distributed.checkpoint.state_dict_saver", self._watch_distributed_saving)
        after_import("safetensors.torch", lambda module: self._watch_saving(module, "save_file"))
        if torch.distributed.is_available():
            replace(torch.distributed.Work, "wait", self._wait_for_collective)
            replace(torch.nn.parallel.DistributedDataParallel, "__init__", self._make_data_parallel)
        gc.callbacks.append(self._collect_garbage)
        CompilationTime(self._compile).install()
        if finds_steps:  # a trial tells of its errors itself
            self._memory_errors = MemoryErrors(self._out_of_memory, only_first=False)  # the adapter calls it
            self._memory_errors.watch_torch()
        self._watch_end()

    def mark(self, kind, text="", seconds=0.0):
        self._mark(kind, int(seconds * 1e9), text.encode("utf-8", errors="replace"))

    def end_step(self, samples, tokens):
        """UNKNOWN where nobody can tell."""
        if (self._is_open or self._open_file()) and self._step(samples, tokens):  # True every ten seconds
            self._look_at_device_memory()

    def _open_file(self):
        if self._has_failed:
            return False
        rank, world_size = rank_and_world_size()
        self._is_open = self._open(os.fsencode(self._directory), self._run.encode(), rank, world_size) == 0
        if not self._is_open:
            self._has_failed = True
            why = self._last_error().decode(errors="replace")
            print(f"redline: no step log, training goes on: {why}", file=sys.stderr)
        return self._is_open

    def _look_at_device_memory(self):
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            self._device_memory(sum(map(torch.cuda.memory_reserved, range(torch.cuda.device_count()))))

    # Where a step ends, except in a trial: the leading optimizer, else a batch of inference, else a backward pass.

    def _optimizer_stepped(self):
        self._stepped = True
        self._end_own_step()

    def _end_own_step(self):
        samples, tokens = self._samples, self._tokens
        self._samples = self._tokens = UNKNOWN
        self._inferred = self._trained = False
        if self._finds_steps:
            self.end_step(samples, tokens)

    def _backward_without_step(self):
        self._backwards += 1
        if self._backwards >= BACKWARDS_WITHOUT_STEP:  # parameters are updated by hand
            self._end_own_step()

    def _next_batch_is_due(self):
        """What was computed on the batch before, if only without gradients, was an evaluation, or it is inference."""
        self._inferred = False
        if self._trained:
            return
        if self._made_optimizer or self._backwards:
            self._evaluated()
        else:
            if self._batch is not None:
                self._take_batch()
            self._end_own_step()

    def _take_batch(self):
        """The latest one is for what is computed now."""
        self._samples = max(self._samples, 0) + self._batch
        self._batch = None
        if self._begins_pass:
            self._begins_pass = False
            self._epochs += 1
            self.mark(EPOCH, str(self._epochs))

    # Parts.

    def _watch_loaders(self):
        enter, leave = self._enter, self._leave
        fetch, make = _BaseDataLoaderIter.__next__, _BaseDataLoaderIter.__init__

        @functools.wraps(make)
        def begin_pass(iterator, loader):
            iterator._redline_sizes = _batches_of(loader)
            if iterator._redline_sizes is None:
                iterator._redline_batches = BatchCounter(loader)
                iterator._next_index = _ask_and_count(iterator)
            make(iterator, loader)

        @functools.wraps(fetch)
        def next_batch(iterator):
            if self._inferred:
                self._next_batch_is_due()
            enter(DATA_WAIT)
            try:
                batch = fetch(iterator)
            finally:
                leave(DATA_WAIT)
            self._trained = False
            number = iterator._num_yielded
            if number == 1:
                self._begins_pass = True
            if (sizes := iterator._redline_sizes) is None:
                self._batch = iterator._redline_batches.samples_in(batch)
            else:
                size, samples = sizes
                self._batch = size if number * size <= samples else samples - (number - 1) * size
            return batch

        _BaseDataLoaderIter.__init__ = begin_pass
        _BaseDataLoaderIter.__next__ = next_batch

    def _enter_model(self, module, args, kwargs):
        if module.training and is_grad_enabled():
            self._trained = True
            if self._batch is not None:
                self._take_batch()
            if self._reads_sequences is not False:
                self._count_tokens(module, args, kwargs)
        else:
            self._inferred = True
        self._enter(FORWARD)
        return args, kwargs

    def _leave_model(self, module):
        self._leave(FORWARD)

    def _count_tokens(self, module, args, kwargs):
        if self._reads_sequences is None:
            self._reads_sequences = reads_sequences(module)
        if self._reads_sequences:
            ids = ids_in((*args, *kwargs.values()), {self._samples})
            self._tokens = UNKNOWN if ids is None else max(self._tokens, 0) + ids.numel()

    def _watch_backward(self):
        enter, leave = self._enter, self._leave
        backward = torch.autograd.backward

        @functools.wraps(backward)
        def timed_backward(*arguments, **named):
            enter(BACKWARD)
            watch = self._watch_reducer(arguments, named) if self._reduces and not _compiles_backward() else None
            try:
                backward(*arguments, **named)
            finally:
                leave(BACKWARD)  # and the wait for the reducer
                if watch is not None:
                    watch.remove()
            self._trained = True  # also where the model was in evaluation mode
            if self._batch is not None:
                self._take_batch()
            if not self._stepped:
                self._backward_without_step()

        torch.autograd.backward = hide_from_compiler(timed_backward)

    def _watch_reducer(self, arguments, named):
        """DistributedDataParallel waits for its collectives when all gradients of the rank are there, in a callback that
        autograd runs at its end. Ours stands in the queue before it. On a GPU it is another thread, which does not
        count, that runs both, and the wait is the stream's."""
        outputs = arguments[0] if arguments else named.get("tensors")
        first = outputs if isinstance(outputs, torch.Tensor) else next(iter(outputs or ()), None)
        if first is None or not first.requires_grad:
            return None
        return first.register_hook(self._queue_reducer_wait)

    def _queue_reducer_wait(self, gradient):
        torch.autograd.Variable._execution_engine.queue_callback(self._begin_reducer_wait)

    def _begin_reducer_wait(self):
        self._enter(COMMUNICATION_WAIT)

    def _make_data_parallel(self, make, *arguments, **named):
        make(*arguments, **named)
        self._reduces = torch.distributed.get_world_size() > 1

    def _make_optimizer(self, make, *arguments, **named):
        make(*arguments, **named)
        self._made_optimizer = True

    def _watch_saving(self, module, name):
        if hasattr(module, name):
            replace(module, name, self._save)

    def _save(self, save, *arguments, **named):
        if self._is_saving:  # a distributed checkpoint consists of many files
            return save(*arguments, **named)
        self._is_saving = True
        try:
            with self._marked(CHECKPOINT, CHECKPOINTED, _file_name(arguments, named)):
                return save(*arguments, **named)
        finally:
            self._is_saving = False

    def _watch_distributed_saving(self, module):
        for name in ("save", "async_save"):  # the latter until the training may go on
            self._watch_saving(module, name)

    def _wait_for_collective(self, wait, *arguments, **named):
        self._enter(COMMUNICATION_WAIT)
        try:
            return wait(*arguments, **named)
        finally:
            self._leave(COMMUNICATION_WAIT)

    def _collect_garbage(self, phase, info):
        if info["generation"] > 0:  # the youngest takes microseconds
            (self._enter if phase == "start" else self._leave)(GARBAGE_COLLECTION)

    def _compile(self, running, _):
        if running:
            self._enter(COMPILE)
            self._since[COMPILE] = time.monotonic()
        else:
            self._leave(COMPILE)
            self.mark(COMPILED, seconds=time.monotonic() - self._since.pop(COMPILE, time.monotonic()))

    @contextlib.contextmanager
    def _marked(self, part, kind, text):
        begin = time.monotonic()
        self._enter(part)
        try:
            yield
        finally:
            self._leave(part)
            self.mark(kind, text, time.monotonic() - begin)

    def _out_of_memory(self, kind, error):
        self.mark(OUT_OF_MEMORY, str(error))

    # The end of the process.

    def _watch_end(self):
        replace(sys, "excepthook", self._exception)
        replace(os, "_exit", self._exit_at_once)  # exit() is seen by libredline.so

    def _exception(self, show, error_type, error, traceback):
        self.mark(EXCEPTION, f"{error_type.__name__}: {error}")
        show(error_type, error, traceback)

    def _exit_at_once(self, leave, status):
        if self._is_open:
            self._close(status)
        leave(status)


def _compiles_backward():
    compiled_autograd = sys.modules.get("torch._dynamo.compiled_autograd")
    return getattr(compiled_autograd, "compiled_autograd_enabled", False)


def _function(function, result, *arguments):
    function.restype = result
    if arguments:
        function.argtypes = arguments
    return function


def _batches_of(loader):
    """(batch size, samples of a pass) where that says the size of each batch; else None."""
    batches = loader.batch_sampler
    if type(batches) is not BatchSampler or loader._dataset_kind == _DatasetKind.Iterable:
        return None
    with contextlib.suppress(TypeError, NotImplementedError):  # a sampler need not know how many it gives
        return batches.batch_size, len(batches.sampler)
    return None


def _ask_and_count(iterator):
    """In place of iterator._next_index, which asks the sampler. It does not keep the iterator alive, because that ends
    its workers when it goes."""
    alive, batches = weakref.ref(iterator), iterator._redline_batches

    def next_index():
        iterator = alive()
        index = type(iterator)._next_index(iterator)
        batches.asked(iterator._sampler_iter, index)
        return index

    return next_index


def _file_name(arguments, named):
    """Where something is saved: a path, or the name of an open file. The argument after what is saved has it."""
    names = [named[name] for name in ("f", "filename", "checkpoint_id") if name in named]
    target = next(iter([*arguments[1:], *names]), "")
    return os.fspath(target) if isinstance(target, (str, os.PathLike)) else str(getattr(target, "name", ""))

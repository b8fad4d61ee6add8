"""Writes the step log of a rank: hooks tell libredline.so what the training thread does, and where a step ends.

REDLINE_LOG names the folder (`redline run --log` sets it), REDLINE_LOG_RUN the run that all ranks share. libredline.so
adds up the times and writes them (profiler/session/step_log.h). What runs at each step is in libredline_python.so
(profiler/python/step_hooks.cc); this module puts it into torch, and does what is done once or seldom. What no hook sees
is absent from the log, never guessed.
"""

import atexit
import contextlib
import ctypes
import functools
import gc
import json
import math
import os
import signal
import sys
import time
import weakref

import torch
from torch import is_grad_enabled
from torch.utils.data import (BatchSampler, DataLoader, DistributedSampler, RandomSampler, SequentialSampler,
                              SubsetRandomSampler, WeightedRandomSampler)
from torch.utils.data.dataloader import _BaseDataLoaderIter, _DatasetKind

from redline._after_import import after_import
from redline._batch_samples import BatchCounter, ids_in, reads_sequences
from redline._compilation_time import CompilationTime
from redline._data_parallel import watch_data_parallel
from redline._dispatched_batches import watch_dispatchers
from redline._hang_table import end_watch, note_out_of_memory, watch_for_hangs
from redline._library import core_path
from redline._memory_errors import MemoryErrors
from redline._optimizer_steps import hook_optimizers
from redline._outermost import is_model, models
from redline._python_library import step_functions
from redline._rank import is_excluded, is_launcher, rank_and_world_size
from redline._read_batches import ReadBatches
from redline._stand_in import known_to_torchscript, replace, stand_in

# trace/emit/step_log_terms.h has the same.
(DATA_WAIT, FORWARD, BACKWARD, OPTIMIZER, COMMUNICATION_WAIT, EVALUATION, CHECKPOINT, GARBAGE_COLLECTION,
 COMPILE, HAND_OVER) = range(10)
EPOCH, WINDOW, OUT_OF_MEMORY, COMPILED, EVALUATED, CHECKPOINTED, EXCEPTION, NOTE, BATCHES, TRAINING = range(10)

UNKNOWN = -1
NOT_OPEN = -1  # what redline_log_step() gives

# They give as many samples as their length says.
_SAMPLERS = (SequentialSampler, RandomSampler, SubsetRandomSampler, WeightedRandomSampler, DistributedSampler)

_log = None


def step_log():
    """The log of this process; None where none is asked for."""
    return _log


def batches_digest():
    """A digest of what this rank reads. Ranks with the same one read the same samples, which count once. "" where that
    is unknown, or where each rank trains a copy of the model and so its samples count in any case."""
    return "" if _log is None else _log.batches_digest


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
        self._hooks = hooks = step_functions(core_path())
        self._enter, self._leave, self.end_step = hooks.enter, hooks.leave, hooks.step
        library = ctypes.PyDLL(core_path())  # keeps the interpreter lock: these take some ten nanoseconds
        self._know = _function(library.redline_log_know, None)
        self._mark = _function(library.redline_log_mark, None, ctypes.c_int, ctypes.c_int64, ctypes.c_char_p)
        self._device_memory = _function(library.redline_log_device_memory, None, ctypes.c_int64)
        waiting = ctypes.CDLL(core_path())  # without the lock: these wait for a disk
        self._open = waiting.redline_log_open
        self._close = _function(waiting.redline_log_close, None, ctypes.c_int)
        self._last_error = _function(library.redline_last_error, ctypes.c_char_p)
        self._directory, self._run = os.path.abspath(directory), run
        self._is_data_parallel = False
        self._begin()

    def _begin(self):
        self._has_failed = self._is_open = False
        self._is_saving = False
        self._reads_sequences = False
        self._tokens = 0
        self._compiles_since = None
        self._hooks.begin_anew()
        self._batches = ReadBatches(self._batches_decided)
        self._hooks.watch_batches(self._batches)

    def install(self, finds_steps):
        self._hooks.begin_log(finds_steps, self._help_step, models, is_model, is_grad_enabled)
        os.register_at_fork(after_in_child=self._begin)
        for part in (CHECKPOINT, GARBAGE_COLLECTION, COMPILE, HAND_OVER):
            self._know(part)
        self._watch_loaders()
        self._hook(torch.nn.Module, "__call__", self._hooks.hook_model, self._tokens_in)
        # Themselves, without a function that stands in, because no compiler traces a call of them. Checkpointing calls a
        # part of the model again while the engine runs.
        for name, make_hook, helper in [("backward", self._hooks.hook_backward, self._watch_reducer),
                                        ("_engine_run_backward", self._hooks.hook_engine, None)]:
            function = getattr(torch.autograd, name)
            hook = functools.wraps(function)(make_hook(function, helper))
            setattr(torch.autograd, name, known_to_torchscript(hook, function))
        hook_optimizers()
        self._watch_saving(torch, "save")
        after_import("torch.distributed.checkpoint.state_dict_saver", self._watch_distributed_saving)
        after_import("safetensors.torch", lambda module: self._watch_saving(module, "save_file"))
        if torch.distributed.is_available():
            self._hook(torch.distributed.Work, "wait", self._hooks.hook_part, COMMUNICATION_WAIT)
            watch_data_parallel(self._make_data_parallel)
            replace(torch.distributed, "init_process_group", self._make_process_group)
        gc.callbacks.append(self._hooks.collect_garbage)
        CompilationTime(self._compile).install()
        if finds_steps:  # a trial tells of its errors itself
            self._memory_errors = MemoryErrors(self._out_of_memory, only_first=False)  # the adapter calls it
            self._memory_errors.watch_torch()
        self._watch_end()

    def mark(self, kind, text="", seconds=0.0):
        self._mark(kind, int(seconds * 1e9), text.encode("utf-8", errors="replace"))

    @property
    def batches_digest(self):
        return "" if self._is_data_parallel else self._batches.digest

    def _batches_decided(self, digest):
        # trace/emit/step_log_terms.cc reads it.
        self.mark(BATCHES, digest + (" data parallel" if self._is_data_parallel else ""))

    def _hook(self, owner, name, make_hook, helper):
        """From now on owner.name is called through a hook."""
        original = getattr(owner, name)
        hook = make_hook(original, helper)
        call = stand_in(original, hook)
        self._hooks.call_at_once(call, hook)
        setattr(owner, name, call)

    def _help_step(self, outcome, *step):
        """Called after redline_log_step() where its outcome is not 0."""
        if outcome != NOT_OPEN:
            self._look_at_device_memory()
        elif not self._has_failed:
            self._open_file()
            self.end_step(*step)

    def _open_file(self):
        rank, world_size = rank_and_world_size()
        if self._open(os.fsencode(self._directory), self._run.encode(), rank, world_size) != 0:
            self._has_failed = True
            why = self._last_error().decode(errors="replace")
            print(f"redline: no step log, training goes on: {why}", file=sys.stderr)
        else:
            self._is_open = True
            watch_for_hangs(self._directory, self._run)

    def _look_at_device_memory(self):
        if torch.cuda.is_initialized():  # is_available() would end CUDA in forked children
            # memory_reserved() would flatten and sort all figures of the allocator for each GPU.
            all_stats = map(torch.cuda.memory_stats_as_nested_dict, range(torch.cuda.device_count()))
            self._device_memory(sum(stats["reserved_bytes"]["all"]["current"] for stats in all_stats))

    def _look_a_last_time(self):
        """An evaluation after the last step may take more memory than the steps, and torch's allocator keeps it."""
        if self._is_open:
            with contextlib.suppress(Exception):  # CUDA may have failed
                self._look_at_device_memory()

    # Parts.

    def _watch_loaders(self):
        # Not a function around __init__: a warning there, as torch's on pin_memory, names the line that called it.
        _BaseDataLoaderIter.__new__ = staticmethod(_begin_pass)
        self._hook(_BaseDataLoaderIter, "__next__", self._hooks.hook_loader, None)
        replace(DataLoader, "__iter__", self._begin_loading)
        watch_dispatchers()

    def _begin_loading(self, begin, *arguments):
        """A loader may start its workers for each epoch. For the first one, that is before the training."""
        if not self._is_open:
            return begin(*arguments)
        self._enter(DATA_WAIT)
        try:
            return begin(*arguments)
        finally:
            self._leave(DATA_WAIT)

    def _tokens_in(self, samples, model, /, *arguments, **named):
        """Tokens in the input of the model; UNKNOWN where that does not tell, None where no input will."""
        self._reads_sequences = self._reads_sequences or reads_sequences(model)
        if not self._reads_sequences:
            return None
        ids = ids_in((*arguments, *named.values()), {samples})
        self._tokens += math.nan if ids is None else ids.numel()
        return UNKNOWN if ids is None else ids.numel()

    def take_tokens(self):
        """Those that models got to train on since the last call; 0 if that is not known."""
        tokens, self._tokens = self._tokens, 0
        return 0 if math.isnan(tokens) else tokens

    def _watch_reducer(self, *arguments, **named):
        """DistributedDataParallel waits for its collectives when all gradients of the rank are there, in a callback that
        autograd runs at its end. Ours stands in the queue before it. On a GPU it is another thread, which does not
        count, that runs both, and the wait is the stream's."""
        if _compiles_backward():
            return None
        outputs = arguments[0] if arguments else named.get("tensors")
        if isinstance(outputs, (tuple, list)):  # an iterator can be read only once
            outputs = outputs[0] if outputs else None
        if not isinstance(outputs, torch.Tensor) or not outputs.requires_grad:
            return None
        return outputs.register_hook(self._queue_reducer_wait)

    def _queue_reducer_wait(self, gradient):
        torch.autograd.Variable._execution_engine.queue_callback(self._begin_reducer_wait)

    def _begin_reducer_wait(self):
        self._enter(COMMUNICATION_WAIT)

    def _make_data_parallel(self, wrapper, ranks):
        world_size = torch.distributed.get_world_size()
        self._is_data_parallel = self._is_data_parallel or ranks == world_size
        if world_size > 1 and isinstance(wrapper, torch.nn.parallel.DistributedDataParallel):
            self._hooks.gradients_are_reduced()

    def _make_process_group(self, make, *arguments, **named):
        make(*arguments, **named)
        watch_for_hangs(self._directory, self._run)

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

    def _compile(self, running, _):
        if running:
            self._enter(COMPILE)
            self._compiles_since = time.monotonic()
        else:
            self._leave(COMPILE)
            began, self._compiles_since = self._compiles_since, None
            self.mark(COMPILED, seconds=0 if began is None else time.monotonic() - began)

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
        note_out_of_memory(error)

    # The end of the process.

    def _watch_end(self):
        replace(sys, "excepthook", self._exception)
        replace(os, "_exit", self._exit_at_once)  # exit() is seen by libredline.so
        atexit.register(self._look_a_last_time)

    def _exception(self, show, error_type, error, traceback):
        if issubclass(error_type, KeyboardInterrupt):
            self._close(128 + signal.SIGINT)  # Python ends itself by this signal, which nothing here sees
        else:
            with contextlib.suppress(Exception):  # an error's own text may raise
                self.mark(EXCEPTION, f"{error_type.__name__}: {error}")
        show(error_type, error, traceback)

    def _exit_at_once(self, leave, status):
        if status == 0:  # the end of a job that hangs must not wait for a thread that holds the allocator's lock
            self._look_a_last_time()
        self._close(status)
        if status == 0:
            end_watch()
        leave(status)


def _compiles_backward():
    compiled_autograd = sys.modules.get("torch._dynamo.compiled_autograd")
    return getattr(compiled_autograd, "compiled_autograd_enabled", False)


def _function(function, result, *arguments):
    function.restype = result
    if arguments:
        function.argtypes = arguments
    return function


def _begin_pass(kind, loader=None, *_, **__):
    iterator = object.__new__(kind)
    with contextlib.suppress(Exception):  # samplers and data sets of scripts may raise anything
        _count_batches(iterator, loader)
    return iterator


def _count_batches(iterator, loader):
    iterator._redline_sizes = _batches_of(loader)
    if iterator._redline_sizes is None:
        batches = iterator._redline_batches = BatchCounter(loader)
        iterator._redline_samples_in = batches.samples_in
        iterator._next_index = _ask_and_count(iterator, batches)


def _batches_of(loader):
    """(batch size, samples of a pass) where that says the size of each batch; else None. A script's own sampler may give
    more than its length (mmengine's gives samples without end), so each of its batches is counted."""
    batches = getattr(loader, "batch_sampler", None)  # fastai's loader has none
    if type(batches) is not BatchSampler or type(batches.sampler) not in _SAMPLERS:
        return None
    if loader._dataset_kind == _DatasetKind.Iterable:
        return None
    with contextlib.suppress(Exception):  # a sampler need not know how many it gives
        return batches.batch_size, len(batches.sampler)
    return None


def _ask_and_count(iterator, batches):
    """In place of iterator._next_index, which asks the sampler. It does not keep the iterator alive, because that ends
    its workers when it goes."""
    alive = weakref.ref(iterator)

    def next_index():
        iterator = alive()
        index = type(iterator)._next_index(iterator)
        with contextlib.suppress(Exception):
            batches.asked(iterator._sampler_iter, index)
        return index

    return next_index


def _file_name(arguments, named):
    """Where something is saved: a path, or the name of an open file. The argument after what is saved has it."""
    names = [named[name] for name in ("f", "filename", "checkpoint_id") if name in named]
    target = next(iter([*arguments[1:], *names]), "")
    with contextlib.suppress(Exception):  # a file of the script's own kind may raise
        return os.fsdecode(target) if isinstance(target, (str, os.PathLike)) else str(getattr(target, "name", ""))
    return ""

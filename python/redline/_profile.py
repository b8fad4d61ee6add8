"""torch.profiler.profile on Redline's recorder: the same arguments, steps and handlers."""

import contextlib
import json
import os
import tempfile
import threading
import warnings
import weakref

from torch.profiler import ExecutionTraceObserver, ProfilerAction, ProfilerActivity, supported_activities

from redline._arguments import check_arguments, check_export_arguments, chosen_activities
from redline._cycle import operations, warn_if_incorrect
from redline._events import event_list, load_trace, no_events
from redline._job_metadata import describe_job
from redline._library import RecorderError, recorder
from redline._torch_settings import watch_autocast

_CAPTURED_STEPS = 3  # by `redline trigger` without --steps

_OWN_KEY = "redline"  # of the traces; its members are of one window

_starting = threading.Lock()  # for _running
_running = None  # a weak reference, because a profile that nobody can stop any more must not stand in the way
_holder = None  # the profile whose stopped window the recorder holds


class profile:
    """Records the operators of this process, as torch.profiler.profile does.

    activities: ProfilerActivity.CPU records operators, ProfilerActivity.CUDA what GPUs do, if the
        process has one. None or an empty list records both. torch's older use_cuda adds the latter, or leaves it out.
    schedule: the ProfilerAction of each step; without one, all from start to stop is recorded.
    on_trace_ready: called with this object when a window is complete; it exports. It is not called if the
        recording failed.
    record_shapes: the operators' input shapes, types and scalar values too.
    profile_memory: each allocation and release of tensors too, on all threads.
    with_stack: each call of a Python function too.
    with_modules: each call of a torch.nn.Module too, with its name in the model.
    with_flops: estimated floating-point operations of matrix products, convolutions, sums and products.
    execution_trace_observer: an ExecutionTraceObserver, started and stopped with each window.
    acc_events: events() and key_averages() keep the windows before.
    custom_trace_id_callback: gives the trace_id of each window.
    host_samples_hz: samples a second of cores, memory, disk and DataLoader workers, 0 for none.
    memory_budget_bytes: the most memory for events that wait to be written. Events that do not fit
        are dropped and counted.
    max_bytes: the most text in a trace before compression, 0 for no limit. Events beyond it are
        left out and counted.
    max_write_rate: the most bytes of the trace that are written in a second, 0 for no limit. What comes
        faster waits in memory, and the export waits for it.
    ring_seconds: above 0, a flight recorder runs instead of windows. It keeps the last seconds, and
        writes them beside the handler's traces (or into the current folder) when a step takes more than
        slow_step times the median or hangs, on a crash, SIGTERM, `redline trigger` and write_ring(), and
        when an exception leaves the `with` block.
    slow_step: how many times the median makes a step slow, 0 for none.

    If one of the last six is None, the recorder's default holds (profiler/recorder_options.h).

    Each window replaces the one before. This version does not support the other arguments of
    torch.profiler.profile, and names each one given in a warning. Raises RecorderError if the
    recorder cannot be loaded, is misused, or does not take a value. If recording fails later, one
    warning says so, and training goes on.
    """

    def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False,
                 profile_memory=False, with_stack=False, with_flops=False, with_modules=False,
                 execution_trace_observer=None, acc_events=False, custom_trace_id_callback=None, use_cuda=None,
                 host_samples_hz=None, memory_budget_bytes=None, max_bytes=None, max_write_rate=None,
                 ring_seconds=None, slow_step=None, **unserved):
        switches = {
            "record_shapes": record_shapes, "profile_memory": profile_memory,
            "with_stack": with_stack, "with_flops": with_flops, "with_modules": with_modules,
        }
        watch_autocast()
        activities = chosen_activities(activities, use_cuda)
        check_arguments({**switches, **unserved})
        # What handlers written for torch.profiler read.
        self.activities = activities
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.with_flops, self.with_modules = with_flops, with_modules
        self._options = {name: bool(value) for name, value in switches.items()}
        self._options |= {
            "cpu": ProfilerActivity.CPU in activities,
            "gpu": ProfilerActivity.CUDA in activities,
            "host_samples_hz": host_samples_hz,
            "memory_budget_bytes": memory_budget_bytes,
            "max_bytes": max_bytes,
            "max_write_rate": max_write_rate,
            "ring_seconds": ring_seconds,
            "slow_step": slow_step,
        }
        self.execution_trace_observer = (
            execution_trace_observer or _execution_trace_observer_of_environment()
        )
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self._has_ring = bool(ring_seconds)
        if self._has_ring:
            self._options["directory"] = getattr(on_trace_ready, "directory", ".")
            schedule = lambda step: ProfilerAction.RECORD
        self.on_trace_ready = on_trace_ready
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.step_num = 0
        self.current_action = self._action()
        self._marks_steps = schedule is not None
        self._metadata = {}  # of this profile's windows
        self._trace_id = None  # of the latest window, once it is known
        self._failed = False
        self._told_of_step = False
        self._told_of_events = False
        self._events = None  # of the stopped window, once somebody asked for them
        self._earlier_events = no_events()  # of the windows before, if acc_events is set
        self._recorder = recorder()
        self._recorder.check_options(**self._options)

    @property
    def use_device(self):
        """As torch.profiler's: "cuda" where GPUs are recorded, else None."""
        records_gpu = self._options["gpu"] and ProfilerActivity.CUDA in supported_activities()
        return "cuda" if records_gpu else None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, *_):
        if self._has_ring and kind is not None:
            self._try("save_ring", f"uncaught {kind.__name__}")
        self.stop()
        if self.execution_trace_observer is not None:
            self.execution_trace_observer.cleanup()

    def start(self):
        global _running
        with _starting:
            was_dropped = _running is not None
            if was_dropped and _running() is not None:
                raise RecorderError(
                    "profile.start: a profile is already running in this process. Call its stop() first. If a cell "
                    "of a notebook failed and no name holds it any more, run this cell once more."
                )
            _running = weakref.ref(self)
        try:
            if was_dropped:
                self._give_up()
            _take_over_from_redline_record()
            if self._marks_steps:
                self._listen()
            self._transit(ProfilerAction.NONE, self.current_action)
        except BaseException:  # of a function of the script
            self._give_up()
            _running = None
            raise
        self._open_step()

    def step(self):
        """The next step of the training loop begins. While this profile does not run, as after its `with`
        block, a call does nothing but warn once."""
        if not self._is_running():
            if not self._told_of_step:
                self._told_of_step = True
                warnings.warn("redline: profile.step() outside the running profile records nothing: call it "
                              "once in each iteration within the `with` block", stacklevel=2)
            return
        self._close_step()
        previous = self.current_action
        self.step_num += 1
        self.current_action = self._action()
        if self.step_num == 1:
            self._try("describe")  # `redline trigger` may capture when no window has described the job yet
        try:
            self._transit(previous, self.current_action)
        finally:
            self._open_step()

    def stop(self):
        global _running
        if not self._is_running() and self.current_action is ProfilerAction.NONE:
            return  # torch.profiler, too, lets a script stop twice when nothing is recorded any more
        self._require_running("stop")
        if self._marks_steps:
            self._recorder.end_steps()
        try:
            self._transit(self.current_action, None)
        finally:
            _running = None

    def export_chrome_trace(self, path, use_python_export=False, **unserved):
        """Writes the last window as Chrome JSON, compressed if `path` ends in .gz. Raises RecorderError
        if nothing was recorded or `path` cannot be written; does nothing if the recording failed.
        `use_python_export` chooses among torch's writers and changes nothing here. Other arguments of
        torch's export_chrome_trace draw a warning."""
        check_export_arguments(unserved)
        if self._lost_its_window():
            return
        if _holder is not self:
            raise RecorderError("profile: it has no stopped window, or another replaced it")
        self._recorder.export(path)

    def wait_for_exports(self):
        """Nothing to wait for: a trace is whole when export_chrome_trace() returns."""

    def add_metadata(self, key, value):
        """Adds a top-level key with a string to this and all later traces of this profile."""
        self.add_metadata_json(key, json.dumps(str(value)))

    def add_metadata_json(self, key, value):
        """Adds a top-level key with a JSON text to this and all later traces of this profile."""
        self._recorder.add_metadata_json(key, _json_text(value))
        if key != _OWN_KEY:
            self._metadata[key] = value

    def preset_metadata_json(self, key, value):
        """Like add_metadata_json(), but the key is added when the next window starts."""
        self._metadata[key] = _json_text(value)

    def events(self):
        """The operators of the last window as torch.profiler's FunctionEvents, without GPU time, which `redline report`
        has; with acc_events those of the windows before, too. While the profile runs and no window is complete,
        there are none, and one warning says so; after it has stopped without a window, that is a RecorderError. If
        the recording failed, which a warning has said, there are none of its window."""
        if self._lost_its_window():
            return self._earlier_events
        if self._events is None:
            try:
                self._events = self._read_events()
            except RecorderError:
                if not self._is_running():
                    raise
                if not self._told_of_events and not self._earlier_events:
                    self._told_of_events = True
                    warnings.warn("redline: no window of this profile is complete yet, so it has no events: ask for "
                                  "them in on_trace_ready, or after the `with` block", stacklevel=2)
                return self._earlier_events
            self._events.extend(self._earlier_events)
        return self._events

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, *more, **named):
        """Averages of events(), by name and, if asked for, input shapes or the innermost callers;
        `.table(sort_by=…, row_limit=…)` prints them, without GPU time. `more` and `named` are what else this torch's
        takes."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n, *more, **named)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Writes a line `frame;frame;… microseconds` for each operator, which tools for flame graphs read."""
        if not self._options["with_stack"]:
            raise RecorderError("profile.export_stacks: needs profile(with_stack=True)")
        return self.events().export_stacks(path, metric)

    def export_memory_timeline(self, path, device=None):
        """Raises RecorderError: torch's timeline distinguishes parameters from activations, and a trace
        does not hold which tensor is which."""
        raise RecorderError(
            "profile.export_memory_timeline is not served: with profile_memory=True the trace of "
            "export_chrome_trace() holds each allocation, and `redline report` shows the peak"
        )

    def write_ring(self, reason="the program asked"):
        """With ring_seconds: writes a trace of the last seconds, and gives its path."""
        return self._recorder.write_ring(reason)

    def toggle_collection_dynamic(self, enable, activities):
        """Pauses the recording of the running window, or goes on with it, if `activities` hold
        ProfilerActivity.CPU."""
        if ProfilerActivity.CPU in activities:
            self._recorder.set_paused(not enable)

    def get_trace_id(self):
        """Gives the "trace_id" of the latest window. It is None before the first one, and while a window is recorded
        whose id custom_trace_id_callback does not give."""
        if self._lost_its_window():
            return ""
        if self._trace_id is None and _holder is self:
            self._trace_id = self._read_trace()["trace_id"]
        return self._trace_id

    def set_custom_trace_id_callback(self, callback):
        """`callback()` gives the "trace_id" of each window from now on."""
        self.custom_trace_id_callback = callback

    def _read_trace(self):
        with tempfile.TemporaryDirectory(prefix="redline.") as folder:
            path = os.path.join(folder, "trace.json")
            self.export_chrome_trace(path)
            return load_trace(path)

    def _read_events(self):
        switches = {name: self._options[name] for name in ("profile_memory", "with_flops")}
        return event_list(self._read_trace(), **switches)

    def _action(self):
        action = ProfilerAction(self.schedule(self.step_num))
        if action.name == "DEVICE_STOPPED":  # since torch 2.15
            raise ValueError("profile: a schedule cannot return DEVICE_STOPPED, torch.profiler's own mark")
        return action

    def _lost_its_window(self):
        """A script asks for what it recorded, and must not end there because Redline failed. Waits until the window is
        written, as each export does."""
        if _holder is self:
            self._try("write")
        return self._failed and _holder is not self

    def _is_running(self):
        return _running is not None and _running() is self

    def _require_running(self, call):
        if not self._is_running():
            raise RecorderError(f"profile.{call}: this profile is not running. Call start() first.")

    def _transit(self, previous, current):
        if self._has_ring and current is None:
            return self._try("discard")
        warn_if_incorrect(previous, current, stacklevel=3)
        ahead = iter(operations(previous, current))
        for operation in ahead:
            if operation != "ready":
                self._try(operation)
                continue
            try:
                self._ready()
            finally:  # the handler may raise, and the script go on
                for later in ahead:
                    self._try(later)

    def _try(self, operation, *arguments):
        if self._failed:
            return
        try:
            getattr(self, f"_{operation}")(*arguments)
        except RecorderError as error:
            self._failed = True
            self._give_up()
            warnings.warn(f"redline: {operation}: {error}. Recording ends, training goes on.")

    def _give_up(self):
        """Ends the window that is prepared or recorded. A stopped one stays, because somebody may still export it."""
        if _holder is None:
            with contextlib.suppress(RecorderError):  # there is nothing to discard between two windows
                self._recorder.discard()

    def _prepare(self):
        global _holder
        if _holder is not None and _holder.acc_events:
            _holder._write()
            _holder._earlier_events = _holder.events()
        self._events, _holder = None, None
        self._recorder.prepare(**self._options)

    def _start(self):
        self._recorder.forget_metadata()
        describe_job(self._recorder)
        for key, text in self._metadata.items():
            self._recorder.add_metadata_json(key, text)
        self._trace_id = None
        if self.custom_trace_id_callback is not None:
            self._trace_id = str(self.custom_trace_id_callback())
            self._recorder.add_metadata("trace_id", self._trace_id)
        if self.execution_trace_observer is not None:
            self.execution_trace_observer.start()
        self._recorder.start()

    def _stop(self):
        global _holder
        if self.execution_trace_observer is not None:
            self.execution_trace_observer.stop()
        self._recorder.stop()
        _holder = self

    def _write(self):
        global _holder
        try:
            self._recorder.complete()
        except RecorderError:
            _holder = None
            raise

    def _ready(self):
        if self.on_trace_ready is not None and not self._failed and not self._lost_its_window():
            self.on_trace_ready(self)

    def _save_ring(self, reason):
        self.write_ring(reason)

    def _discard(self):
        self._recorder.discard()

    def _describe(self):
        describe_job(self._recorder)

    def _listen(self):
        """Lets `redline trigger` reach this process. This may fail, as without a folder for sockets; the rest works."""
        with contextlib.suppress(RecorderError):
            self._recorder.listen(steps=_CAPTURED_STEPS, **self._options)

    def _open_step(self):
        if self._marks_steps:
            self._recorder.begin_step(self.step_num)

    def _close_step(self):
        if self._marks_steps:
            self._recorder.end_step()


def _json_text(value):
    if not isinstance(value, str):
        raise TypeError(f"needs JSON text, not {value!r}: give json.dumps(…)")
    return value


def _execution_trace_observer_of_environment():
    """The observer that torch's environment variables ask for. None before torch 2.7, which has no such variables."""
    build = getattr(ExecutionTraceObserver, "build_execution_trace_obs_from_env", None)
    return build() if build else None


def _take_over_from_redline_record():
    """Ends the recording of `redline record`: the script's own profile needs the process's only recorder."""
    from redline import _record

    _record.step_aside()

"""torch.profiler.profile on Redline's recorder: the same arguments, steps and handlers."""

import contextlib
import os
import socket
import time
import warnings

from torch.profiler import ProfilerAction, ProfilerActivity

from redline._cycle import operations, warn_if_incorrect
from redline._job_metadata import describe_job
from redline._library import RecorderError, recorder

# Arguments of torch.profiler.profile that this version does not serve, with their defaults.
_UNSERVED = {
    "experimental_config": None,
    "execution_trace_observer": None,
    "acc_events": False,
    "custom_trace_id_callback": None,
    "post_processing_timeout_s": None,
}
_SERVED = ("record_shapes", "profile_memory", "with_flops", "with_stack", "with_modules")
_UNSERVED_METHODS = (
    "events", "key_averages", "export_stacks", "export_memory_timeline", "toggle_collection_dynamic"
)

_CAPTURED_STEPS = 3  # by `redline trigger` without --steps

_running = None


class profile:
    """Records the operators of this process, as torch.profiler.profile does.

    activities: must hold ProfilerActivity.CPU, which is what is recorded.
    schedule: the ProfilerAction of each step; without one, all from start to stop is recorded.
    on_trace_ready: called with this object when a window is complete; it exports.
    record_shapes: the operators' input shapes, types and scalar values too.
    host_samples_hz: samples a second of cores, memory, disk and DataLoader workers, 0 for none.
    memory_budget_bytes: most memory for events that wait to be written; more are dropped and counted.
    max_bytes: most text in a trace before compression, 0 for any; later events are counted.

    Each window replaces the one before. The other arguments of torch.profiler.profile are not
    served by this version: each one given is named in a warning. Raises RecorderError where the
    recorder cannot be loaded, or is misused; what goes wrong while it records is warned of once,
    and training goes on.
    """

    def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False,
                 profile_memory=False, with_stack=False, with_flops=False, with_modules=False,
                 host_samples_hz=10, memory_budget_bytes=64 << 20, max_bytes=0, **unserved):
        _check_activities(activities)
        switches = {
            "record_shapes": record_shapes, "profile_memory": profile_memory,
            "with_stack": with_stack, "with_flops": with_flops, "with_modules": with_modules,
        }
        _warn_of_unserved({**switches, **unserved})
        self.record_shapes = record_shapes
        self._options = {name: bool(value) for name, value in switches.items()}
        self._options |= {
            "host_samples_hz": host_samples_hz,
            "memory_budget_bytes": memory_budget_bytes,
            "max_bytes": max_bytes,
        }
        self.on_trace_ready = on_trace_ready
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.step_num = 0
        self.current_action = self._action()
        self._marks_steps = schedule is not None
        self._preset_metadata = {}
        self._failed = False
        self._recorder = recorder()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exception):
        self.stop()

    def start(self):
        global _running
        if _running is not None:
            raise RecorderError(
                "profile.start: a profile is already running in this process. Stop it first."
            )
        _take_over_from_redline_record()
        _running = self
        if self._marks_steps:
            self._listen()
        self._transit(ProfilerAction.NONE, self.current_action)
        self._open_step()

    def step(self):
        """The next step of the training loop begins."""
        self._require_running("step")
        self._close_step()
        previous = self.current_action
        self.step_num += 1
        self.current_action = self._action()
        if self.step_num == 1:
            self._try("describe")  # for captures, which may come before or after all windows
        self._transit(previous, self.current_action)
        self._open_step()

    def stop(self):
        global _running
        self._require_running("stop")
        self._close_step()
        try:
            self._transit(self.current_action, None)
        finally:
            _running = None

    def export_chrome_trace(self, path):
        """Writes the last window as Chrome JSON, gzip where `path` ends in .gz; raises RecorderError
        where nothing was recorded or `path` cannot be written."""
        self._recorder.export(path)

    def add_metadata(self, key, value):
        """A top-level key of the trace with a string."""
        self._recorder.add_metadata(key, str(value))

    def add_metadata_json(self, key, value):
        """A top-level key of the trace with a JSON text."""
        self._recorder.add_metadata_json(key, value)

    def preset_metadata_json(self, key, value):
        """The same, added when the next window starts."""
        self._preset_metadata[key] = value

    def __getattr__(self, name):
        if name in _UNSERVED_METHODS:
            raise AttributeError(
                f"redline.profile has no {name}: export the trace and run `redline report` on it"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _action(self):
        return ProfilerAction(self.schedule(self.step_num))

    def _require_running(self, call):
        if _running is not self:
            raise RecorderError(f"profile.{call}: this profile is not running. Call start() first.")

    def _transit(self, previous, current):
        warn_if_incorrect(previous, current, stacklevel=3)
        for operation in operations(previous, current):
            if operation == "ready":
                self._ready()
            else:
                self._try(operation)

    def _try(self, operation):
        if self._failed:
            return
        try:
            getattr(self, f"_{operation}")()
        except RecorderError as error:
            self._failed = True
            warnings.warn(f"redline: {operation}: {error}. Recording ends, training goes on.")

    def _prepare(self):
        self._recorder.prepare(**self._options)

    def _start(self):
        describe_job(self._recorder)
        for key, text in self._preset_metadata.items():
            self._recorder.add_metadata_json(key, text)
        self._recorder.start()

    def _stop(self):
        self._recorder.stop()

    def _ready(self):
        if self.on_trace_ready is not None and not self._failed:
            self.on_trace_ready(self)

    def _describe(self):
        describe_job(self._recorder)

    def _listen(self):
        """Where that fails, as without a folder for sockets, only `redline trigger` does."""
        with contextlib.suppress(RecorderError):
            self._recorder.listen(steps=_CAPTURED_STEPS, **self._options)

    def _open_step(self):
        if self._marks_steps:
            self._recorder.begin_step(self.step_num)

    def _close_step(self):
        if self._marks_steps:
            self._recorder.end_step()


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False):
    """An on_trace_ready that writes {worker_name}.{time in ns}.pt.trace.json[.gz] into `dir_name`.

    `worker_name` must differ between the processes of a job; by default it is host_pid. A folder
    that cannot be written is warned of: the training goes on.
    """

    def write(recorded):
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        try:
            os.makedirs(dir_name, exist_ok=True)
            recorded.export_chrome_trace(os.path.join(dir_name, name))
        except (OSError, RecorderError) as error:
            warnings.warn(f"redline: no trace in {dir_name}: {error}")

    return write


def _check_activities(activities):
    if activities is None:
        return
    asked = set(activities)
    if ProfilerActivity.CPU not in asked:
        raise ValueError(
            "profile: activities must hold ProfilerActivity.CPU: this version records the host only"
        )
    for other in sorted(asked - {ProfilerActivity.CPU}, key=str):
        _warn_unserved(f"activity {other.name}")


def _warn_of_unserved(arguments):
    for name, value in arguments.items():
        if name in _SERVED:
            continue
        if name not in _UNSERVED:
            raise TypeError(f"profile() got an unexpected keyword argument {name!r}")
        if value != _UNSERVED[name]:
            _warn_unserved(f"{name}={value!r}")


def _warn_unserved(what):
    warnings.warn(
        f"redline.profile does not serve {what} in this version: it is left out of the trace",
        stacklevel=4,
    )


def _take_over_from_redline_record():
    """The script's own profile and `redline record` cannot both have the one recorder."""
    from redline import _record

    _record.step_aside()

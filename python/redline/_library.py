"""Calls the recorder's C ABI (profiler/c_api.h) through ctypes. A process has one recorder.

ctypes releases the interpreter lock during a call, so a slow export in one of our threads does not
hold up the training loop.
"""

import contextlib
import ctypes
import functools
import json
import math
import operator
import os
import pathlib

from redline._python_library import next_step

_PACKAGE = pathlib.Path(__file__).resolve().parent
# The libraries are in lib inside a wheel, in build/PRESET/lib of a source tree, or, if Redline is installed, in lib
# beside share/redline/python.
_LIBRARY_FOLDERS = (
    _PACKAGE / "lib",
    _PACKAGE.parents[1] / "build/release/lib",
    _PACKAGE.parents[1] / "build/dev/lib",
    _PACKAGE.parents[3] / "lib",
)
_PATH_BYTES = 4096
_ENDS_WITH_STEP = 2  # redline_capture_of_stacks() gives it during the last step of a capture
# What next_step() says of the new step.
NOT_CAPTURED = 1
MAY_BE_CAPTURED = 2
_MARKER = ctypes.CFUNCTYPE(None)
_PROCESS_ENDS = "the process is ending"  # profiler/session/recorder.cc says so


class RecorderError(RuntimeError):
    """The recorder was misused, or could not do what was asked; the message says which and why."""


class ProcessEnds(RecorderError):
    """The recorder has written what was wanted and does nothing more: SIGTERM came, or the process leaves."""


class Stats(ctypes.Structure):
    """Counts since prepare; redline_stats of profiler/c_api.h."""

    _fields_ = [
        ("struct_size", ctypes.c_uint64),
        ("events_recorded", ctypes.c_uint64),
        ("events_dropped", ctypes.c_uint64),
        ("bytes_written", ctypes.c_uint64),
        ("threads", ctypes.c_uint64),
    ]


class Recorder:
    """The functions of the C ABI as methods; a failing call raises RecorderError."""

    def __init__(self, library, compiled_code):
        self._library = library
        self._compiled_code = compiled_code
        self._records_shapes = self._has_ring = False
        library.redline_last_error.restype = ctypes.c_char_p
        library.redline_schedule_action.argtypes = [ctypes.c_int64] * 6
        library.redline_begin_step.argtypes = [ctypes.c_int64]
        library.redline_begin_drawn_step.argtypes = [ctypes.c_int64]
        library.redline_watch_marker.argtypes = [ctypes.c_char_p, _MARKER]
        library.redline_write_ring.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint64]
        library.redline_listen.argtypes = [ctypes.c_char_p, ctypes.c_int64]
        library.redline_export_to_directory.argtypes = [
            ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint64,
        ]
        self.schedule_action = library.redline_schedule_action
        # next_step(number) ends a step and begins another, outside of windows; 0, and nothing is done, while steps are
        # captured.
        self.next_step = next_step(library._name)
        self._wanted_calls = None  # of Python, in the window that comes: the name of an option
        self._captured_calls = None
        self._calls = {}  # what records them, by that name, once it is loaded
        self._at_marker = []

    def take_request(self):
        """Discards the recording of the whole run that the library may have begun when CUDA started, before torch was
        imported (profiler/api/inject.cc)."""
        request = ctypes.c_uint64(ctypes.sizeof(ctypes.c_uint64))  # struct_size alone: the fields are known already
        self._check(self._library.redline_take_request(ctypes.byref(request)))

    def prepare(self, *, directory=None, **options):
        """Begins the warm-up. `directory` is where the unfinished trace grows, TMPDIR by default.
        `options` are the other options of redline_prepare, such as record_shapes=True."""
        self._stop_calls()  # this ends a capture that may be running
        self._check(self._library.redline_prepare(_options(directory, options)))
        self._wanted_calls = _wanted_calls(options)
        self._load_calls()
        self._records_shapes = bool(options.get("record_shapes"))
        self._has_ring = bool(options.get("ring_seconds"))

    def check_options(self, *, directory=None, **options):
        """Raises RecorderError if prepare() would not take these options."""
        self._check(self._library.redline_check_options(_options(directory, options)))

    def start(self):
        self._check(self._library.redline_start())
        self._start_calls()
        if not self._has_ring:  # each call of a kernel costs microseconds more, and a flight recorder runs for days
            self._compiled_code.start(self._records_shapes)

    def stop(self):
        self._compiled_code.stop()
        self._stop_calls()
        self._check(self._library.redline_stop())

    def complete(self):
        """Waits until the stopped window is written, as each export does."""
        self._check(self._library.redline_complete())

    def set_paused(self, paused):
        self._check(self._library.redline_set_paused(int(paused)))

    def discard(self):
        self._compiled_code.stop()
        self._stop_calls()
        self._check(self._library.redline_discard())

    def _load_calls(self):
        if self._wanted_calls and self._wanted_calls not in self._calls:
            from redline._python_frames import load_python_calls

            self._calls[self._wanted_calls] = load_python_calls(self._library._name, self._wanted_calls == "with_stack")

    def _start_calls(self):
        if calls := self._calls.get(self._wanted_calls):
            calls.start()

    def _stop_calls(self):
        lost = sum(calls.stop() for calls in self._calls.values() if calls)
        if lost:
            with contextlib.suppress(RecorderError):  # the window may have ended
                self.add_metadata("redline", {"threads_without_python_frames": lost})

    def begin_step(self, number, has_own_slice=False):
        """A step of the training loop begins. `has_own_slice`: the script records the ProfilerStep#n itself."""
        begin = self._library.redline_begin_drawn_step if has_own_slice else self._library.redline_begin_step
        begin(number)
        self.start_captured_frames()

    def start_captured_frames(self):
        """If steps are captured with stacks or modules, from this step on."""
        if self._library.redline_capture_of_stacks():
            self._wanted_calls = self._captured_calls
            self._load_calls()
            self._start_calls()

    def end_step(self):
        if self._library.redline_capture_of_stacks() == _ENDS_WITH_STEP:
            self._stop_calls()
        self._library.redline_end_step()

    def end_steps(self):
        """The same, and no step follows: a capture ends with the steps that it has."""
        if self._library.redline_capture_of_stacks():
            self._stop_calls()
        self._library.redline_end_steps()

    def listen(self, *, steps, directory=None, **options):
        """From now on `redline trigger` and SIGUSR2 capture `steps` steps with these options."""
        self._captured_calls = _wanted_calls(options)
        self._check(self._library.redline_listen(_options(directory, options), steps))

    def finish_on_termination(self):
        self._check(self._library.redline_finish_on_termination())

    def export(self, path):
        self._check(self._library.redline_export(os.fsencode(path)))

    def export_to_directory(self, directory):
        """Writes the trace into the folder and gives its path."""
        return self._path_of(self._library.redline_export_to_directory, os.fsencode(directory))

    def write_ring(self, reason):
        """Writes a trace of what the running flight recorder holds, and gives its path."""
        return self._path_of(self._library.redline_write_ring, _utf8(reason))

    def _path_of(self, write, argument):
        path = ctypes.create_string_buffer(_PATH_BYTES)
        self._check(write(argument, path, _PATH_BYTES))
        return os.fsdecode(path.value)

    def watch_marker(self, name, step_begins):
        """Calls `step_begins()` wherever a range or mark of this name begins. The functions of earlier calls go on to
        be called."""
        self._at_marker.append(step_begins)
        # An attribute, because the library holds only its address, and Python would free it.
        self._on_marker = _MARKER(lambda: [begins() for begins in self._at_marker])
        self._check(self._library.redline_watch_marker(_utf8(name), self._on_marker))

    def add_metadata(self, key, value):
        """Adds a top-level key to the trace; `value` is anything that json can write."""
        self.add_metadata_json(key, json.dumps(value))

    def add_metadata_json(self, key, text):
        self._check(
            self._library.redline_add_metadata_json(_utf8(key), _utf8(text))
        )

    def forget_metadata(self):
        """Later windows get none of the keys added so far."""
        self._check(self._library.redline_forget_metadata())

    def stats(self):
        result = Stats(struct_size=ctypes.sizeof(Stats))
        self._check(self._library.redline_get_stats(ctypes.byref(result)))
        return result

    def _check(self, status):
        if status != 0:
            why = self._library.redline_last_error().decode(errors="replace")
            raise ProcessEnds(why) if why == _PROCESS_ENDS else RecorderError(why)


@functools.cache
def recorder():
    """The recorder of this process, with the LibTorch adapter loaded; raises RecorderError."""
    core, adapter = libraries()
    from redline._compiled_code import CompiledCode

    return Recorder(core, CompiledCode(adapter._name))


@functools.cache
def libraries():
    """libredline.so and its LibTorch adapter; raises RecorderError."""
    import torch  # loads the libtorch that the adapter links to

    adapter = _path_of("libredline_torch.so", "REDLINE_TORCH_LIBRARY")
    _refuse_another_torch(adapter, torch.__version__)
    core = _load(_path_of("libredline.so", "REDLINE_LIBRARY"))
    return core, _load(adapter)


def core_path():
    """Of libredline.so alone, which knows nothing of torch; raises RecorderError."""
    return os.fspath(_path_of("libredline.so", "REDLINE_LIBRARY"))


def _path_of(name, variable):
    path = os.environ.get(variable) or _search(name)
    if path is None:
        raise RecorderError(
            f"{name} not found in {', '.join(map(str, _LIBRARY_FOLDERS))}. "
            f"Build it with ./scripts/setup, or set {variable} to its path."
        )
    return pathlib.Path(path)


def _refuse_another_torch(adapter, version):
    """Raises RecorderError if the adapter was built for another minor version of torch: torch's C++ classes differ
    between them, so the adapter would crash the job, or worse."""
    try:
        built_for = adapter.with_suffix(".built_for").read_text().strip()
    except OSError:  # the file is missing, so the version is unknown
        return
    if built_for.split(".")[:2] != version.split(".")[:2]:
        raise RecorderError(
            f"this Redline was built for torch {built_for} and cannot record torch {version}: "
            f"build it for this one (docs/install.md, Another torch)"
        )


def _load(path):
    try:
        return ctypes.CDLL(os.fspath(path), mode=os.RTLD_NOW | os.RTLD_LOCAL)
    except OSError as error:
        raise RecorderError(
            f"{path} cannot be loaded: {error}. Was it built against another torch? "
            "Rebuild with REDLINE_PYTHON set to this Python."
        ) from error


def _search(name):
    return next((folder / name for folder in _LIBRARY_FOLDERS if (folder / name).exists()), None)


def _wanted_calls(options):
    """Python frames hold the calls of modules, too."""
    return next((name for name in ("with_stack", "with_modules") if options.get(name)), None)


def _options(directory, others):
    """The JSON object that redline_prepare and redline_listen take."""
    where = {} if directory is None else {"directory": os.fspath(directory)}
    finite = {name: value if _is_finite(value) else str(value) for name, value in others.items()}
    return json.dumps({**finite, **where}, default=_number_or_text).encode()


def _is_finite(value):
    return not isinstance(value, float) or math.isfinite(value)


def _number_or_text(value):
    """A whole number of NumPy or torch as an int; anything else as a text, which the recorder refuses, and names."""
    try:
        return operator.index(value)
    except TypeError:
        return repr(value)


def _utf8(text):
    """Encodes text. A lone surrogate has no UTF-8, so the trace has '?' in its place."""
    if not isinstance(text, str):
        raise TypeError(f"needs text, not {text!r}")
    return text.encode("utf-8", errors="replace")

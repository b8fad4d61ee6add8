"""redline.profile has the same schedule, transitions and operators as torch.profiler.profile."""

import contextlib
import ctypes
import itertools
import os
import pathlib
import random
import subprocess
import sys
import warnings

import numpy
import pytest
import torch
from conftest import BUILD, ROOT, need
from recording import CURE, import_redline, load, names, slices, step_numbers
from torch._C._profiler import _ExperimentalConfig
from torch.profiler import ProfilerAction

redline = import_redline()
from redline._arguments import chosen_activities  # noqa: E402

TWO_CYCLES = {"wait": 1, "warmup": 1, "active": 2, "repeat": 2}


@pytest.fixture(autouse=True)
def schedules_without_warmup_are_meant(recwarn):
    warnings.filterwarnings("ignore", message=".*warmup.*")


def train_steps(profile, steps):
    model = torch.nn.Linear(4, 3)
    with profile:
        for _ in range(steps):
            model(torch.ones(2, 4)).sum().backward()
            profile.step()


def record(tmp_path, work, **arguments):
    """Records `work()` from begin to end and returns the trace."""
    with redline.profile(**arguments) as profile:
        work()
    path = tmp_path / "trace.json"
    profile.export_chrome_trace(str(path))
    return load(path)


def test_importing_the_package_does_not_import_torch():
    program = "import sys, redline; sys.exit('torch' in sys.modules or 'ctypes' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    assert subprocess.run([sys.executable, "-c", program], env=environment).returncode == 0


def test_a_script_that_asks_for_what_was_not_recorded_goes_on(tmp_path):
    """Recording fails in a process that was forked from a recorded one."""
    program = """
import os, sys, torch, redline
with redline.profile() as profile:
    torch.ones(2) + 1
assert profile.key_averages()
child = os.fork()
if child == 0:
    with redline.profile() as profile:
        torch.ones(2) + 1
    assert not profile.events() and not profile.key_averages() and profile.get_trace_id() == ""
    profile.export_chrome_trace("none.json")
    sys.exit(7)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
                          cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 7, done.stderr
    assert "this process was forked from a recorded one" in done.stderr


def test_every_schedule_equals_torchs():
    """R13 of the reliability notes: 82,000 step checks."""
    for skip_first, wait, warmup, active, repeat in itertools.product(
        range(4), range(5), range(4), range(1, 5), range(4)
    ):
        numbers = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat}
        ours = redline.schedule(skip_first=skip_first, **numbers)
        theirs = torch.profiler.schedule(skip_first=skip_first, **numbers)
        assert [ours(step) for step in range(64)] == [theirs(step) for step in range(64)], numbers


def test_skip_first_wait_equals_torchs():
    numbers = {"wait": 3, "warmup": 1, "active": 2, "repeat": 2, "skip_first": 2}
    ours = redline.schedule(skip_first_wait=1, **numbers)
    theirs = torch.profiler.schedule(skip_first_wait=1, **numbers)
    assert [ours(step) for step in range(30)] == [theirs(step) for step in range(30)]


@pytest.mark.parametrize("wrong", [{"active": 0}, {"wait": -1}, {"repeat": -1}, {"skip_first": -2}, {"wait": 1.5},
                                   {"skip_first_wait": -1}, {"wait": 10**20}, {"warmup": 2**62}, {"active": "3"}])
def test_a_schedule_that_makes_no_sense_is_refused(wrong):
    ((name, number),) = wrong.items()
    with pytest.raises(ValueError, match=f"active must be above 0 .*{name}={number!r}"):
        redline.schedule(**{"wait": 0, "warmup": 1, "active": 1, **wrong})


def test_whole_numbers_of_any_type_make_the_same_schedule():
    plain = redline.schedule(wait=2, warmup=1, active=3)
    other = redline.schedule(wait=len("four") / 2, warmup=torch.tensor(1), active=3.0)
    assert [plain(step) for step in range(12)] == [other(step) for step in range(12)]


def test_transitions_equal_torchs():
    """Both do the same, in the same order, for any sequence of actions, sensible or not.

    Except for RECORD followed by WARMUP, of which torch warns and which it then forgets to prepare.
    """
    from redline._cycle import operations

    class Watched(torch.profiler.profile):
        def prepare_trace(self):
            self.done.append("prepare")

        def start_trace(self):
            self.done.append("start")

        def stop_trace(self):
            self.done.append("stop")

        def _trace_ready(self):
            self.done.append("ready")

    warnings.filterwarnings("ignore", message="Incorrect schedule")
    for seed in range(400):
        actions = random.Random(seed).choices(list(ProfilerAction)[:4], k=8)
        theirs = Watched(schedule=actions.__getitem__)
        theirs.done = []
        theirs.start()
        for _ in actions[1:]:
            theirs.step()
        theirs.stop()
        pairs = list(itertools.pairwise([ProfilerAction.NONE, *actions, None]))
        if (ProfilerAction.RECORD, ProfilerAction.WARMUP) in pairs:
            continue
        assert theirs.done == [name for pair in pairs for name in operations(*pair)], actions


def test_an_incorrect_schedule_is_warned_of_as_torch_does():
    actions = [ProfilerAction.RECORD, ProfilerAction.NONE]
    profile = redline.profile(schedule=actions.__getitem__)
    profile.start()
    with pytest.warns(UserWarning, match="Incorrect schedule: RECORD followed by NONE"):
        profile.step()
    profile.stop()


def test_each_cycle_hands_over_its_own_steps(tmp_path):
    written = []

    def ready(profile):
        written.append(tmp_path / f"{profile.step_num}.json.gz")
        profile.export_chrome_trace(str(written[-1]))

    train_steps(redline.profile(schedule=redline.schedule(**TWO_CYCLES), on_trace_ready=ready), 10)
    assert [step_numbers(load(path)) for path in written] == [[2, 3], [6, 7]]


def test_torchs_own_schedule_serves_too(tmp_path):
    traces = []
    profile = redline.profile(
        schedule=torch.profiler.schedule(wait=0, warmup=1, active=1, repeat=1),
        on_trace_ready=lambda profile: traces.append(profile.step_num),
    )
    train_steps(profile, 4)
    assert traces == [2]


def test_the_tensorboard_handler_names_the_file_as_its_plugin_wants(tmp_path):
    handler = redline.tensorboard_trace_handler(str(tmp_path / "new/folder"), "worker_7", True)
    train_steps(redline.profile(on_trace_ready=handler), 1)
    (path,) = (tmp_path / "new/folder").iterdir()
    assert path.match("worker_7.*.pt.trace.json.gz")
    assert "aten::linear" in names(load(path), "cpu_op")


def test_a_handler_that_cannot_write_warns_and_training_goes_on(tmp_path):
    (tmp_path / "file").write_text("")
    handler = redline.tensorboard_trace_handler(str(tmp_path / "file/folder"))
    with pytest.warns(UserWarning, match="redline: no trace in"):
        train_steps(redline.profile(on_trace_ready=handler), 1)


def test_a_handler_that_raises_costs_its_own_window_alone(tmp_path):
    written = []

    def ready(profile):
        if profile.step_num == 2:
            raise OSError("disk full")
        written.append(tmp_path / f"{profile.step_num}.json")
        profile.export_chrome_trace(str(written[-1]))

    profile = redline.profile(schedule=redline.schedule(wait=0, warmup=1, active=1), on_trace_ready=ready)
    with profile, warnings.catch_warnings():
        warnings.simplefilter("error")
        for step in range(4):
            torch.ones(2) + 1
            with pytest.raises(OSError, match="disk full") if step == 1 else contextlib.nullcontext():
                profile.step()
    assert [step_numbers(load(path)) for path in written] == [[3]]


@pytest.mark.parametrize("options, operation", [
    ({"on_trace_ready": lambda profile: pytest.fail("there is no trace")}, "write"),
    ({"acc_events": True}, "prepare"),
])
def test_what_cannot_be_written_ends_the_recording_and_not_the_job(tmp_path, monkeypatch, options, operation):
    profile = redline.profile(schedule=redline.schedule(wait=0, warmup=1, active=1), **options)
    with monkeypatch.context() as patch:
        patch.setenv("TMPDIR", "/proc")  # where not even root can make a file
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            train_steps(profile, 6)
    said = [str(warning.message) for warning in told if "redline" in str(warning.message)]
    assert len(said) == 1 and said[0].startswith(f"redline: {operation}: cannot create /proc/")
    assert said[0].endswith(": No such file or directory. Recording ends, training goes on.")
    profile.export_chrome_trace(str(tmp_path / "none.json"))
    assert not list(tmp_path.iterdir())
    assert (list(profile.events()), profile.get_trace_id()) == ([], "")
    assert "aten::add" in names(record(tmp_path, lambda: torch.ones(2) + 1, record_shapes=True), "cpu_op")


def test_a_script_that_asks_for_events_that_could_not_be_written_goes_on(monkeypatch):
    monkeypatch.setenv("TMPDIR", "/proc")
    with redline.profile() as profile:
        torch.ones(2) + 1
    with pytest.warns(UserWarning, match="redline: write: cannot create /proc/"):
        assert list(profile.events()) == []
    assert list(profile.key_averages()) == []


def test_a_profile_that_fails_is_out_of_the_way_of_the_next(tmp_path):
    failed = redline.profile()
    failed.preset_metadata_json("broken", "{")
    with pytest.warns(UserWarning, match="redline: start: metadata broken: not a JSON value. Recording ends"):
        train_steps(failed, 1)
    raises = redline.profile(custom_trace_id_callback=lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        raises.start()
    assert "aten::add" in names(record(tmp_path, lambda: torch.ones(2) + 1, record_shapes=True), "cpu_op")


def test_of_two_profiles_that_start_at_once_one_runs(monkeypatch):
    profile, other = redline.profile(), redline.profile(record_shapes=True)

    def meanwhile():
        with pytest.raises(redline.RecorderError, match="already running"):
            other.start()

    monkeypatch.setattr("redline._profile._take_over_from_redline_record", meanwhile)
    with profile:
        torch.ones(2) + 1
    assert "aten::add" in [event.name for event in profile.events()]


def test_metadata_is_of_its_own_profile_alone(tmp_path):
    ids = iter(["first", "second"])
    profile = redline.profile(custom_trace_id_callback=lambda: next(ids))
    profile.preset_metadata_json("preset", "1")
    profile.add_metadata("before", 2)
    for window in ("first", "second"):
        with profile:
            if window == "first":
                profile.add_metadata_json("within", "3")
                profile.add_metadata_json("redline", '{"told": 4}')
        path = tmp_path / f"{window}.json"
        profile.export_chrome_trace(str(path))
        trace = load(path)
        assert [trace[key] for key in ("trace_id", "preset", "before", "within")] == [window, 1, "2", 3]
        assert trace["redline"].get("told") == (4 if window == "first" else None)
    trace = record(tmp_path, lambda: None)
    assert len(trace["trace_id"]) == 32
    assert not {"preset", "before", "within"} & set(trace)


def test_metadata_reaches_the_trace(tmp_path):
    with redline.profile() as profile:
        profile.add_metadata("note", 'said "so"\\')
        profile.add_metadata_json("numbers", "[1, 2.5]")
    profile.preset_metadata_json("later", '{"is": true}')
    first, second = tmp_path / "1.json", tmp_path / "2.json"
    profile.export_chrome_trace(str(first))
    with profile:
        pass
    profile.export_chrome_trace(str(second))
    assert load(first)["note"] == 'said "so"\\'
    assert load(first)["numbers"] == [1, 2.5]
    assert load(first)["torch_version"] == torch.__version__
    assert "later" not in load(first)
    assert load(second)["later"] == {"is": True}


def test_metadata_that_is_no_text_is_refused_where_it_is_given():
    profile = redline.profile()
    for add in (profile.add_metadata_json, profile.preset_metadata_json):
        with pytest.raises(TypeError, match=r"JSON text, not \{'lr': 0.1\}: give json.dumps"):
            add("config", {"lr": 0.1})
    with pytest.raises(TypeError, match="needs text, not 5"):
        profile.write_ring(5)


def test_metadata_that_is_no_json_is_refused():
    with redline.profile() as profile, pytest.raises(redline.RecorderError, match="JSON"):
        profile.add_metadata_json("broken", "{")


HOSTILE_NAMES = [
    'quote " and \\ backslash',
    "".join(map(chr, range(1, 32))) + "\x7f",
    "line\r\nend\u2028\u2029",
    "Zürich 東京 🚀",
    "x" * 65536,
    "",
    "</script><!--",
    "%s %n {} $(true) `true`",
    '"], "traceEvents": [',
]


def test_any_name_gives_valid_json_and_comes_back(tmp_path):
    def work():
        for name in HOSTILE_NAMES:
            with redline.record_function(name):
                pass

    recorded = names(record(tmp_path, work), "user_annotation")
    assert set(HOSTILE_NAMES) <= set(recorded)


@pytest.mark.parametrize(
    "argument",
    [{"post_processing_timeout_s": 3.0},
     {"experimental_config": _ExperimentalConfig(adjust_profiler_step=True)}],
    ids=lambda argument: next(iter(argument)),
)
def test_arguments_that_are_not_served_are_said(argument):
    with pytest.warns(UserWarning, match=f"does not support {next(iter(argument))}="):
        redline.profile(**argument)


def test_defaults_of_arguments_that_are_not_served_are_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        redline.profile(with_stack=False, experimental_config=None)
        redline.profile(experimental_config=_ExperimentalConfig(verbose=True, profile_all_threads=True))


def test_what_is_not_served_is_said_to_have_no_effect():
    with pytest.warns(UserWarning) as said:
        redline.profile(post_processing_timeout_s=3.0)
    assert str(said[0].message) == (
        "redline.profile does not support post_processing_timeout_s=3.0 in this version: it has no effect"
    )


def test_use_cuda_adds_gpus_or_leaves_them_out():
    cpu, cuda = redline.ProfilerActivity.CPU, redline.ProfilerActivity.CUDA
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert redline.profile(use_cuda=True).activities == {cpu, cuda}
        assert redline.profile(use_cuda=False).activities == {cpu}
        assert redline.profile(activities=[cpu], use_cuda=True).activities == {cpu, cuda}
        assert redline.profile(activities=[cpu]).activities == {cpu}


def test_no_activities_are_all_of_them_as_with_torch():
    assert redline.profile(activities=[]).activities == redline.profile().activities


def test_a_choice_within_an_activity_is_warned_of_and_an_empty_one_leaves_it_out():
    """torch 2.15 takes a dict from an activity to the wanted types of its events."""
    cpu, cuda = redline.ProfilerActivity.CPU, redline.ProfilerActivity.CUDA
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert chosen_activities([cpu, {cuda: []}]) == {cpu}
    with pytest.warns(UserWarning, match="among the events of activity CUDA"):
        assert chosen_activities([{cpu: None, cuda: ["GPU_MEMCPY"]}]) == {cpu, cuda}
    with pytest.raises(ValueError, match="must hold ProfilerActivity.CPU or"):
        chosen_activities([{cpu: []}])


def test_arguments_of_exports_that_are_not_served_are_said(tmp_path):
    with redline.profile() as profile:
        torch.ones(2)
    profile.export_chrome_trace(str(tmp_path / "plain.json"), use_python_export=True, graph_lanes="none")
    profile.wait_for_exports()
    with pytest.warns(UserWarning, match="does not support graph_lanes='all'") as said:
        profile.export_chrome_trace(str(tmp_path / "lanes.json"), graph_lanes="all")
    assert said[0].filename == __file__
    assert load(tmp_path / "lanes.json")["traceEvents"]
    with pytest.raises(TypeError, match="export_chrome_trace.*lanes"):
        profile.export_chrome_trace(str(tmp_path / "lanes.json"), lanes="all")


@pytest.mark.parametrize(("option", "value", "allowed"), [
    ("max_bytes", "64MB", "a whole number, not \"64MB\""),
    ("max_bytes", 1000, "at least 1MB, not 1000"),
    ("memory_budget_bytes", 5e6 + 0.5, "a whole number, not 5000000.5"),
    ("host_samples_hz", 1e9, "from 0 to 100, not 1000000000.0"),
    ("host_samples_hz", float("nan"), "a whole number, not \"nan\""),
    ("host_samples_hz", {3}, "a whole number, not \"[{]3}\""),
    ("ring_seconds", -1, "from 0 to a day, not -1"),
    ("ring_seconds", "30s", "a number, not \"30s\""),
    ("slow_step", 0.5, "above 1, or 0, not 0.5"),
])
def test_an_option_of_no_use_is_refused_before_the_first_step(option, value, allowed):
    with pytest.raises(redline.RecorderError, match=f"option {option}: must be {allowed}"):
        redline.profile(**{option: value})


def test_whole_numbers_of_an_option_may_be_of_any_type(tmp_path):
    numbers = {"max_bytes": 500e6, "memory_budget_bytes": numpy.int64(64_000_000), "host_samples_hz": torch.tensor(3)}
    trace = record(tmp_path, lambda: torch.ones(2) + 1, **numbers)
    assert "aten::add" in names(trace, "cpu_op")


def test_what_cannot_be_recorded_is_refused():
    with pytest.raises(ValueError, match="must hold ProfilerActivity.CPU or"):
        redline.profile(activities=[redline.ProfilerActivity.XPU])
    with pytest.raises(TypeError, match="with_stak"):
        redline.profile(with_stak=True)
    with pytest.raises(redline.RecorderError, match="redline report"):
        redline.profile().export_memory_timeline("timeline.html")
    with pytest.raises(redline.RecorderError, match="with_stack=True"):
        redline.profile().export_stacks("stacks.txt")


def test_a_step_outside_the_running_profile_warns_once(tmp_path):
    """Tutorials call step() behind the block, where torch.profiler has finished, too."""
    with redline.profile(schedule=redline.schedule(wait=0, warmup=0, active=1)) as profile:
        torch.ones(2) + 1
    with pytest.warns(UserWarning, match="within the `with` block") as warned:
        profile.step()
        profile.step()
    assert len(warned) == 1
    profile.export_chrome_trace(str(tmp_path / "trace.json"))
    assert "aten::add" in names(load(tmp_path / "trace.json"), "cpu_op")


def test_one_line_swaps_torch_profiler_where_scripts_use_qualified_names(tmp_path, monkeypatch):
    import redline.profiler

    monkeypatch.setattr(torch, "profiler", redline.profiler)
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        schedule=torch.profiler.schedule(wait=0, warmup=1, active=2),
        on_trace_ready=torch.profiler.tensorboard_trace_handler(str(tmp_path)),
    ) as profile:
        for _ in range(3):
            with torch.profiler.record_function("mine"):
                torch.ones(2) + 1
            profile.step()
    assert isinstance(profile, redline.profile)
    (path,) = tmp_path.glob("*.json*")
    assert names(load(path), "user_annotation")["mine"] == 2
    assert torch.profiler.itt is sys.modules["torch.profiler"].itt


def test_a_script_may_stop_again_when_its_schedule_is_over():
    for profiler in (torch.profiler, redline):
        with profiler.profile(schedule=profiler.schedule(wait=0, warmup=1, active=1, repeat=1)) as profile:
            for _ in range(3):
                torch.ones(2) + 1
                profile.step()
            profile.stop()
        assert profile.key_averages()


def test_misuse_is_an_error_and_harms_nothing(tmp_path):
    profile, other = redline.profile(), redline.profile()
    with pytest.raises(redline.RecorderError, match="not running"):
        profile.stop()
    with profile:
        with pytest.raises(redline.RecorderError, match="already running"):
            profile.start()
        with pytest.raises(redline.RecorderError, match="already running"):
            other.start()
        with pytest.raises(redline.RecorderError):
            profile.export_chrome_trace(str(tmp_path / "early.json"))
        torch.ones(2) + 1
    with pytest.raises(redline.RecorderError, match="no path"):
        profile.export_chrome_trace("")
    with pytest.raises(redline.RecorderError):
        profile.export_chrome_trace(str(tmp_path / "no/such/folder/trace.json"))
    with pytest.raises(redline.RecorderError, match=r"cannot create .*trace.json.gz.*: No such file or directory"):
        profile.export_chrome_trace(str(tmp_path / "no/such/folder/trace.json.gz"))
    profile.export_chrome_trace(str(tmp_path / "trace.json"))
    assert "aten::add" in names(load(tmp_path / "trace.json"), "cpu_op")


def test_a_profile_that_was_dropped_while_it_ran_is_out_of_the_way():
    """This happens in a notebook if a cell fails between start() and stop() and is run again."""
    idle = redline.schedule(wait=9, warmup=1, active=1)
    for options in ({"with_stack": True}, {"schedule": idle}):
        profile = redline.profile(**options)
        profile.start()
        torch.ones(2) + 1
        del profile
    with redline.profile() as profile:
        torch.ones(2) * 2
    recorded = {event.name for event in profile.events()}
    assert "aten::mul" in recorded and "aten::add" not in recorded


def test_nothing_observes_operators_once_the_window_has_ended(tmp_path):
    libtorch = ctypes.CDLL(str(pathlib.Path(torch.__file__).parent / "lib/libtorch_cpu.so"))
    is_observed = libtorch._ZN2at18hasGlobalCallbacksEv  # at::hasGlobalCallbacks()
    is_observed.restype = ctypes.c_bool
    observed = [is_observed()]
    for _ in range(2):
        with redline.profile(record_shapes=True, profile_memory=True):
            torch.ones(2) + 1
            observed.append(is_observed())
        observed.append(is_observed())
    assert observed == [False, True, False, True, False]


def test_a_handler_finds_the_attributes_of_torchs_profile():
    for given in ({}, {"activities": [torch.profiler.ProfilerActivity.CPU]}, {"with_stack": True, "profile_memory": True},
                  {"record_shapes": True, "with_flops": True, "with_modules": True}):
        ours, theirs = redline.profile(**given), torch.profiler.profile(**given)
        for name in ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules", "use_device"):
            assert getattr(ours, name) == getattr(theirs, name), name
        assert theirs.activities & ours.activities == theirs.activities


def test_torch_profiler_may_run_at_the_same_time(tmp_path):
    def theirs():
        return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])

    def additions(recorded):
        recorded.export_chrome_trace(str(tmp_path / "trace.json"))
        return names(load(tmp_path / "trace.json"), "cpu_op")["aten::add"]

    with theirs() as around, redline.profile() as ours:
        torch.ones(2) + 1
    assert (additions(around), additions(ours)) == (1, 1)
    with redline.profile() as ours:
        with theirs() as within:
            torch.ones(2) + 1
        torch.ones(2) + 1
    assert (additions(within), additions(ours)) == (1, 2)


@torch.jit.script
def sinh(values):
    return torch.sinh(values)


@torch.jit.script
def sinh_on_another_thread(values: torch.Tensor):
    return torch.jit.wait(torch.jit.fork(sinh, values))


def test_torch_profiler_still_sees_work_that_it_hands_to_other_threads(tmp_path):
    """LibTorch sets a thread's observers anew for each such work, which we spare it where nothing changes."""
    with redline.profile() as ours:
        sinh_on_another_thread(torch.ones(2))
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as theirs:
            for _ in range(5):
                sinh_on_another_thread(torch.ones(2))
        sinh_on_another_thread(torch.ones(2))
    counts = []
    for recorded in (theirs, ours):
        recorded.export_chrome_trace(str(tmp_path / "trace.json"))
        counts.append(names(load(tmp_path / "trace.json"), "cpu_op")["aten::sinh"])
    assert counts == [5, 7]


def test_an_exception_in_the_block_passes_and_leaves_the_trace(tmp_path):
    profile = redline.profile()
    with pytest.raises(KeyError), profile:
        torch.ones(2) + 1
        raise KeyError("the user's own")
    profile.export_chrome_trace(str(tmp_path / "trace.json"))
    assert "aten::add" in names(load(tmp_path / "trace.json"), "cpu_op")


def test_many_windows_leak_no_descriptor(no_garbage_collection):
    def open_files():
        redline._library.recorder().stats()  # this call waits for the writer thread, which opens its own file
        return len(os.listdir("/proc/self/fd"))

    def window():
        with redline.profile():
            torch.ones(2) + 1

    window()
    before = open_files()
    for _ in range(200):
        window()
    assert open_files() == before


def test_shapes_are_recorded_where_asked(tmp_path):
    def work():
        torch.ones(2, 3) @ torch.ones(3, 4)

    (shaped,) = [op for op in slices(record(tmp_path, work, record_shapes=True), "cpu_op")
                 if op["name"] == "aten::mm"]
    assert shaped["args"]["Input Dims"] == [[2, 3], [3, 4]]
    (plain,) = [op for op in slices(record(tmp_path, work), "cpu_op") if op["name"] == "aten::mm"]
    assert "Input Dims" not in plain["args"]


def test_what_compiled_code_calls_is_recorded_as_torch_profiler_does(tmp_path):
    named = {"kernel_file": 'a"b.py', "num_warps": 4, "scale": 0.5, "grid": [1, 2], "bound": float("nan")}
    fast = torch._C._profiler._RecordFunctionFast

    def work():
        assert torch.autograd.profiler._is_profiler_enabled  # otherwise compiled code does not call
        for warps in (4, 4, 8):
            inputs = (torch.ones(2, 3), 7, True, 0.25, None)
            with torch._C._profiler._RecordFunctionFast("triton_fused", inputs, {**named, "num_warps": warps}):
                torch.ones(1)
        with torch._C._profiler._RecordFunctionFast("## Call CompiledFxGraph f ##", keyword_values={"scope": "user_scope"}):
            pass
        with torch._C._profiler._RecordFunctionFast(None):  # not described, and no harm done
            pass

    trace = record(tmp_path, work, record_shapes=True)
    calls = [event for event in slices(trace, "cpu_op") if event["name"] == "triton_fused"]
    assert [call["args"]["num_warps"] for call in calls] == [4, 4, 8]
    arguments = calls[0]["args"]
    assert {name: arguments.get(name) for name in named} == {**named, "grid": None, "bound": None}  # no lists, as Kineto
    assert arguments["Input Dims"] == [[2, 3], [], [], [], []]
    assert arguments["Input type"] == ["float", "Scalar", "Scalar", "Scalar", ""]
    assert arguments["Concrete Inputs"] == ["", "7", "True", "0.25", ""]
    (within, *_) = [event for event in slices(trace, "cpu_op") if event["name"] == "aten::ones" and
                    event["ts"] > calls[0]["ts"]]
    assert within["ts"] + within["dur"] <= calls[0]["ts"] + calls[0]["dur"]
    assert "## Call CompiledFxGraph f ##" in names(trace, "user_annotation")
    assert torch._C._profiler._RecordFunctionFast is fast and not torch.autograd.profiler._is_profiler_enabled
    (plain, *_) = [event for event in slices(record(tmp_path, work), "cpu_op") if event["name"] == "triton_fused"]
    assert "num_warps" not in plain["args"]


def test_compiled_code_is_recorded_for_a_torch_profiler_that_runs_beside_a_window(tmp_path):
    ours = redline.profile()
    ours.start()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as theirs:
        with torch._C._profiler._RecordFunctionFast("triton_fused"):
            pass
        ours.stop()
        assert torch.autograd.profiler._is_profiler_enabled
    assert not torch.autograd.profiler._is_profiler_enabled
    ours.export_chrome_trace(str(tmp_path / "ours.json"))
    assert names(load(tmp_path / "ours.json"), "cpu_op")["triton_fused"] == 1
    assert [event.count for event in theirs.key_averages() if event.key == "triton_fused"] == [1]


class SmallNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
            torch.nn.Flatten(), torch.nn.Linear(8 * 64, 5),
        )

    def forward(self, images):
        with torch.profiler.record_function("the network"):
            return self.layers(images)


def test_operators_of_a_step_equal_torch_profilers(tmp_path):
    """Compares names and counts by category. No difference is allowed in this step."""
    model = SmallNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.rand(8, 3, 8, 8), torch.arange(8) % 5), batch_size=4
    )

    def step():
        for images, labels in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()

    step()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as theirs:
        step()
    theirs.export_chrome_trace(str(tmp_path / "theirs.json"))
    ours = record(tmp_path, step)
    for category in ("cpu_op", "user_annotation"):
        assert names(ours, category) == names(load(tmp_path / "theirs.json"), category)


RECORDS_ITSELF = """
import redline, torch
with redline.profile(on_trace_ready=redline.tensorboard_trace_handler("own")) as profile:
    for _ in range(2):
        torch.ones(4) @ torch.ones(4)
        profile.step()
"""


def run_beside(tmp_path, program, **variables):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), **variables}
    subprocess.run([sys.executable, "-c", program], env=environment, cwd=tmp_path, check=True)


def test_of_two_runs_of_a_program_that_records_itself_the_latest_is_read(tmp_path):
    """They are no ranks of each other."""
    for _ in range(2):
        run_beside(tmp_path, RECORDS_ITSELF)
    command = [need(BUILD / "bin/redline", CURE), "report", "own"]
    report = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "1 rank" in report.stdout
    assert "own: the latest recording; 1 trace of earlier ones left out" in report.stderr


def test_a_rank_without_a_process_group_has_its_launchers_number(tmp_path):
    for rank in range(2):
        run_beside(tmp_path, RECORDS_ITSELF, RANK=str(rank), WORLD_SIZE="2")
    recorded = [load(path) for path in (tmp_path / "own").iterdir()]
    found = sorted(trace["distributedInfo"]["rank"] for trace in recorded)
    assert found == [0, 1]
    assert all(trace["distributedInfo"]["world_size"] == 2 for trace in recorded)
    assert all("recording" not in trace["run"] for trace in recorded)


@pytest.mark.parametrize("cycle", [{"wait": 1, "warmup": 1, "active": 2, "repeat": 0}, None])
def test_averages_are_empty_where_no_window_is_complete_as_torchs_are(cycle):
    def counts(module):
        schedule = cycle and module.schedule(**cycle)
        with module.profile(schedule=schedule, activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            for _ in range(9):
                torch.ones(4) @ torch.ones(4)
                if cycle:
                    profile.step()
                yield sum(event.count for event in profile.key_averages() if event.key == "aten::dot")

    if cycle is None:
        with pytest.warns(UserWarning, match="no window of this profile is complete yet"):
            assert list(counts(redline)) == [0] * 9
    else:
        assert list(counts(redline)) == list(counts(torch.profiler)) == [0, 0, 0, 2, 0, 0, 0, 2, 0]

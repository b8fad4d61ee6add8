"""with_stack records Python calls as torch.profiler does, and the job keeps its own hooks."""

import functools
import gc
import os
import re
import sys
import threading
import warnings
import weakref

import pytest
import torch
from recording import import_redline, load, slices, traces
from torch.profiler import ProfilerActivity

redline = import_redline()
CPU = [ProfilerActivity.CPU]


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 2)

    def forward(self, inputs):
        return self.second(self.first(inputs).relu())


def numbers():
    for number in range(3):
        yield number


def fails(depth):
    if depth == 0:
        raise ValueError("deep inside")
    fails(depth - 1)


def factorial(number):
    return 1 if number < 2 else number * factorial(number - 1)


def closes_a_generator():
    generator = numbers()
    next(generator)
    generator.close()
    with pytest.raises(ValueError):
        numbers().throw(ValueError)


def work(model):
    for number in numbers():
        model(torch.ones(2, 4) * number).sum().backward()
    try:
        fails(3)
    except ValueError:
        pass
    try:
        len(5)
    except TypeError:
        pass
    closes_a_generator()
    return sorted([factorial(5), 2, 1], key=lambda number: -number)


def record(tmp_path, body, profile=redline.profile, **arguments):
    """The trace of a second run of `body()`, in which nothing is imported or cached any more."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of cycles
        for _ in range(2):
            with profile(activities=CPU, with_stack=True, **arguments) as recorder:
                body()
    path = tmp_path / "trace.json"
    recorder.export_chrome_trace(str(path))
    return load(path)


def frames(trace):
    """The Python calls by their "Python id", in order of their begin."""
    return {
        event["args"]["Python id"]: event
        for event in sorted(slices(trace, "python_function"), key=lambda event: event["args"]["Python id"])
    }


def below(trace, function):
    """Depth, name and module id of `function` and of the calls that it made."""
    found, depths = [], {}
    for number, event in frames(trace).items():
        name = re.sub(r" at 0x\w+", "", event["name"])
        parent = event["args"].get("Python parent id")
        if name.endswith(f": {function}"):
            depths[number] = 0
        elif parent in depths:
            depths[number] = depths[parent] + 1
        else:
            continue
        found.append((depths[number], name, event["args"].get("Python module id")))
    return found


def test_calls_equal_torchs(tmp_path, no_garbage_collection):
    """Names, nesting, order and module numbers; only the addresses of objects may differ."""
    model = Net()
    ours = below(record(tmp_path, lambda: work(model)), "work")
    theirs = below(record(tmp_path, lambda: work(model), torch.profiler.profile), "work")
    assert ours == theirs
    assert (1, "nn.Module: Net_0", 0) in ours
    assert len(ours) > 200


def test_calls_nest_in_time_and_hold_their_operators(tmp_path):
    model = Net()
    trace = record(tmp_path, lambda: work(model))
    assert trace["with_stack"] == 1
    known = frames(trace)

    def holds(outer, inner):
        return outer["ts"] <= inner["ts"] and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + 0.002

    for event in known.values():
        parent = event["args"].get("Python parent id")
        assert parent is None or holds(known[parent], event)
    linears = [event for event in known.values() if event["name"] == "<built-in function linear>"]
    operators = [event for event in slices(trace, "cpu_op") if event["name"] == "aten::linear"]
    assert len(linears) == len(operators) == 6
    assert all(holds(call, operator) for call, operator in zip(linears, operators))


def test_modules_are_named_though_somebody_wraps_their_calls(tmp_path, monkeypatch):
    """The knobs of `redline run` wrap them."""
    call = torch.nn.Module.__call__

    @functools.wraps(call)
    def wrapped(module, *arguments, **named):
        return call(module, *arguments, **named)

    monkeypatch.setattr(torch.nn.Module, "__call__", wrapped)
    trace = record(tmp_path, lambda: torch.nn.Linear(2, 2)(torch.ones(1, 2)))
    assert "nn.Module: Linear_0" in {frame["name"] for frame in slices(trace, "python_function")}


def test_frames_that_are_open_all_along_are_written(tmp_path):
    names = [event["name"] for event in slices(record(tmp_path, gc.collect), "python_function")]
    assert any(name.endswith(": test_frames_that_are_open_all_along_are_written") for name in names)
    assert any(name.endswith(": _stop") for name in names)  # our own function, which is open when recording ends


def test_every_thread_has_its_calls(tmp_path):
    arrived, go, done = threading.Barrier(2), threading.Event(), []

    def waits():
        arrived.wait()
        go.wait()
        done.append(threading.get_native_id())

    def starts_later():
        done.append(threading.get_native_id())

    def body():
        later = threading.Thread(target=starts_later)
        later.start()
        later.join()

    before = threading.Thread(target=waits)
    before.start()
    arrived.wait()
    with redline.profile(activities=CPU, with_stack=True) as profile:
        body()
        go.set()
        before.join()
    profile.export_chrome_trace(str(tmp_path / "trace.json"))
    threads = {
        event["name"].rpartition(": ")[2]: event["tid"]
        for event in slices(load(tmp_path / "trace.json"), "python_function")
    }
    assert [threads["starts_later"], threads["waits"]] == done
    assert threads["body"] == threading.get_native_id()


def test_a_thread_that_outlives_the_window_ends_with_it(tmp_path):
    arrived, go = threading.Barrier(2), threading.Event()

    def stays():
        arrived.wait()
        go.wait()

    thread = threading.Thread(target=stays, name="stays")
    thread.start()
    arrived.wait()
    trace = record(tmp_path, gc.collect)
    go.set()
    thread.join()
    (call,) = [event for event in frames(trace).values() if event["name"].endswith(": stays")]
    assert call["tid"] == thread.native_id
    rows = [event for event in trace["traceEvents"] if event["name"] == "thread_name"]
    assert thread.native_id in [row["tid"] for row in rows]


def test_the_users_own_profile_functions_are_served_and_restored(tmp_path):
    seen, seen_in_threads = [], []

    def own(frame, event, argument):
        seen.append((event, frame.f_code.co_name))

    def own_in_threads(frame, event, argument):
        seen_in_threads.append(frame.f_code.co_name)

    def body():
        thread = threading.Thread(target=factorial, args=(2,))
        thread.start()
        thread.join()
        factorial(3)

    sys.setprofile(own)
    threading.setprofile(own_in_threads)
    try:
        with redline.profile(activities=CPU, with_stack=True) as profile:
            body()
        assert sys.getprofile() is own
        assert threading.getprofile() is own_in_threads
        closes_a_generator()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert seen.count(("call", "factorial")) == seen.count(("return", "factorial")) == 3
    assert ("call", "closes_a_generator") in seen
    # The second hook does not see the call in which the thread's hooks are set.
    assert seen_in_threads.count("factorial") == 4
    profile.export_chrome_trace(str(tmp_path / "trace.json"))
    assert sum(name.endswith(": factorial") for _, name, _ in below(load(tmp_path / "trace.json"), "body")) == 3


def test_a_profile_function_that_the_job_sets_meanwhile_stays_and_is_told_of(tmp_path):
    def own(frame, event, argument):
        pass

    with redline.profile(activities=CPU, with_stack=True) as profile:
        factorial(2)
        sys.setprofile(own)
        factorial(2)
    assert sys.getprofile() is own
    sys.setprofile(None)
    profile.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = load(tmp_path / "trace.json")
    assert trace["redline"]["threads_without_python_frames"] == 1
    assert sum(event["name"].endswith(": factorial") for event in frames(trace).values()) == 2


def test_the_tracing_of_a_debugger_or_of_coverage_is_left_alone():
    lines = []

    def trace_lines(frame, event, argument):
        lines.append(event)
        return trace_lines

    before = sys.gettrace()
    sys.settrace(trace_lines)
    try:
        with redline.profile(activities=CPU, with_stack=True):
            factorial(2)
            assert sys.gettrace() is trace_lines
    finally:
        sys.settrace(before)
    assert "line" in lines


def test_a_module_that_dies_is_not_kept_alive_and_its_name_not_given_again(tmp_path):
    living = []

    def body():
        for _ in range(2):
            model = Net()
            model(torch.ones(2, 4))
            living.append(weakref.ref(model))
            del model
            assert living[-1]() is None

    calls = below(record(tmp_path, body), "body")
    nets = {name for _, name, _ in calls if "Net_" in name}
    assert nets == {"nn.Module: Net_0", "nn.Module: Net_1"}


def test_a_forked_child_is_left_alone():
    with redline.profile(activities=CPU, with_stack=True):
        child = os.fork()
        if child == 0:
            os._exit(sys.getprofile() is not None or threading.getprofile() is not None)
        assert os.waitpid(child, 0)[1] == 0
        assert sys.getprofile() is not None


def resident_kib():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024


def test_a_thousand_windows_leave_nothing_behind():
    def cycle():
        with redline.profile(activities=CPU, with_stack=True):
            factorial(5)

    def growth_kib(cycles):
        resident = resident_kib()
        for _ in range(cycles):
            cycle()
        return resident_kib() - resident

    growth_kib(100)
    references = sys.getrefcount(factorial.__code__)
    # The allocator takes a megabyte now and gives it back then. What is left behind grows in each round.
    assert any(growth_kib(1000) < 256 for _ in range(5))
    more_references = sys.getrefcount(factorial.__code__) - references
    assert more_references == 0
    assert sys.getprofile() is None


class Inner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, inputs):
        return self.linear(inputs).relu()


class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, inputs):
        return self.inner(inputs).sum()


def test_stacks_and_modules_of_torchscript_equal_torchs(tmp_path):
    model = torch.jit.script(Outer())

    def described(profile):
        for _ in range(3):  # TorchScript optimizes in the first run
            model(torch.ones(2, 4))
        trace = record(tmp_path, lambda: model(torch.ones(2, 4)), profile, with_modules=True)
        assert trace["with_modules"] == 1
        keys = ("Call stack", "Module Hierarchy")
        operators = sorted(slices(trace, "cpu_op"), key=lambda event: event["ts"])
        return [(event["name"], *map(event["args"].get, keys)) for event in operators]

    ours = described(redline.profile)
    assert ours == described(torch.profiler.profile)
    (linear,) = [operator for operator in ours if operator[0] == "aten::linear"]
    assert linear[2] == "TOP()::<forward op>.inner(Inner)::forward.linear(Linear)::forward."


def test_redline_record_writes_the_calls(tmp_path, succeed, program, python, repo_root):
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\n"
        "model = torch.nn.Linear(4, 2)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "def train_step():\n"
        "    model(torch.ones(2, 4)).sum().backward()\n"
        "    optimizer.step()\n"
        "for _ in range(6):\n"
        "    train_step()\n"
    )
    succeed([program("redline"), "record", "--stacks", "-o", tmp_path / "traces", "--", python, script])
    (trace,) = traces(tmp_path / "traces")
    calls = [event["name"] for event in slices(trace, "python_function")]
    assert calls.count("train.py(4): train_step") == 3
    assert "nn.Module: Linear_0" in calls

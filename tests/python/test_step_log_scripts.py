"""What a script may do under the step log's hooks, and that it notices none of them."""

import pathlib
import shutil
import subprocess

import pytest

HOOKED_CALLS = """
import inspect, pickle, sys, torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU(), nn.Linear(2, 2)))

    def forward(self, inputs):
        return nn.Module.__call__(self.layers, inputs)

hook, seen = nn.Module.__call__.__code__, []

def see(frame, event, argument):
    if event == "call" and frame.f_code is hook:
        seen.append(type(frame.f_locals["arguments"][0]).__name__)

model, inputs = Model(), torch.ones(1, 2)
sys.setprofile(see)
outputs = model(inputs)
sys.setprofile(None)
assert torch.equal(pickle.loads(pickle.dumps(model))(inputs), outputs)
print(seen, nn.Module.__call__.__name__, inspect.signature(nn.Module.__call__))
compiled = torch.compile(model, backend="eager", fullgraph=True)  # it traces through the hook
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(3):
    compiled(inputs).sum().backward()
    optimizer.step()
"""


def test_calls_within_a_model_pass_the_hook_by(log_of):
    done, log = log_of("-c", HOOKED_CALLS)
    # Only the call that the script itself makes is one that the interpreter hands to the Python that stands in.
    assert done.stdout == "['Sequential'] _wrapped_call_impl (self, *args, **kwargs)\n"
    assert len(log.steps) == 3
    assert all(step["forward"] > 0 for step in log.steps)


def test_a_distributed_checkpoint_is_one_checkpoint(log_of, tmp_path):
    script = """
import sys, torch, torch.distributed.checkpoint as dcp
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(2):
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    dcp.save(model.state_dict(), checkpoint_id=f"{sys.argv[1]}/step{step}")
"""
    _, log = log_of("-c", script, tmp_path)
    assert [text for kind, text in log.marks if kind == "checkpoint"] == [f"{tmp_path}/step0", f"{tmp_path}/step1"]
    assert log.steps[1]["checkpoint"] > 0


def test_safetensors_are_checkpoints_whoever_imports_them(log_of, tmp_path):
    (tmp_path / "safetensors").mkdir()  # in place of the library, whose own file formats do not matter here
    (tmp_path / "safetensors" / "__init__.py").touch()
    (tmp_path / "safetensors" / "torch.py").write_text("def save_file(tensors, filename): return filename\n")
    script = """
import torch
from safetensors.torch import save_file
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
model(torch.ones(1, 2)).sum().backward()
optimizer.step()
print(save_file(model.state_dict(), "model.safetensors"), save_file.__module__)
"""
    done, log = log_of("-c", script, environment={"PYTHONPATH": str(tmp_path)})
    assert done.stdout == "model.safetensors safetensors.torch\n"
    assert ("checkpoint", "model.safetensors") in log.marks


ODD_OBJECTS = """
import torch
from torch import nn
from torch.utils.data import DataLoader

class Odd(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, inputs, raised=None):
        if raised is not None:
            raise raised
        return self.layer(inputs)

    @property
    def training(self):  # nobody but Redline asks this model
        raise RuntimeError("no mode")

    @training.setter
    def training(self, mode):
        pass

class Uncounted(list):
    def __len__(self):
        raise RuntimeError("no length")

def batches():
    yield from ([Uncounted([0]), Uncounted([1])])

class Optimizer(torch.optim.SGD):
    def step(self, closure=None, *, raised=None):
        if raised is not None:
            raise raised
        return super().step(closure)

def outcome(action):
    try:
        return action()
    except BaseException as error:
        return error

model = Odd()
optimizer = Optimizer(model.parameters(), 0.1)
wrong = KeyError("mine")
for batch in DataLoader(torch.ones(2, 2), batch_sampler=list(batches())):
    model(batch).sum().backward()
    assert optimizer.step() is None
assert outcome(lambda: model(batch, raised=wrong)) is wrong
assert outcome(lambda: optimizer.step(raised=wrong)) is wrong
stop = KeyboardInterrupt()
assert outcome(lambda: model(batch, raised=stop)) is stop
assert "does not require grad" in str(outcome(lambda: torch.autograd.backward(torch.ones(1))))
assert isinstance(outcome(lambda: next(iter(DataLoader([])))), StopIteration)
assert isinstance(outcome(nn.Module.__call__), TypeError) and isinstance(outcome(torch.autograd.backward), TypeError)
for _ in range(2):
    torch.autograd.backward(model(torch.ones(1, 2)).sum())
    optimizer.step()
print("as ever")
"""


def test_odd_objects_and_errors_of_the_script_are_as_without_a_log(log_of):
    done, log = log_of("-c", ODD_OBJECTS)
    assert done.stdout == "as ever\n"
    assert len(log.steps) == 4
    assert all(step["optimizer"] > 0 and step["backward"] > 0 for step in log.steps)


END_WITH_A_FULL_GPU = """
import os, sys, torch
from torch.utils.data import DataLoader
held = 1 << 30
torch.cuda.is_initialized = lambda: True
torch.cuda.device_count = lambda: 2
torch.cuda.memory_stats_as_nested_dict = lambda device: {"reserved_bytes": {"all": {"current": held}}}
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for batch in DataLoader(torch.ones(8, 2), batch_size=2):
    model(batch).sum().backward()
    optimizer.step()
held = 8 << 30  # a last evaluation
exec(sys.argv[1])
"""


@pytest.mark.parametrize(("end", "status", "gib"), [
    ("pass", 0, 8), ("sys.exit(3)", 3, 8), ("os._exit(0)", 0, 8),
    # It may be a watchdog's, whose job hangs with the allocator's lock.
    ("os._exit(1)", 1, 1),
    ("torch.cuda.is_initialized = lambda: False", 0, 1), ("torch.cuda.memory_stats_as_nested_dict = None", 0, 1)])
def test_the_gpus_memory_is_read_at_the_end_too(log_of, end, status, gib):
    """As a stub tells it. CUDA may be gone by then."""
    done, log = log_of("-c", END_WITH_A_FULL_GPU, end, check=False)
    assert done.returncode == status
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr
    assert log.ended and log.status == status
    assert log.memory[-1][1] == 2 * gib << 30


# As that of ddtrace does.
RUNS_THE_NEXT_SITECUSTOMIZE = """
import os, sys
folder = os.path.dirname(__file__)
place = sys.path.index(folder)
del sys.path[place]
del sys.modules["sitecustomize"]
import sitecustomize
sys.path.insert(place, folder)
"""


def test_another_sitecustomize_may_run_the_hook_again(log_of, tmp_path):
    folders = [tmp_path / "tracer", tmp_path / "users"]
    counts = "import sys; sys.users = getattr(sys, 'users', 0) + 1"
    for folder, text in zip(folders, [RUNS_THE_NEXT_SITECUSTOMIZE, counts]):
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(text)
    script = """
import sys, torch
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(2):
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
print(sys.users)
"""
    done, log = log_of("-c", script, environment={"PYTHONPATH": ":".join(map(str, folders))})
    assert done.stdout == "1\n"
    assert len(log.steps) == 2


def old_pythons():
    """Pythons that are older than any Redline knows: those in PATH, and pyenv's, whose names in PATH lead nowhere."""
    for version in ("2.7", "3.6", "3.7"):
        ask = f"import sys; sys.exit(sys.version[:3] != '{version}')"
        for place in (f"python{version}", *pathlib.Path.home().glob(f".pyenv/versions/{version}.*/bin/python")):
            if shutil.which(place) and subprocess.run([place, "-c", ask], capture_output=True).returncode == 0:
                yield place
                break


if OLD_PYTHONS := list(old_pythons()):  # where there are none, the test below stands for them

    @pytest.mark.parametrize("old", OLD_PYTHONS)
    @pytest.mark.parametrize("has_next", [True, False])
    def test_a_helper_in_an_old_python_notices_nothing(run, program, tmp_path, old, has_next):
        if has_next:
            (tmp_path / "sitecustomize.py").write_text("print('next')\n")
        environment = {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1", "REDLINE_TRIAL": "none"}
        helper = [old, "-c", "import sys; print(len(sys.meta_path)); sys.exit('its end')"]
        alone = run(helper, environment=environment)
        logged = run([program("redline"), "run", "--log", tmp_path / "logs", "--", *helper], environment=environment)
        assert logged.stdout == alone.stdout and alone.stdout.startswith("next") == has_next
        assert logged.stderr.startswith("its end\nredline: no step log: ") and logged.stderr.count("\n") == 2


def test_the_hook_does_nothing_in_a_python_that_it_does_not_know(run, python, repo_root, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("print('next')\n")
    hook = str(repo_root / "python/redline/startup/sitecustomize.py")
    script = f"""
import runpy, sys
before = list(sys.meta_path)
sys.version_info = (3, 7, 16)
runpy.run_path({hook!r})
print(sys.meta_path == before)
"""
    done = run([python, "-c", script], environment={"PYTHONPATH": str(tmp_path), "REDLINE_LOG": str(tmp_path)})
    assert (done.stdout, done.stderr) == ("next\nnext\nTrue\n", "")


COMPUTES_WHILE_IT_LOOKS = """
import atexit, threading, time
atexit.register(lambda: print("redline-hang" in [thread.name for thread in threading.enumerate()]))
import torch
from redline import _hang_table

def compute(watch, *_):
    end = float("inf")
    while time.monotonic() < end:
        torch.ones(100).sum()
        end = min(end, time.monotonic() + 0.5) if watch._is_over else end

_hang_table.HangWatch._write = compute
model = torch.nn.Linear(4, 2)
for _ in range(9):
    model(torch.ones(3, 4)).sum().backward()
"""


def test_python_does_not_end_while_a_thread_of_ours_calls_torch(log_of):
    """Torch would end the process by SIGABRT."""
    done, log = log_of("-c", COMPUTES_WHILE_IT_LOOKS)
    assert done.stdout == "False\n"
    assert len(log.steps) == 9


PINNED = """
import torch
from torch.utils.data import DataLoader
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for batch in DataLoader(torch.ones(8, 2), batch_size=4, pin_memory=True):
    model(batch).sum().backward()
    optimizer.step()
"""


def test_a_warning_of_the_loader_names_the_line_that_it_names_without_a_log(log_of, run, python):
    without_gpu = {"CUDA_VISIBLE_DEVICES": ""}
    alone = run([python, "-c", PINNED], environment=without_gpu)
    done, log = log_of("-c", PINNED, environment=without_gpu)
    assert "'pin_memory' argument is set as true" in alone.stderr
    assert done.stderr.startswith(alone.stderr), done.stderr
    assert [step["samples"] for step in log.steps] == [4, 4]

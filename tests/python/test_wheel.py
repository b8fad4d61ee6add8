"""`pip install --no-build-isolation .` builds against the torch of a user's environment, and what it
installs works there by itself."""

import os
import subprocess

import pytest
from conftest import BUILD, PYTHON, ROOT, need
from recording import names, step_numbers, traces

LOOP = """
import sys
import torch
from redline import profile, schedule, tensorboard_trace_handler

model = torch.nn.Linear(4, 2)
with profile(schedule=schedule(wait=1, warmup=1, active=3),
             on_trace_ready=tensorboard_trace_handler(sys.argv[1], use_gzip=True)) as recorder:
    for batch in torch.ones(6, 3, 4):
        model(batch).sum().backward()
        recorder.step()
"""

TRAINING = """
import sys
import torch
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(6):
    model(torch.ones(3, 4)).sum().backward()
    optimizer.step()
print(*sys.path, sep="\\n")
"""


def compiler_of_the_build():
    """ccache then knows most of what the wheel compiles."""
    cache = need(BUILD / "CMakeCache.txt", "run ./scripts/setup").read_text()
    (line,) = [line for line in cache.splitlines() if line.startswith("CMAKE_CXX_COMPILER:")]
    return line.partition("=")[2]


@pytest.fixture(scope="module")
def user(tmp_path_factory):
    """The folder of a virtual environment with torch, Redline's wheel, and nothing of its source tree."""
    if subprocess.run([PYTHON, "-c", "import scikit_build_core"], capture_output=True).returncode:
        pytest.skip(f"{PYTHON} has no scikit-build-core: run ./scripts/setup")
    folder = tmp_path_factory.mktemp("user") / "venv"
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", folder], check=True)
    where = "import site, sys; print(*[p for p in sys.path if p.endswith('site-packages')], sep='\\n')"
    packages = subprocess.run([PYTHON, "-c", where], capture_output=True, text=True, check=True)
    (site,) = folder.glob("lib/python3*/site-packages")
    (site / "torch.pth").write_text(packages.stdout)
    built = subprocess.run(
        [PYTHON, "-m", "pip", "--python", folder / "bin/python", "install", "--no-build-isolation",
         "--no-deps", "--no-index", "--disable-pip-version-check", ROOT],
        env={**os.environ, "CXX": compiler_of_the_build(), "CMAKE_BUILD_PARALLEL_LEVEL": "2"},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout[-4000:] + built.stderr[-4000:]
    return folder


@pytest.fixture
def run_as_user(run, tmp_path):
    """run(…) away from the source tree and from the libraries that other tests name."""
    clean = {"PYTHONPATH": "", "REDLINE_LIBRARY": "", "REDLINE_TORCH_LIBRARY": ""}
    return lambda command: run(command, environment=clean, cwd=tmp_path)


def test_the_documented_loop_records(user, run_as_user, tmp_path):
    (tmp_path / "train.py").write_text(LOOP)
    done = run_as_user([user / "bin/python", "train.py", tmp_path / "traces"])
    assert done.returncode == 0, done.stderr
    (trace,) = traces(tmp_path / "traces")
    assert step_numbers(trace) == [2, 3, 4]
    assert names(trace, "cpu_op")["aten::linear"] == 3


@pytest.mark.parametrize("own_python", [True, False], ids=["same_python", "another_python"])
def test_redline_record_finds_its_hook(user, run_as_user, tmp_path, own_python):
    """In another Python, too, which must not see the packages of the one that has Redline."""
    (tmp_path / "train.py").write_text(TRAINING)
    python = user / "bin/python" if own_python else PYTHON
    done = run_as_user([user / "bin/redline", "record", "--", python, "train.py"])
    assert done.returncode == 0, done.stderr
    (trace,) = traces(tmp_path / "traces")
    assert step_numbers(trace) == [2, 3, 4]
    (site,) = user.glob("lib/python3*/site-packages")
    assert (str(site) in done.stdout.splitlines()) == own_python


def test_the_version_stands_in_one_place(user, run_as_user):
    ask = "import importlib.metadata as m; print(m.version('redline'))"
    wheel = run_as_user([user / "bin/python", "-c", ask]).stdout.strip()
    for program in ("redline", "autotune"):
        assert run_as_user([user / "bin" / program, "--version"]).stdout.split()[-1] == wheel

"""`pip wheel .` builds against the torch of a user's environment. The wheel works there without the source tree, and
refuses another torch."""

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
    """With the same compiler, ccache has most of what the wheel compiles."""
    cache = need(BUILD / "CMakeCache.txt", "run ./scripts/setup").read_text()
    (line,) = [line for line in cache.splitlines() if line.startswith("CMAKE_CXX_COMPILER:")]
    return line.partition("=")[2]


def environment_with_torch(folder):
    """A virtual environment that has the torch of PYTHON and nothing of the source tree."""
    if subprocess.run([PYTHON, "-c", "import scikit_build_core"], capture_output=True).returncode:
        pytest.skip(f"{PYTHON} has no scikit-build-core: run ./scripts/setup")
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", folder], check=True)
    where = "import site, sys; print(*[p for p in sys.path if p.endswith('site-packages')], sep='\\n')"
    packages = subprocess.run([PYTHON, "-c", where], capture_output=True, text=True, check=True)
    (site,) = folder.glob("lib/python3*/site-packages")
    (site / "torch.pth").write_text(packages.stdout)
    return folder


def pip(folder, command, *words):
    """Runs pip in the environment of `folder`, without the network."""
    done = subprocess.run(
        [PYTHON, "-m", "pip", "--python", folder / "bin/python", "--disable-pip-version-check", command, "--no-deps",
         "--no-index", *words],
        env={**os.environ, "CXX": compiler_of_the_build(), "CMAKE_BUILD_PARALLEL_LEVEL": "2"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


@pytest.fixture(scope="module")
def user(tmp_path_factory):
    """The folder of an environment with Redline's wheel."""
    folder = environment_with_torch(tmp_path_factory.mktemp("user") / "venv")
    wheels = folder.parent / "wheels"
    pip(folder, "wheel", "--no-build-isolation", "--wheel-dir", wheels, ROOT)
    pip(folder, "install", "--find-links", wheels, "redline")
    return folder


def installed_files(folder):
    """The files that pip lists as Redline's, apart from the ones of pip itself."""
    (record,) = folder.glob("lib/python3*/site-packages/redline-*.dist-info/RECORD")
    return {line.split(",")[0] for line in record.read_text().splitlines()} - {
        f"{record.parent.name}/direct_url.json", f"{record.parent.name}/REQUESTED"}


@pytest.mark.long
def test_pip_install_of_the_source_gives_the_same_as_the_wheel(user, run_as_user, tmp_path):
    """The wheel's build folder is there already, so this compiles nothing twice."""
    folder = environment_with_torch(tmp_path / "venv")
    pip(folder, "install", "--no-build-isolation", ROOT)
    assert installed_files(folder) == installed_files(user)
    (tmp_path / "train.py").write_text(TRAINING)
    done = run_as_user([folder / "bin/redline", "record", "--", folder / "bin/python", "train.py"])
    assert len(traces(tmp_path / "traces")) == 1, done.stderr


@pytest.fixture
def run_as_user(run, tmp_path):
    """Like run(…, check=True), but away from the source tree and from the libraries that other tests name."""
    clean = {"PYTHONPATH": "", "REDLINE_LIBRARY": "", "REDLINE_TORCH_LIBRARY": ""}
    return lambda command, check=True: run(command, environment=clean, cwd=tmp_path, check=check)


def test_the_documented_loop_records(user, run_as_user, tmp_path):
    (tmp_path / "train.py").write_text(LOOP)
    run_as_user([user / "bin/python", "train.py", tmp_path / "traces"])
    (trace,) = traces(tmp_path / "traces")
    assert step_numbers(trace) == [2, 3, 4]
    assert names(trace, "cpu_op")["aten::linear"] == 3


@pytest.mark.parametrize("own_python", [True, False], ids=["same_python", "another_python"])
def test_redline_record_finds_its_hook(user, run_as_user, tmp_path, own_python):
    """Also with another Python, which must not see the packages of the Python that has Redline."""
    (tmp_path / "train.py").write_text(TRAINING)
    python = user / "bin/python" if own_python else PYTHON
    done = run_as_user([user / "bin/redline", "record", "--", python, "train.py"])
    (trace,) = traces(tmp_path / "traces")
    assert step_numbers(trace) == [2, 3, 4]
    (site,) = user.glob("lib/python3*/site-packages")
    assert (str(site) in done.stdout.splitlines()) == own_python


def test_its_name_says_version_and_torch(user, run_as_user):
    ask = "import importlib.metadata as m; print(m.version('redline'), m.version('torch'))"
    wheel, torch = run_as_user([user / "bin/python", "-c", ask]).stdout.split()
    version, _, built_for = wheel.partition("+torch")
    assert built_for == ".".join(torch.split(".")[:2])
    assert [path.name.split("-")[1] for path in (user.parent / "wheels").iterdir()] == [wheel]
    for program in ("redline", "autotune"):
        assert run_as_user([user / "bin" / program, "--version"]).stdout.split()[-1] == version


def test_another_torch_is_refused_in_one_sentence(user, run_as_user, tmp_path):
    (built_for,) = user.glob("lib/python3*/site-packages/redline/lib/libredline_torch.built_for")
    own = built_for.read_text()
    try:
        built_for.write_text("2.3.1\n")
        (tmp_path / "train.py").write_text(TRAINING)
        recorded = run_as_user([user / "bin/redline", "record", "--", user / "bin/python", "train.py"])  # goes on
        (tmp_path / "loop.py").write_text(LOOP)
        profiled = run_as_user([user / "bin/python", "loop.py", tmp_path / "own"], check=False)
    finally:
        built_for.write_text(own)
    (line,) = [line for line in recorded.stderr.splitlines() if "2.3.1" in line]
    assert "this Redline was built for torch 2.3.1 and cannot record torch 2." in line
    assert profiled.returncode == 1 and profiled.stderr.splitlines()[-1].startswith("redline._library.RecorderError:")
    assert "built for torch 2.3.1" in profiled.stderr.splitlines()[-1]


def test_the_torch_is_found_where_pip_hides_it(run, succeed, python, tmp_path):
    """pip hides it in the environment in which it builds without --no-build-isolation."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nsys.path[:] = [p for p in sys.path if not p.endswith('site-packages')]\n")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(find LANGUAGES CXX)\n"
        f"list(APPEND CMAKE_MODULE_PATH {ROOT}/cmake)\nfind_package(LibTorch REQUIRED)\n")
    hidden = {"PYTHONPATH": str(tmp_path)}
    assert run([python, "-c", "import torch"], environment=hidden).returncode == 1, "it is not hidden"
    command = ["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DREDLINE_PYTHON={python}"]
    found = succeed(command, environment=hidden)
    assert "LibTorch 2." in found.stdout, found.stderr
    ask = f"import sys; sys.path.insert(0, '{ROOT}/cmake'); import wheel_version; print(wheel_version.dynamic_metadata('version'))"
    assert "+torch2." in run([python, "-c", ask], environment=hidden).stdout


@pytest.mark.parametrize("given, cure", [
    ([], "Which torch? Give -DREDLINE_PYTHON=/path/python"),
    (["-DREDLINE_PYTHON=/no/python"], "No torch in /no/python. Install torch >= 2.6 there, or give -DREDLINE_PYTHON="),
    (["-DREDLINE_PYTHON=/no/python", "-DSKBUILD=ON"], "with --no-build-isolation (pip, uv) or --no-isolation"),
])
def test_without_torch_it_says_what_helps_there(run, given, cure):
    """There: in a project that has copied the file, in a build of Redline's, and in one of a wheel."""
    done = run(["cmake", *given, "-P", ROOT / "cmake/FindLibTorch.cmake"])
    assert done.returncode == 1
    assert cure in " ".join(done.stderr.split())

"""`cmake --install` makes a tree that works wherever it is, without the source and the build."""

import gzip
import json
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

TRAINING = """
import torch
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(6):
    optimizer.zero_grad()
    model(torch.ones(3, 4)).sum().backward()
    optimizer.step()
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    first = tmp_path_factory.mktemp("install") / "first"
    subprocess.run(
        ["cmake", "--install", ROOT / "build/release", "--prefix", first],
        check=True,
        capture_output=True,
    )
    # The tree is moved, because one with absolute paths would still work in its old place.
    moved = first.parent / "moved"
    shutil.move(first, moved)
    return moved


def test_no_library_comes_from_the_folder_in_which_a_user_stands():
    for name in ("bin/redline", "bin/autotune", "bin/redline-viewer", "bin/mnist", "lib/libredline.so",
                 "lib/libredline_python.so", "lib/libredline_torch.so"):
        headers = subprocess.run(["objdump", "-p", ROOT / "build/release" / name], check=True, capture_output=True,
                                 text=True).stdout
        paths = [line.split()[1] for line in headers.splitlines() if line.split()[:1] in (["RPATH"], ["RUNPATH"])]
        assert paths, name
        assert all(part.startswith(("$ORIGIN", "/")) for part in paths[0].split(":")), (name, paths)


def test_programs_start(succeed, installed):
    for program in ("redline", "autotune", "redline-viewer"):
        assert program in succeed([installed / "bin" / program, "--help"]).stdout


def test_records_with_its_own_files(succeed, installed, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(TRAINING)
    succeed([installed / "bin/redline", "record", "-o", tmp_path / "traces", "--", sys.executable, script])
    (path,) = (tmp_path / "traces").glob("*.pt.trace.json*")
    names = {event.get("name") for event in json.load(gzip.open(path))["traceEvents"]}
    assert {"aten::linear", "ProfilerStep#2"} <= names
    assert "STEP" in succeed([installed / "bin/redline", "report", path]).stdout


def test_the_sample_project_is_built_with_the_package(succeed, installed, tmp_path):
    shutil.copytree(ROOT / "samples/cpp-project", tmp_path, dirs_exist_ok=True)
    for command in (
        ["cmake", "-G", "Ninja", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={installed}"],
        ["cmake", "--build", "build"],
        ["build/line"],
    ):
        done = succeed(command, cwd=tmp_path)
    assert done.stdout == "slope 3.00 offset -1.00\n"
    (path,) = (tmp_path / "traces").glob("*.pt.trace.json*")
    events = json.load(gzip.open(path))["traceEvents"]
    ranges = [event["name"] for event in events if event.get("cat") == "user_annotation"]
    assert sorted(set(ranges)) == ["ProfilerStep#2", "ProfilerStep#3", "gradient", "make batch"]
    # autotune gives the program knobs and counts its steps.
    tune = [installed / "bin/autotune", "--strategy", "grid", "--knob", "batch_size=64,256", "--max-trials", "2"]
    done = succeed([*tune, "--budget", "20s", "--", "build/line", "1000000000"], cwd=tmp_path)
    assert "BEST" in done.stdout, done.stdout + done.stderr


def test_the_build_folder_says_that_it_must_be_installed(tmp_path):
    lists = ["cmake_minimum_required(VERSION 3.25)", "project(other LANGUAGES NONE)", "find_package(Redline REQUIRED)"]
    (tmp_path / "CMakeLists.txt").write_text("\n".join(lists))
    done = subprocess.run(["cmake", "-S", ".", "-B", "build", f"-DRedline_DIR={ROOT / 'build/release'}"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode != 0 and "is a build folder: run cmake --install" in " ".join(done.stderr.split())


def test_a_version_that_does_not_exist_is_not_found(installed, tmp_path):
    lists = ["cmake_minimum_required(VERSION 3.25)", "project(other LANGUAGES CXX)", "find_package(Redline 99 REQUIRED)"]
    (tmp_path / "CMakeLists.txt").write_text("\n".join(lists))
    done = subprocess.run(["cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={installed}"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode != 0 and "version: 0.1.0" in done.stderr

"""`cmake --install` gives a tree that works where it is put, away from the source and the build."""

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
    # A tree that knows its own place would still find the old one: so it moves.
    moved = first.parent / "moved"
    shutil.move(first, moved)
    return moved


def test_programs_start(installed):
    for program in ("redline", "autotune", "redline-viewer"):
        done = subprocess.run(
            [installed / "bin" / program, "--help"], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0 and program in done.stdout, done.stderr


def test_records_with_its_own_files(installed, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(TRAINING)
    done = subprocess.run(
        [installed / "bin/redline", "record", "-o", tmp_path / "traces", "--", sys.executable, script],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "traces").iterdir()
    names = {event.get("name") for event in json.load(gzip.open(path))["traceEvents"]}
    assert {"aten::linear", "ProfilerStep#2"} <= names
    report = subprocess.run(
        [installed / "bin/redline", "report", path], capture_output=True, text=True, timeout=60
    )
    assert report.returncode == 0 and "STEP" in report.stdout, report.stderr


CONSUMER_LISTS = """
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(Redline 99 QUIET)
if(Redline_FOUND)
  message(FATAL_ERROR "a version that does not exist was found")
endif()
find_package(Redline 0.1 REQUIRED)
add_executable(consumer main.cc)
target_link_libraries(consumer PRIVATE Redline::redline)
"""

CONSUMER = """
#include <profiler/redline.h>

int main() {
  redline::Profiler profiler({.schedule = {.wait = 1, .warmup = 1, .active = 2, .repeat = 1},
                              .on_trace_ready = redline::write_chrome_trace("traces")});
  for (int step = 0; step < 5; ++step) {
    { redline::range forward("forward"); }
    profiler.step();
  }
}
"""


def test_a_program_elsewhere_is_built_with_the_package(installed, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(CONSUMER_LISTS)
    (tmp_path / "main.cc").write_text(CONSUMER)
    for command in (
        ["cmake", "-G", "Ninja", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={installed}"],
        ["cmake", "--build", "build"],
        ["build/consumer"],
    ):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (tmp_path / "traces").iterdir()
    events = json.load(gzip.open(path))["traceEvents"]
    ranges = [event["name"] for event in events if event.get("cat") == "user_annotation"]
    assert sorted(ranges) == ["ProfilerStep#2", "ProfilerStep#3", "forward", "forward"]

"""The C++ sample learns, prints it, and gives the same result under the recorder."""

import json
import os
import re
import struct

import pytest
import step_logs
from recording import names, slices, step_numbers, traces

STEPS = ["--steps", "12", "--batch-size", "16", "--print-loss-bits"]


def loss_bits(done):
    assert done.returncode == 0, done.stderr
    return re.search(r"^loss bits (\S+)$", done.stdout, re.MULTILINE).group(1)


def recorded(library, folder, **schedule):
    """The environment that `redline record` gives to a program."""
    request = {"directory": str(folder), "schedule": schedule, "record_shapes": False}
    return {
        "REDLINE_RECORD": json.dumps(request),
        "LD_PRELOAD": str(library("libredline.so")),
    }


def test_loss_falls(succeed, program):
    done = succeed([program("mnist"), "--steps", "100", "--batch-size", "32"])
    losses = [float(number) for number in re.findall(r"loss (\d+\.\d+)", done.stdout)]
    assert losses[-1] < 0.7 * 2.3026  # 2.3026 is the loss of guessing among ten classes
    assert re.search(r"accuracy \d\.\d+ samples/s \d+", done.stdout)


def test_loss_bits_do_not_depend_on_the_recorder(run, program, library, tmp_path):
    command = [program("mnist"), *STEPS]
    plain = run(command)
    own = run([*command, "--trace", tmp_path / "own"])
    schedule = {"wait": 1, "warmup": 1, "active": 2, "repeat": 2}
    outside = run(command, environment=recorded(library, tmp_path / "outside", **schedule))
    failing = run(command, environment=recorded(library, "/proc/nowhere", **schedule))
    assert loss_bits(plain) == loss_bits(own) == loss_bits(outside) == loss_bits(failing)
    assert loss_bits(plain) != loss_bits(run([*command, "--seed", "2"]))

    (trace,) = traces(tmp_path / "own")
    assert step_numbers(trace) == [2, 3, 4]
    assert names(trace, "user_annotation")["backward"] == 3
    assert names(trace, "cpu_op")["aten::convolution"] == 6
    assert [step_numbers(trace) for trace in traces(tmp_path / "outside")] == [[2, 3], [6, 7]]
    assert "recording is off" in failing.stderr


@pytest.mark.parametrize("profiled", [False, True], ids=["trial", "trial_and_profiler"])
def test_its_steps_are_logged_without_parts(run, program, tmp_path, profiled):
    trace = ["--trace", tmp_path / "own"] if profiled else []
    command = [program("redline"), "run", "--log", tmp_path / "logs", "--", program("mnist"), *STEPS, *trace]
    done = run(command)
    loss_bits(done)
    assert "12 steps" in done.stderr
    (log,) = map(step_logs.read, (tmp_path / "logs").glob("*.steps.redline"))
    # Nobody knows where the first step began.
    assert [(step["step"], step["samples"]) for step in log.steps] == [(number, 16) for number in range(1, 12)]
    assert all(step["length"] > 0 for step in log.steps)
    seen = {part for step in log.steps for part in step_logs.PARTS if step[part] is not None}
    assert seen == set(), "what no hook sees is absent"
    assert [kind for kind, _ in log.marks] == (["window"] if profiled else [])
    assert (log.ended, log.status) == (True, 0)


def test_a_ready_made_folder_of_mnist(run, succeed, program, tmp_path):
    for part, count in (("train", 64), ("t10k", 10)):
        images = struct.pack(">4I", 0x803, count, 28, 28) + os.urandom(count * 784)
        labels = struct.pack(">2I", 0x801, count) + bytes(index % 10 for index in range(count))
        (tmp_path / f"{part}-images-idx3-ubyte").write_bytes(images)
        (tmp_path / f"{part}-labels-idx1-ubyte").write_bytes(labels)
    command = [program("mnist"), "--data", tmp_path]
    succeed(command)
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(labels[:-1])
    done = run(command)
    assert done.returncode == 1
    assert "t10k-labels-idx1-ubyte: ends too early" in done.stderr


@pytest.mark.parametrize("arguments", [["--batch-size", "0"], ["--no-such-flag"]])
def test_wrong_usage(run, program, arguments):
    assert run([program("mnist"), *arguments]).returncode != 0


def test_stacks_of_the_program_are_recorded(run, program, tmp_path):
    command = [program("redline"), "record", "--stacks", "-o", tmp_path, "--", program("mnist"), *STEPS]
    loss_bits(run(command))
    (trace,) = traces(tmp_path)
    stacks = {event["name"]: event["args"]["Call stack"].split(";") for event in slices(trace, "cpu_op")}
    for function in ("main", "torch::nn::Conv2dImpl::forward(at::Tensor const&)"):
        assert function in stacks["aten::conv2d"]
    assert any("::train(" in function for function in stacks["aten::conv2d"])
    assert any("torch::optim::Adam::step" in function for function in stacks["aten::addcdiv_"])
    assert stacks["aten::_convolution"] == stacks["aten::conv2d"]
    recorders = ("redline::profiler", "RecordFunction", "torch::unwind")
    assert not any(name in function for stack in stacks.values() for function in stack for name in recorders)


def test_autotune_turns_its_knobs_and_measures_it(succeed, program, tmp_path, no_process_left):
    """The program reports by redline::Trial. It needs no Python, no placeholder and no metric."""
    words = [program("autotune"), "--knob", "batch_size=8,64", "--max-trials", "2", "--budget", "4m"]
    succeed([*words, "--", program("mnist"), "--epochs", "1000"], cwd=tmp_path)
    best = json.loads((tmp_path / "best.json").read_text())
    assert best["default"]["knobs"] == {"batch_size": 64}
    assert best["trials"] == 2
    succeed([program("redline"), "run", "--config", tmp_path / "best.json", "--",
             program("mnist"), "--steps", "3"])

"""What redline record says of its command line and of commands that train nothing."""

import os
import shutil

import pytest
from conftest import ROOT

pytestmark = pytest.mark.usefixtures("no_process_left")


def test_a_command_that_refuses_its_arguments_leaves_no_trace(record, python, script):
    text = """
import argparse, torch
torch.ones(3).sum()
argparse.ArgumentParser().parse_args()
"""
    recorded, none = record([python, script(text), "--nonsense"], check=False)
    assert recorded.returncode == 2
    assert none == []
    assert "/traces: the command failed (exit status 2); " in recorded.stderr
    assert "next:" not in recorded.stderr


@pytest.mark.parametrize("command, why", [
    (["true"], "no process of the command used a GPU"),
    (["sh", "-c", "exit 7"], "the command failed (exit status 7) before Redline saw it load torch"),
])
def test_a_command_without_torch_is_passed_through(record, command, why):
    recorded, none = record(command, check=False)
    assert recorded.returncode == (7 if "exit 7" in command else 0)
    assert none == []
    assert why in recorded.stderr


def test_output_of_the_command_is_untouched(record):
    recorded, _ = record(["sh", "-c", "printf 'a\\0b'; printf c >&2"])
    assert recorded.stdout == "a\0b"
    assert recorded.stderr.startswith("c")


def test_usage_errors_are_one_line_with_an_example(program, run, tmp_path):
    redline = program("redline")
    wrong = run([redline, "record", "--schedule", "activ=3", "--", "true"], cwd=tmp_path)
    assert wrong.returncode == 2
    assert wrong.stderr.count("\n") == 1 and "Example: --schedule skip_first=0" in wrong.stderr
    (tmp_path / "file").write_text("")
    wrong = run([redline, "record", "-o", "file/traces", "--", "touch", "ran"], cwd=tmp_path)
    assert wrong.returncode == 1
    assert wrong.stderr.startswith("redline: file/traces: Not a directory.")
    wrong = run([redline, "record", "--", "no-such-program"], cwd=tmp_path)
    assert wrong.returncode == 1
    assert wrong.stderr.startswith("redline: no-such-program: No such file or directory.")
    wrong = run([redline, "recrod", "--", "true"], cwd=tmp_path)
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert wrong.stderr == "redline: no such command: recrod; did you mean record? See redline --help\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "traces"]


@pytest.mark.parametrize("options, status, error", [
    (["--stack"], 2, "redline: no such option: --stack; did you mean --stacks? See redline record --help\n"),
    (["--cheese"], 2, "redline: no such option or argument: --cheese, see redline record --help\n"),
    (["--max-size", "10KB"], 2, "redline: --max-size: must be at least 1MB, see"),
    (["--max-size", "x"], 2, "redline: --max-size: 'x' is no size. Example: 1500MB, 1.5GiB (see"),
    (["--ring", "9x"], 2, "redline: --ring: '9x' is no duration. Example: 90s, 10m, 1.5h (see"),
    (["--ring", "25h"], 2, "redline: --ring: must be from 0 to a day, see"),
    (["--ranks", "0-3"], 2, "redline: --ranks: must be ranks such as 0,3, not '0-3', see"),
    (["--ring", "9s", "--slow-step", "x"], 2, "redline: --slow-step: must be above 1, or 0, not 'x', see"),
    (["-o", ""], 1, "redline: -o '': Invalid argument"),
    (["-o"], 2, "redline: --output has no value before --, see redline record --help\n"),
    (["--step-marker"], 2, "redline: --step-marker has no value before --, see redline record --help\n"),
    (["--ring"], 2, "redline: --ring has no value before --, see redline record --help\n"),
])
def test_what_makes_no_sense_is_said_in_one_line(program, run, tmp_path, options, status, error):
    wrong = run([program("redline"), "record", *options, "--", "touch", "ran"], cwd=tmp_path)
    assert (wrong.returncode, wrong.stderr.count("\n")) == (status, 1)
    assert wrong.stderr.startswith(error)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_whose_name_a_request_cannot_hold_is_refused(program, run, tmp_path):
    name = os.fsdecode(b"f\xfcr")
    done = run([program("redline"), "record", "-o", name, "--", "true"], cwd=tmp_path)
    assert done.returncode == 1
    assert "the name of the folder is not UTF-8. Choose another folder with -o DIR" in done.stderr
    done = run([program("redline"), "run", "--log", name, "--every", "10m", "--", "true"], cwd=tmp_path)
    assert done.returncode == 1 and "the name of the folder is not UTF-8" in done.stderr
    assert [path for path in tmp_path.iterdir() if path.name != name] == []


def install_into(place, program, library):
    for source in (program("redline"), library("libredline.so"), library("libredline_torch.so")):
        (place / source.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copy(source, place / source.parent.name)
    shutil.copytree(ROOT / "python", place / "share/redline/python")


def test_redline_may_not_lie_in_a_folder_with_a_colon(program, library, run, tmp_path):
    """PYTHONPATH splits at it, so that no Python process would find the start-up hook."""
    place = tmp_path / "v1:2"
    install_into(place, program, library)
    shutil.copy(program("autotune"), place / "bin")
    for command in (["redline", "record", "-o", "traces"], ["redline", "run", "--log", "logs"], ["autotune", "--max-trials", "2"]):
        done = run([place / "bin" / command[0], *command[1:], "--", "touch", "ran"], cwd=tmp_path)
        assert done.returncode == 1, done.stderr
        said = f"{place}/share/redline/python: PYTHONPATH splits at the colon. Redline needs another folder"
        assert said in done.stderr and not (tmp_path / "ran").exists()


def test_redline_may_lie_in_a_folder_with_a_blank(program, library, run, tmp_path):
    """LD_PRELOAD splits at blanks and knows no escape."""
    place = tmp_path / "My Projects"
    install_into(place, program, library)
    look = ["grep", "-c", "r-xp.*/My Projects/lib/libredline.so", "/proc/self/maps"]
    for command in (["record", "-o", "traces"], ["run", "--log", "logs"]):
        done = run([place / "bin/redline", *command, "--", *look], cwd=tmp_path)
        assert done.stdout == "1\n" and "ld.so" not in done.stderr, done.stderr


def test_a_size_of_0_is_any_size_as_in_python(program, succeed, tmp_path):
    succeed([program("redline"), "record", "--max-size", "0", "--", "true"], cwd=tmp_path)


def test_a_time_may_be_in_hours(program, succeed, tmp_path):
    succeed([program("redline"), "record", "--ring", "1h", "--hang-after", "0.5h", "--", "true"], cwd=tmp_path)


def test_the_command_may_stand_without_dashes(program, run, tmp_path):
    """The same holds for autotune's command: all words behind its name belong to it."""
    words = ["record", "-o", "traces", "sh", "-c", "echo $0 $*", "--shapes", "-o", "x", "--", "y"]
    recorded = run([program("redline"), *words], cwd=tmp_path)
    assert (recorded.returncode, recorded.stdout) == (0, "--shapes -o x -- y\n")

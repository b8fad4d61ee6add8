"""`redline compare` runs two commands in turns, and `redline diff` compares the step logs of runs."""

import json
import pathlib
import shlex
import signal

import pytest
from conftest import wait_until

SCRIPT = pathlib.Path(__file__).with_name("scripts") / "logs_steps.py"
BEYOND, CANNOT_TELL, INTERRUPTED = 3, 4, 130
UNKNOWN_OPERATOR = "redline: which operator changed is not known: --base: no trace was recorded"


@pytest.fixture
def steps(python, library):
    """steps("--wait-ms", 20): a command that logs steps of a millisecond, and so long a wait for data."""
    path = library("libredline.so")
    return lambda *words: shlex.join([str(python), str(SCRIPT), str(path), *map(str, words)])


@pytest.fixture
def compare(program):
    def words(base, new, *options):
        return [program("redline"), "compare", *options, "--base", base, "--new", new]

    return words


def test_a_slower_command_is_caught_and_the_part_is_named(
    run, succeed, program, compare, steps, tmp_path, no_process_left
):
    runs = tmp_path / "runs"
    done = run(compare(steps(), steps("--wait-ms", 30), "--fail-slower", "5%", "-o", runs))
    assert done.returncode == BEYOND, done.stderr
    assert "x slower" in done.stdout
    assert "Surely more than 5 % slower." in done.stdout
    assert "Most of it in waiting for data" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert done.stderr.startswith(UNKNOWN_OPERATOR)
    logs = [len(list((runs / side).glob("*.steps.redline"))) for side in ("base", "new")]
    assert logs[0] == logs[1] >= 3
    assert "what the command says" in (runs / "new" / "1.log").read_text()

    again = run(compare(steps(), steps(), "-o", runs))
    assert again.returncode == 1
    assert "has the step logs of an earlier comparison" in again.stderr

    redline = [program("redline"), "diff"]
    there = run([*redline, "--format", "json", "--fail-slower", "5%", runs / "base", runs / "new"])
    back = run([*redline, "--format", "json", "--fail-slower", "5%", runs / "new", runs / "base"])
    assert (there.returncode, back.returncode) == (BEYOND, 0)
    forth, inverse = (json.loads(each.stdout)["run"] for each in (there, back))
    assert forth["ratio"]["value"] * inverse["ratio"]["value"] == pytest.approx(1)
    assert forth["gate"]["time"] == "surely_beyond"
    assert forth["parts"][0]["part"] == "data_wait"
    assert forth["paired"]

    table = run([*redline, "--format", "markdown", runs / "base", runs / "new"]).stdout
    assert "| **step** |" in table and "| waiting for data |" in table
    summary = tmp_path / "benchmark.json"
    succeed([*redline, "--format", "benchmark-action", "-o", summary, runs / "base", runs / "new"])
    assert json.loads(summary.read_text())[0].keys() >= {"name", "unit", "value", "range"}
    text = succeed([*redline, runs / "base", runs / "new"])
    assert "x slower" in text.stdout


def test_equal_commands_are_no_alarm(succeed, compare, steps):
    step = steps("--step-ms", 20)  # a busy machine wakes it some milliseconds late
    done = succeed(compare(step, step, "-n", 3, "--fail-slower", "900%", "--fail-memory", "900%"))
    assert "Surely not more than 900 % slower." in done.stdout
    # If other work slowed one side, it asks which operators changed, and these commands record no trace.
    assert not done.stderr or done.stderr.startswith(UNKNOWN_OPERATOR)


def test_one_run_of_each_proves_little(run, compare, steps):
    question = compare(steps(), steps(), "-n", 1, "--fail-slower", "0%", "--format", "json")
    done = run(question)
    # Unless the machine happened to be much busier in one of the two runs.
    assert done.returncode in (0, BEYOND, CANNOT_TELL)
    said = json.loads(done.stdout)["run"]
    assert said["spread_assumed"]
    assert said["ratio"]["high"] / said["ratio"]["low"] > 1.25
    assert run([*question, "--lenient"]).returncode in (0, BEYOND)


def test_a_failing_command_ends_the_comparison(run, compare, steps, no_process_left):
    done = run(compare(steps(), steps("--status", 7)))
    assert done.returncode == 1
    assert "--new: " in done.stderr and "exit status 7" in done.stderr
    assert done.stderr.endswith("what the command says\n")
    assert done.stdout == ""
    secret = run(compare("TOKEN=planted false", steps()))
    assert "--base: TOKEN=***: exit status 1" in secret.stderr and "planted" not in secret.stderr
    killed = run(compare("kill -9 $$", steps()))
    assert (killed.returncode, "exit status 137" in killed.stderr) == (1, True)


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_the_answer_shows_no_secrets_of_its_commands(form, succeed, compare, steps):
    done = succeed(compare("TOKEN=planted " + steps(), "API_KEY=planted " + steps(), "-n", 1, "--format", form))
    assert done.stdout, done.stderr
    assert "planted" not in done.stdout + done.stderr
    assert "TOKEN=***" in done.stdout and "API_KEY=***" in done.stdout


def test_a_command_without_steps_cannot_be_compared(run, compare, steps):
    done = run(compare("true", steps()))
    assert done.returncode == 1
    assert "no process of the command made a training step" in done.stderr
    few = run(compare(steps("--steps", 3), steps()))
    assert few.returncode == 1
    assert "fewer than 8 training steps after the warm-up" in few.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_ends_the_command_and_shows_what_it_has(start, compare, steps, tmp_path, no_process_left, number):
    # The third run of the base hangs.
    count = tmp_path / "count"
    hangs = f"echo >> {count}; [ $(wc -l < {count}) -lt 2 ] || exec sleep 600; {steps()}"
    runs = tmp_path / "runs"
    with start(compare(hangs, steps("--wait-ms", 30), "-o", runs)) as process:
        wait_until(lambda: count.exists() and len(count.read_text()) == 2)
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED
    assert "1 run · " in stdout
    assert stderr == "redline: interrupted: these are the runs so far\n"


def test_interrupted_while_it_records_it_says_so(start, compare, steps, tmp_path, no_process_left):
    """The last run of each side only names the operator, so the answer is there."""
    begun = tmp_path / "begun"
    base = f'[ -z "$REDLINE_RECORD" ] || {{ echo > {begun}; exec sleep 600; }}; {steps()}'
    with start(compare(base, steps("--wait-ms", 30), "--fail-slower", "5%")) as process:
        wait_until(begun.exists)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED
    assert "Surely more than 5 % slower." in stdout
    assert stderr == "redline: interrupted: these are the runs so far\n"


def test_killed_it_leaves_no_process(start, compare, steps, tmp_path, no_process_left):
    hangs = f"echo > {tmp_path / 'begun'}; exec sleep 600"
    with start(compare(hangs, steps())) as process:
        wait_until(lambda: (tmp_path / "begun").exists())
        process.kill()
        process.wait(timeout=60)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--fail-slower", "5"], "'5' is no share. Example: 5%"),
        (["-n", "0"], "--runs: Value 0 not in range"),
        (["--format", "yaml"], "--format"),
    ],
)
def test_wrong_options_are_one_line(run, compare, options, words):
    done = run(compare("true", "true", *options))
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_both_commands_must_be_given(run, program):
    assert run([program("redline"), "compare", "--base", "true"]).returncode == 2
    for given, missing in ([], "--base 'CMD' --new 'CMD'"), (["--base", "true"], "--new 'CMD'"):
        done = run([program("redline"), "compare", *given, "--", "python", "train.py", "--steps", "3"])
        assert (done.returncode, done.stderr) == (
            2, f"redline: no such option or argument: python train.py --steps 3. Give {missing} "
            "(see redline compare --help)\n")


def test_traces_can_be_gated_too(run, succeed, program, shared):
    traces = shared / "traces"
    trace = next(path for path in sorted(traces.rglob("*workers0*")) if path.is_file())
    redline = [program("redline"), "diff", trace, trace]
    done = succeed([*redline, "--fail-slower", "100%"])
    assert "As far as so few runs tell, not more than 100 % slower." in done.stdout
    assert run([*redline, "--fail-slower", "0%"]).returncode == CANNOT_TELL
    succeed([*redline, "--fail-slower", "0%", "--lenient"])
    assert "slower" not in run(redline).stdout


def test_runs_with_logs_of_different_ranks_are_not_compared(run, succeed, program, compare, steps, tmp_path):
    whole, one = tmp_path / "whole", tmp_path / "one"
    for folder, ranks in ((whole, (0, 1)), (one, (0,))):
        folder.mkdir()
        environment = {"REDLINE_LOG": str(folder), "REDLINE_LOG_RUN": "1700000000000000000.1"}
        for rank in ranks:
            words = shlex.split(steps("--step-ms", 20, "--rank", rank, "--ranks", 2))
            succeed(words, environment=environment)
    redline = program("redline")
    for sides in ((one, whole), (whole, one)):
        for limit in ([], ["--fail-slower", "900%"], ["--fail-slower", "900%", "--lenient"]):
            done = run([redline, "diff", *limit, *sides])
            assert (done.returncode, done.stdout) == (1, "")
            assert "cannot be compared with" in done.stderr and "Add the logs that are missing" in done.stderr
    done = succeed([redline, "diff", "--fail-slower", "900%", one, one])
    assert "Compared are the logs of 1 of 2 ranks: those of the others are not there." in done.stdout
    first_ranks = [next(folder.glob("*rank0.steps.redline")) for folder in (one, whole)]
    succeed([redline, "diff", *first_ranks])

    figures = json.loads(run([redline, "report", "--format", "summary", one]).stdout)
    assert (figures["redline/ranks"], figures["redline/world_size"]) == (1, 2)

    done = run(compare(steps(), steps("--ranks", 2), "-n", 1))
    assert done.returncode == 1 and "cannot be compared with" in done.stderr

"""`redline run --config best.json -- CMD` runs what was tuned."""

import gzip
import json
import pathlib
import signal

import pytest

SCRIPTS = pathlib.Path(__file__).with_name("scripts")
PLAIN = SCRIPTS / "plain_loop.py"


@pytest.fixture
def best(tmp_path):
    """best({"batch_size": 16}) writes a configuration file with these knobs and returns its path."""

    def write(knobs, **fields):
        path = tmp_path / "best.json"
        path.write_text(json.dumps({"schema": "redline.config/1", "knobs": knobs, **fields}))
        return path

    return write


def test_knobs_are_set_and_said(run, succeed, program, python, best):
    config = best({"batch_size": "16", "amp": "bf16"})
    tuned = succeed([program("redline"), "run", "--config", config, "--", python, PLAIN])
    flagged = run([python, PLAIN, "--batch-size", "16", "--amp", "bf16"])
    assert tuned.stdout == flagged.stdout
    assert tuned.stderr == f"redline: amp bf16, batch_size 16 ({config})\n"


def test_a_configuration_of_another_command_is_said(run, succeed, program, best):
    config = best({}, command=["true", "--token", "***"])
    redline = [program("redline"), "run", "--config", config, "--"]
    for command in (["true", "--token", "mine"], ["true", "--token", "mine", "--epochs", "90"]):
        assert "another command" not in run([*redline, *command]).stderr
    for command in (["true"], ["true", "--epochs", "90"]):
        done = succeed([*redline, *command])
        assert f"redline: {config} was found for another command: true --token '***'\n" in done.stderr


def test_placeholders_are_filled_in_the_command_and_its_environment(run, program, best):
    config = best({"batch_size": 16, "lr": 0.5, "amp": "off"})
    show = 'echo "$0 $RATE $REDLINE_KNOBS"'
    done = run(
        [program("redline"), "run", "--config", config, "--", "sh", "-c", show, "b={batch_size}"],
        environment={"RATE": "{lr}"},
    )
    assert done.stdout == 'b=16 0.5 {"amp":"off"}\n'


def test_status_and_signals_pass_through(run, start, program, best, no_process_left):
    redline = [program("redline"), "run", "--config", best({}), "--"]
    assert run([*redline, "sh", "-c", "exit 7"]).returncode == 7
    assert run([*redline, "sh", "-c", "kill -9 $$"]).returncode == 128 + 9
    wait = "trap 'echo caught; exit 5' TERM; echo ready; while :; do sleep 0.1; done"
    with start([*redline, "sh", "-c", wait]) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "caught\n"
        assert process.wait(timeout=60) == 5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "it is not JSON"),
        ('{"schema": "redline.report/1"}', "its schema is redline.report/1"),
        ('{"schema": "redline.config/1", "knobs": {"lr": 1}}', "knob lr has no"),
        ('{"schema": "redline.config/1", "knobs": {"amp": "int8"}}', "amp = int8 is not one of"),
    ],
)
def test_a_bad_file_is_one_line(run, program, tmp_path, text, words):
    path = tmp_path / "best.json"
    path.write_text(text)
    done = run([program("redline"), "run", "--config", path, "--", "true"])
    assert done.returncode == 1
    assert done.stderr.startswith(f"redline: {path}: ")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_configuration_that_others_may_change_is_said(run, succeed, program, best):
    path = best({})
    assert "every user" not in run([program("redline"), "run", "--config", path, "--", "true"]).stderr
    path.chmod(0o666)
    done = succeed([program("redline"), "run", "--config", path, "--", "true"])
    assert f"{path} can be changed by every user of this machine: chmod o-w {path}" in done.stderr


def test_a_missing_file_and_a_missing_command_say_what_to_do(run, program, best):
    absent = run([program("redline"), "run", "--config", "/no/best.json", "--", "true"])
    assert (absent.returncode, absent.stderr.count("\n")) == (1, 1)
    assert "/no/best.json: No such file" in absent.stderr
    unknown = run([program("redline"), "run", "--config", best({}), "--", "/no/such/command"])
    assert unknown.returncode == 1
    assert "/no/such/command" in unknown.stderr
    assert run([program("redline"), "run", "--", "true"]).returncode == 2
    assert "Examples:" in run([program("redline"), "run", "--help"]).stdout


def test_a_tuned_job_can_be_recorded(succeed, program, library, python, best, tmp_path, train_cifar):
    library("libredline_torch.so")
    redline = program("redline")
    command = [redline, "record", "-o", tmp_path / "after", "--schedule", "wait=1,active=2", "--"]
    command += [redline, "run", "--config", best({"batch_size": 4}), "--"]
    command += [python, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    command += [train_cifar, "--steps", "6", "--train-size", "128"]
    succeed(command, environment={"OMP_NUM_THREADS": "1"})
    traces = sorted((tmp_path / "after").glob("*.json.gz"))
    assert len(traces) == 2
    ranks = set()
    for path in traces:
        trace = json.loads(gzip.decompress(path.read_bytes()))
        ranks.add(trace["distributedInfo"]["rank"])
        assert any(event.get("name") == "aten::conv2d" for event in trace["traceEvents"])
    assert ranks == {0, 1}

"""`autotune` from outside: what it finds, keeps, prints and leaves behind."""

import collections
import contextlib
import csv
import fcntl
import html
import html.parser
import io
import json
import os
import pathlib
import pty
import re
import signal
import sqlite3
import struct
import subprocess
import termios
import threading

import pytest
from conftest import stub, wait_until
from recording import step_numbers, traces

JOB = pathlib.Path(__file__).with_name("scripts") / "metric_job.py"
KNOBS = ["--knob", "batch_size=8..512", "--knob", "workers=0..8"]
METRIC = ["--metric", r"rate: ([0-9.]+)"]


@pytest.fixture
def tune(program, python):
    """tune("--budget", "20s", seconds="0") gives the words of an autotune command that runs metric_job.py."""

    def words(*options, seconds="0"):
        job = [python, "-S", JOB, "{batch_size}", "{workers}", seconds]
        return [program("autotune"), *KNOBS, *METRIC, *options, "--", *job]

    return words


def trials_of(folder):
    """(id, state, config, outcome) of each trial in the study."""
    with contextlib.closing(sqlite3.connect(folder / "autotune.study.db")) as study:
        rows = study.execute("SELECT id, state, config, outcome FROM trials ORDER BY id")
        return [(row[0], row[1], json.loads(row[2]), row[3]) for row in rows]


def held_from(number):
    """The environment in which trial `number` and those after it run until they are killed."""
    return {"HOLD_FROM": str(number)}


def wait_for_trial(folder, number):
    """Waits until trial `number` has begun."""

    def has_begun():
        with contextlib.suppress(sqlite3.OperationalError):
            return len(trials_of(folder)) >= number

    wait_until(has_begun, f"trial {number} did not begin")


def test_finds_the_peak_and_survives_running_out_of_memory(
    succeed, tune, tmp_path, no_process_left
):
    done = succeed(tune("--max-trials", "24"), cwd=tmp_path)
    best = json.loads((tmp_path / "best.json").read_text())
    assert best["schema"] == "redline.config/1"
    assert best["default"]["knobs"] == {"batch_size": 32, "workers": 0}
    assert best["default"]["throughput"]["samples_per_s"] == 100
    assert best["knobs"]["workers"] >= 3
    assert best["throughput"]["samples_per_s"] >= 400
    assert best["speedup"] >= 4
    assert best["oom_trials"] >= 1
    assert best["trials"] == len(trials_of(tmp_path)) <= 24
    assert "out of memory" in done.stdout
    assert "BEST" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if "run it:" not in line)
    assert "\x1b" not in done.stdout, "no control sequences in a pipe"


def test_json_goes_to_stdout_and_nothing_else(run, tune, tmp_path):
    done = run(tune("--max-trials", "6", "--format", "json"), cwd=tmp_path)
    tuned = json.loads(done.stdout)
    assert tuned["schema"] == "redline.tune/1"
    assert len(tuned["trials"]) == 6
    assert tuned["best"] == json.loads((tmp_path / "best.json").read_text())
    assert [trial["why"] for trial in tuned["trials"][-2:]] == ["confirm", "confirm"]


def test_killed_in_any_trial_it_goes_on(run, succeed, start, tune, tmp_path, no_process_left):
    command = tune("--max-trials", "10", "--resume")
    for number in (1, 3, 4):
        with start(command, held_from(number), cwd=tmp_path) as autotune:
            wait_for_trial(tmp_path, number)
            autotune.kill()
            autotune.wait()
    succeed(command, cwd=tmp_path)
    rows = trials_of(tmp_path)
    finished = [config for _, state, config, _ in rows if state == "finished"]
    interrupted = [config for _, state, config, _ in rows if state == "interrupted"]
    assert len(finished) == 10
    assert len(interrupted) == 3
    assert all(config in finished for config in interrupted), "asked again"

    for file in tmp_path.glob("autotune.study.db*"):
        file.unlink()
    run(command, cwd=tmp_path)
    undisturbed = [config for _, _, config, _ in trials_of(tmp_path)]
    assert finished == undisturbed, "the same path as without the kills"


@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_keeps_all_and_leaves_no_process(start, tune, tmp_path, no_process_left, presses):
    with start(tune("--max-trials", "9"), held_from(3), cwd=tmp_path) as autotune:
        wait_for_trial(tmp_path, 3)
        for _ in range(presses):
            autotune.send_signal(signal.SIGINT)
        stdout, stderr = autotune.communicate(timeout=60)
    assert autotune.returncode == 130, "a script that starts the job with best.json must not go on"
    assert stderr.endswith("autotune: stopped: best.json has the best so far\n")
    assert "BEST" in stdout
    assert "Stopped; autotune --resume … (before the --) goes on." in stdout
    assert [state for _, state, _, _ in trials_of(tmp_path)][-1] == "interrupted"
    assert json.loads((tmp_path / "best.json").read_text())["trials"] == 2


def test_ctrl_c_in_the_first_trial_leaves_nothing_to_show(start, tune, tmp_path, no_process_left):
    with start(tune(seconds="60"), cwd=tmp_path) as autotune:
        wait_for_trial(tmp_path, 1)
        autotune.send_signal(signal.SIGINT)
        stdout, stderr = autotune.communicate(timeout=60)
    assert autotune.returncode == 130
    assert stderr == "autotune: stopped before the first trial had ended, so there is nothing to show\n"
    assert "trials" not in stdout and not (tmp_path / "autotune.study.html").exists()


def test_a_study_is_not_mixed_with_another(run, succeed, tune, tmp_path):
    succeed(tune("--max-trials", "2"), cwd=tmp_path)
    again = run(tune("--max-trials", "2"), cwd=tmp_path)
    assert again.returncode == 1
    assert again.stderr == (
        "autotune: autotune.study.db: has 2 trials already. --resume goes on with them; "
        "--study takes another file\n"
    )
    same_file = ("--study", "autotune.study.db", "--resume")
    other = run(tune("--max-trials", "2", *same_file, seconds="0.1"), cwd=tmp_path)
    assert other.returncode == 1
    assert "its trials had another command" in other.stderr


def test_each_command_has_a_study_of_its_own(run, succeed, tune, program, tmp_path):
    succeed(tune("--max-trials", "2"), cwd=tmp_path)
    for options in ([], ["--resume"]):
        other = succeed(tune("--max-trials", "3", *options, seconds="0.01"), cwd=tmp_path)
        assert "the study is autotune.study-2.db" in other.stderr
        dry = succeed(tune("--dry-run", *options, seconds="0.01"), cwd=tmp_path)
        assert "study          autotune.study-2.db" in dry.stdout
    assert len(trials_of(tmp_path)) == 2
    assert (tmp_path / "autotune.study-2.html").exists()
    # best.json is the second's now.
    for study, line in (("autotune.study.db", 'run it:  sh -c "$(autotune apply autotune.study.db)"'),
                        ("autotune.study-2.db", "run it:  redline run --config best.json -- ")):
        shown = run([program("autotune"), "show", study], cwd=tmp_path)
        assert shown.stdout.splitlines()[-1].startswith(line)


def test_a_search_whose_trials_used_all_up_says_so(succeed, tune, tmp_path):
    succeed(tune("--max-trials", "2", seconds="0.6"), cwd=tmp_path)
    for limit, why in ((("--max-trials", "2"), "--max-trials 2 counts the 2 trials there already: give more to go on."),
                       (("--budget", "1s"), "give a larger --budget to go on.")):
        again = succeed(tune(*limit, "--resume", seconds="0.6"), cwd=tmp_path)
        assert why in again.stdout.replace("\n", " ")
    assert len(trials_of(tmp_path)) == 2


def test_resume_behind_the_command_of_a_study_is_refused(run, succeed, tune, tmp_path):
    command = tune("--max-trials", "2")
    succeed(command, cwd=tmp_path)
    again = run([*command, "--resume"], cwd=tmp_path)
    assert again.returncode == 2
    assert again.stderr == (
        "autotune: --resume at the end of the command is the script's option. To go on with the trials in "
        "autotune.study.db, put it before the --. If the script takes it, give --study another file\n"
    )
    succeed([command[0], "--study", "own.db", *command[1:], "--resume"], cwd=tmp_path)
    assert len(trials_of(tmp_path)) == 2


def test_on_a_terminal_the_same_command_is_asked_whether_it_goes_on(succeed, tune, tmp_path):
    succeed(tune("--max-trials", "2"), cwd=tmp_path)
    for answer, trials, file in (("Yes", 3, "autotune.study.db"), ("", 3, "autotune.study.db"),
                                 ("n", 3, "autotune.study-2.db"), ("nope\nno", 3, "autotune.study-3.db")):
        text = at_a_terminal(tune("--max-trials", "3"), tmp_path, answer)
        assert re.search(r"autotune.study.db has \d trials of this command \(.* s of the budget of 10 min used\)", text)
        assert text.count("Go on with them?") == len(answer.split("\n"))
        with contextlib.closing(sqlite3.connect(tmp_path / file)) as study:
            assert study.execute("SELECT count(*) FROM trials").fetchone() == (trials,)


def at_a_terminal(command, folder, answer, columns=80):
    """What the command writes to a terminal if the user answers its first question with `answer`."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    with subprocess.Popen([str(word) for word in command], stdin=its, stdout=its, stderr=its, cwd=folder,
                          env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"}, start_new_session=True) as process:
        os.close(its)
        os.write(ours, answer.encode() + b"\n")
        text = b""
        with contextlib.suppress(OSError):  # EIO: the other side is closed
            while part := os.read(ours, 65536):
                text += part
    os.close(ours)
    assert process.returncode == 0, text
    return text.decode()


def test_the_live_line_stays_one_line_in_a_narrow_terminal(tune, tmp_path):
    for columns in (40, 120):
        text = at_a_terminal(tune("--max-trials", "1", "--study", f"{columns}.db"), tmp_path, "", columns)
        live = [part.rstrip() for part in re.findall(r"\r\x1b\[K(trial [^\r\n\x1b]*)", text)]
        assert live and max(map(len, live)) <= min(columns, 80) - 1, live
        assert all(line.endswith("…") for line in live) or columns > 40, live


def test_a_second_autotune_is_refused_unless_it_shares_the_search(run, start, tune, tmp_path, no_process_left):
    command = tune("--max-trials", "8")
    with start(command, {"HOLD_UNTIL": str(tmp_path / "both")}, cwd=tmp_path) as first:
        wait_for_trial(tmp_path, 1)
        refused = run(command, cwd=tmp_path)
        with start([*command[:1], "--resume", *command[1:]], cwd=tmp_path) as second:
            assert "both search together" in second.stderr.readline()
            (tmp_path / "both").touch()
            outputs = [autotune.communicate(timeout=60) for autotune in (first, second)]
    assert refused.returncode == 1
    assert "another autotune is using it. --resume shares its search" in refused.stderr
    assert (first.returncode, second.returncode) == (0, 0), [stderr for _, stderr in outputs]
    rows = trials_of(tmp_path)
    assert [state for _, state, _, _ in rows] == ["finished"] * 8
    assert [stdout.count("confirming") for stdout, _ in outputs] == [2, 2], "both saw all trials"


def test_a_killed_sharer_loses_its_trial_to_the_other(start, tune, tmp_path, no_process_left):
    command = tune("--max-trials", "6", "--resume")
    with start(command, held_from(2), cwd=tmp_path) as first:
        wait_for_trial(tmp_path, 2)
        with start(command, cwd=tmp_path) as second:
            wait_for_trial(tmp_path, 3)
            first.kill()
            stdout, stderr = second.communicate(timeout=60)
    assert second.returncode == 0, stderr
    states = [state for _, state, _, _ in trials_of(tmp_path)]
    assert states.count("finished") == 6
    assert states.count("interrupted") == 1
    assert "BEST" in stdout


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
class TestParallel:
    def test_finds_the_peak_on_parts_of_the_machine(self, succeed, program, python, tmp_path, no_process_left):
        job = f"{python} -S {JOB} {{batch_size}} {{workers}} 0.1 && taskset -cp $$ && echo OMP $OMP_NUM_THREADS"
        options = [*KNOBS, *METRIC, "--max-trials", "24", "--parallel", "2", "--format", "json"]
        command = [program("autotune"), *options, "--", "sh", "-c", job]
        done = succeed(command, cwd=tmp_path, environment={"OMP_NUM_THREADS": ""})
        trials = json.loads(done.stdout)["trials"]
        assert json.loads((tmp_path / "best.json").read_text())["knobs"]["workers"] >= 3
        assert max(trial["neighbours"] for trial in trials) == 1
        alone = {trial["neighbours"] for trial in trials if trial["why"] in ("first", "confirm")}
        assert alone == {0}
        outputs = [path.read_text() for path in tmp_path.glob("autotune.study.trials/*/stdout")]
        places = {output.partition("list: ")[2].split()[0] for output in outputs if "list: " in output}
        assert len(places) == 2, "each trial on one of two parts"

    def test_killed_with_two_running_it_goes_on(self, succeed, start, tune, tmp_path, no_process_left):
        command = tune("--max-trials", "8", "--parallel", "2", "--resume")
        with start(command, held_from(4), cwd=tmp_path) as autotune:
            wait_for_trial(tmp_path, 4)
            autotune.kill()
            autotune.wait()
        succeed(command, cwd=tmp_path)
        rows = trials_of(tmp_path)
        assert [state for _, state, _, _ in rows].count("finished") == 8
        assert [state for _, state, _, _ in rows].count("interrupted") >= 1, "two were running"

    def test_ctrl_c_ends_both(self, start, tune, tmp_path, no_process_left):
        with start(tune("--max-trials", "9", "--parallel", "2"), held_from(2), cwd=tmp_path) as autotune:
            wait_for_trial(tmp_path, 3)
            autotune.send_signal(signal.SIGINT)
            stdout, _ = autotune.communicate(timeout=60)
        assert autotune.returncode == 130
        assert "BEST" in stdout and "Stopped; autotune --resume" in stdout
        assert [state for _, state, _, _ in trials_of(tmp_path)] == ["finished", "interrupted", "interrupted"]

    def test_dry_run_says_the_split(self, run, tune, tmp_path):
        done = run(tune("--dry-run", "--parallel", "2"), cwd=tmp_path)
        assert "2 trials at a time: core" in " ".join(done.stdout.split())


def test_a_table_follows_locale_and_no_color_as_every_program_of_ours(run, tune, program, tmp_path):
    run(tune("--max-trials", "1"), cwd=tmp_path)
    show = [str(program("autotune")), "show", str(tmp_path / "autotune.study.db")]
    for locale, separator in (("en_US.UTF8", " · "), ("de_DE.utf-8", " · "), ("C", " | ")):
        environment = {"LC_ALL": "", "LC_CTYPE": locale, "LANG": "C"}
        assert f"1 trial{separator}" in run(show, environment=environment).stdout
    for no_color, has_colour in (("", True), ("1", False)):
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ["NO_COLOR"] = no_color
            os.execv(show[0], show)
        shown = b""
        # The terminal is gone once its program has ended.
        with contextlib.suppress(OSError):
            while more := os.read(terminal, 4096):
                shown += more
        assert os.waitpid(pid, 0)[1] == 0
        os.close(terminal)
        assert (b"\x1b[1m" in shown) == has_colour, no_color


def test_a_study_shows_exports_and_applies_its_best(run, tune, program, tmp_path):
    """The page needs nothing from outside."""
    done = run(tune("--max-trials", "12"), cwd=tmp_path)
    assert "see why: autotune.study.html" in done.stdout
    page = (tmp_path / "autotune.study.html").read_text()
    best = (tmp_path / "best.json").read_bytes()

    def study(command, *options):
        return run([program("autotune"), command, "autotune.study.db", *options], cwd=tmp_path)

    shown = study("show")
    assert [line for line in done.stdout.splitlines() if line not in shown.stdout.splitlines()][:1]
    assert done.stdout.partition("see why")[0].endswith(shown.stdout), "the same table"
    one = study("show", "--trial", "1").stdout
    assert one.startswith("trial 1  ok  first\n  batch_size 32, workers 0\n")
    assert json.loads(study("export", "--format", "json").stdout)["trials"][0]["id"] == 1
    rows = list(csv.DictReader(io.StringIO(study("export", "--format", "csv").stdout)))
    assert (rows[0]["batch_size"], float(rows[0]["samples_per_s"])) == ("32", 100)
    assert len(rows) == len(trials_of(tmp_path))
    assert study("export").stdout == page

    (tmp_path / "best.json").unlink()
    assert study("show").stdout.splitlines()[-1] == 'run it:  sh -c "$(autotune apply autotune.study.db)"'
    applied = study("apply")
    assert applied.stdout.startswith("redline run --config best.json -- ")
    assert (tmp_path / "best.json").read_bytes() == best

    parser = PageParser()
    parser.feed(page)
    assert parser.outside == []
    assert parser.count["svg"] == 3
    assert parser.count["circle"] + parser.count["path"] >= 2 * len(rows) - 1
    assert parser.count["tr"] >= len(rows)


def test_the_command_to_run_sets_the_variables_with_placeholders(run, succeed, program, tmp_path):
    search = ["--knob", "x=1,2", "--metric", "rate=([0-9]+)", "--max-trials", "2"]
    job = ["sh", "-c", "echo rate=$RATE"]
    done = succeed([program("autotune"), *search, "--", *job], cwd=tmp_path, environment={"RATE": "{x}"})
    (line,) = re.findall("^run it:  (.*)$", done.stdout, re.M)
    assert line == "RATE='{x}' redline run --config best.json -- sh -c 'echo rate=$RATE'"
    path = {"PATH": f"{program('redline').parent}:{os.environ['PATH']}"}
    for command in (line, 'sh -c "$(autotune apply autotune.study.db)"'):
        assert succeed(["sh", "-c", command], cwd=tmp_path, environment=path).stdout == "rate=2\n"
    without = run([program("redline"), "run", "--config", "best.json", "--", *job], cwd=tmp_path)
    assert without.returncode == 1
    assert "Give the command that was tuned, or set the variable that held {x} in the search" in without.stderr
    other = run([program("autotune"), *search, "--study", "autotune.study.db", "--resume", "--", *job],
                cwd=tmp_path, environment={"RATE": "1{x}"})
    assert "its trials had another environment" in other.stderr


class PageParser(html.parser.HTMLParser):
    """Counts a page's elements; `outside` has what the page would load."""

    def __init__(self):
        super().__init__()
        self.count = collections.Counter()
        self.outside = []

    def handle_starttag(self, tag, attrs):
        self.count[tag] += 1
        self.outside += [value for name, value in attrs if name in ("src", "href")]


def test_secrets_of_the_command_are_not_shown(run, tune, program, tmp_path):
    """Only the study has them, for --resume and for `autotune apply`, which prints a command that starts."""
    study, secret = "autotune.study.db", ("0", "--api-key", "planted")
    outputs = [run([*tune("--max-trials", "2"), *secret], cwd=tmp_path)]
    assert outputs[0].returncode == 0 and "--api-key '***'" in outputs[0].stdout
    for words in (["show", study], *(["export", study, "--format", name] for name in ("html", "json", "csv"))):
        outputs.append(run([program("autotune"), *words], cwd=tmp_path))
    outputs.append(run([*tune("--dry-run"), *secret], cwd=tmp_path))
    outputs.append(run([*tune("--resume", "--study", study, seconds="1"), *secret], cwd=tmp_path))
    assert "another command" in outputs[-1].stderr
    files = [(tmp_path / name).read_text() for name in ("best.json", "autotune.study.html")]
    assert "planted" not in "".join(files + [done.stdout + done.stderr for done in outputs])
    assert run([program("autotune"), "apply", study], cwd=tmp_path).stdout.endswith(" --api-key planted\n")


def test_what_is_no_study_is_said_in_one_line(run, program, tmp_path):
    (tmp_path / "text").write_text("no database, but long enough to be looked at" * 30)
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()
    for name, words in (("none", "No such file"), ("text", "not a study. autotune writes one: autotune.study.db\n"),
                        ("empty", "it is empty, not a study\n"), ("folder", "a folder, not a study\n")):
        done = run([program("autotune"), "show", name], cwd=tmp_path)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith(f"autotune: {name}: ") and words in done.stderr
        assert done.stderr.count("\n") == 1
    assert run([program("autotune"), "apply"]).returncode == 2
    unnamed = run([program("autotune"), "show", ""])  # a script's variable that is not set
    assert unnamed.returncode == 2
    assert unnamed.stderr == "autotune: show: no study is named. Example: autotune show autotune.study.db\n"


def test_a_command_that_failed_can_be_mended_and_run_again(run, succeed, tune, program, tmp_path):
    failed = run([program("autotune"), "--max-trials", "1", "--", "false"], cwd=tmp_path)
    assert failed.returncode == 1
    done = succeed(tune("--max-trials", "2"), cwd=tmp_path)
    assert "no trial in it succeeded; started over" in done.stderr
    assert [outcome for *_, outcome in trials_of(tmp_path)][0] == "ok"


def test_a_command_that_never_works_is_reported_with_its_own_words(run, program, tmp_path):
    words = [program("autotune"), "--knob", "n=1,2", "--metric", r"rate: (\d+)", "--"]
    done = run([*words, "sh", "-c", "echo why it failed >&2; exit 3", "{n}"], cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("autotune: no trial succeeded")
    assert "why it failed" in done.stderr
    assert not (tmp_path / "best.json").exists()


def test_dry_run_runs_nothing(succeed, tune, tmp_path):
    done = succeed(tune("--dry-run", "--budget", "2m", "--memory-limit", "1GiB"), cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []
    for words in ("8..512", "2 min for all trials", "1.0 GiB a process", "metric_job.py 32 0"):
        assert words in done.stdout
    assert "a trial        until the command ends, at most 30.0 s" in done.stdout
    assert "study          autotune.study.db\n" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines()[:-1])


def test_dry_run_says_what_becomes_of_a_study(succeed, run, tune, tmp_path):
    succeed(tune("--max-trials", "2"), cwd=tmp_path)
    for words, seconds, study in (
        (["--resume"], "0", "autotune.study.db (resumed)"),
        ([], "0", "autotune.study.db: has 2 trials already. --resume goes on with them;"),
        (["--resume"], "1", "autotune.study.db: its trials had another command"),
    ):
        done = succeed(tune("--dry-run", *words, seconds=seconds), cwd=tmp_path)
        assert "study " + study in " ".join(done.stdout.split())
    refused = run(tune("--dry-run", "-o", "none/best.json"), cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "-o none/best.json: No such file or directory. Choose" in refused.stderr


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (
            ["--knob", "batch=8..4"],
            "--knob batch=8..4: the range is empty (8 > 4). Example: --knob batch_size=8..512",
        ),
        (["--knob", "x=1,2"], "--knob x=1,2: nothing sets x"),
        (["--knob", "batchsize=8..64"], "--knob batchsize=8..64: nothing sets batchsize; did you mean batch_size? If"),
        (["--bugdet", "2m"], "no such option: --bugdet; did you mean --budget? See autotune --help\n"),
        (["--budget", "soon"], "--budget: 'soon' is no duration. Example: 90s, 10m, 1.5h"),
        (["--memory-limit", "big"], "--memory-limit: 'big' is no size"),
        (["--metric", "no group"], "--metric: 'no group' has 0 groups"),
        (["--metric", "("], "--metric: '(': "),
        (["--strategy", "luck"], "--strategy: luck not in"),
        (["--max-trials", "0"], "--max-trials: must be a number above 0, not '0', see autotune --help\n"),
        (["--seed", "-1"], "--seed: must be 0 or more, not '-1', see autotune --help\n"),
        (["--parallel", "9999"], "--parallel 9999: each trial needs a "),
        (["-o", "none/best.json", "--knob", "batch_size=8"], "-o none/best.json: No such file or directory. Choose"),
        (["-o", "/tmp", "--knob", "batch_size=8"], "-o /tmp is a folder. Choose a file\n"),
        (["-o", ""], "--output: needs the name of a file, see autotune --help\n"),
        (["--study", ""], "--study: needs the name of a file, see autotune --help\n"),
        (["--knob", "num_workers=auto,4"], "--knob num_workers=auto,4: num_workers takes integers. Example: --knob"),
        (["--global-batch", "10000000000000"], "--global-batch 10000000000000: no step takes so many samples. Give at"),
        (["--step-marker", "step", "--metric", "([0-9]+)"], "--metric excludes --step-marker"),
    ],
)
def test_wrong_inputs_are_usage_errors_in_one_line(run, program, tmp_path, options, error):
    done = run([program("autotune"), *options, "--", "true"], cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("autotune: " + error)
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_a_slip_in_a_command_is_no_training_command(run, program, tmp_path):
    done = run([program("autotune"), "shwo", "autotune.study.db"], cwd=tmp_path)
    error = "autotune: no such command: shwo; did you mean show? See autotune --help\n"
    assert (done.returncode, done.stderr) == (2, error)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [[], ["--dry-run"]])
def test_a_command_that_cannot_start_is_no_search(run, program, tmp_path, options):
    script = tmp_path / "train.py"
    script.touch(0o644)
    for words, error in (
        (["pyhton", "train.py"], "pyhton: No such file or directory. The command to tune stands after --"),
        ([script], f"{script}: Permission denied. Start it with Python: python {script}"),
        (["python train.py"], "python train.py: No such file or directory. If these are several words, give them"),
    ):
        done = run([program("autotune"), *options, "--", *words], cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("autotune: " + error)
        assert list(tmp_path.iterdir()) == [script]


@pytest.mark.parametrize("options, command", [
    (["--knob", "program=none,other"], ["{program}"]),
    (["--launcher", "slurm"], ["on-the-nodes-alone"]),
])
def test_a_program_that_cannot_be_known_beforehand_is_no_mistake(succeed, program, tmp_path, options, command):
    done = succeed([program("autotune"), "--dry-run", *options, "--", *command], cwd=tmp_path)
    assert done.stdout.splitlines()[-1].strip().endswith(command[0].replace("{program}", "none"))


def test_one_run_of_a_metric_claims_no_interval(run, program, tmp_path):
    search = ["--knob", "x=1,2", "--metric", "rate ([0-9]+)", "--max-trials", "2", "--", "echo", "rate {x}"]
    done = run([program("autotune"), *search], cwd=tmp_path)
    verdict = "2.00 x the first trial, not confirmed: it ran once"
    assert f"BEST  2.00 by --metric (one run)\n      {verdict}\n" in done.stdout
    page = (tmp_path / "autotune.study.html").read_text()
    assert "one run</span>" in page and f"<p>{verdict}</p>" in page
    shown = run([program("autotune"), "show", "autotune.study.db", "--trial", "1"], cwd=tmp_path)
    assert "  1.00 by --metric\n" in shown.stdout


def test_output_that_cannot_be_written_is_an_error(run, program, tmp_path):
    (tmp_path / "gone").mkdir()
    search = ["--knob", "x=1,2", "--metric", "rate ([0-9]+)", "--max-trials", "2", "-o", "gone/best.json"]
    done = run([program("autotune"), *search, "--", "sh", "-c", "rm -rf gone; echo rate {x}"], cwd=tmp_path)
    assert done.returncode == 1
    assert "gone/best.json: No such file or directory" in done.stderr
    assert len(trials_of(tmp_path)) == 2, "the study is complete all the same"


def test_no_output_overwrites_the_study(run, succeed, program, tmp_path):
    autotune = program("autotune")
    search = [autotune, "--knob", "x=1,2", "--metric", "rate ([0-9]+)", "--max-trials", "2"]
    job = ["--", "echo", "rate {x}"]
    for options, error in (
        (["--study", "a.db", "-o", "./a.db"], "-o ./a.db is the study. Choose another file"),
        (["--study", "a.html"], "--study a.html: the page about the study gets this name. Choose another one, such as "
                                "autotune.study.db"),
        (["-o", "autotune.study.html"], "-o autotune.study.html: the page about the study gets this name. Choose another "
                                        "file"),
    ):
        done = run([*search, *options, *job], cwd=tmp_path)
        assert (done.returncode, done.stderr) == (2, f"autotune: {error}\n")
        assert list(tmp_path.iterdir()) == []
    succeed([*search, "--study", "a.db", *job], cwd=tmp_path)
    (tmp_path / "link.db").symlink_to("a.db")
    before = (tmp_path / "a.db").read_bytes()
    for command, output in (("export", "a.db"), ("apply", "a.db"), ("apply", "link.db")):
        done = run([autotune, command, "a.db", "-o", output], cwd=tmp_path)
        assert (done.returncode, done.stderr) == (2, f"autotune: -o {output} is the study. Choose another file\n")
        assert (tmp_path / "a.db").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "command", "stream", "status"),
    [
        (["--max-trials", "9", "--format", "json"], "echo rate {x}", ">", 1),
        (["--dry-run"], "echo rate {x}", ">", 1),
        (["--max-trials", "2"], "false {x}", "2>", 1),
        (["--cheese"], "echo rate {x}", "2>", 2),
    ],
)
def test_a_stream_that_takes_nothing_is_no_crash(run, program, tmp_path, options, command, stream, status):
    search = [program("autotune"), "--knob", "x=1..9", "--metric", "rate ([0-9]+)", *options, "--", *command.split()]
    done = run(["sh", "-c", f'exec "$@" {stream}/dev/full', "sh", *search], cwd=tmp_path)
    assert done.returncode == status, done.stderr
    assert ("stdout: the output could not be written" in done.stderr) == (stream == ">")


def test_a_closed_terminal_ends_the_search_in_order(tune, tmp_path, no_process_left):
    ours, its = pty.openpty()
    command = [str(word) for word in tune("--max-trials", "9")]
    environment = {**os.environ, **held_from(3)}
    with subprocess.Popen(command, env=environment, stdin=its, stdout=its, stderr=its, cwd=tmp_path,
                          start_new_session=True) as autotune:
        os.close(its)
        wait_for_trial(tmp_path, 3)
        os.close(ours)
        autotune.send_signal(signal.SIGHUP)  # as the kernel does where the terminal controls the session
        assert autotune.wait(timeout=60) == 1, "its output could not be written"
    assert [state for _, state, _, _ in trials_of(tmp_path)] == ["finished", "finished", "interrupted"]
    assert (tmp_path / "autotune.study.html").exists()


def test_profile_best_records_the_default_and_the_best(run, succeed, program, python, tmp_path, no_process_left):
    train = f"{python} {JOB.with_name('plain_loop.py')} --steps 12 --batch-size {{batch_size}}"
    options = ["--knob", "batch_size=8,64", *METRIC, "--max-trials", "2", "--strategy", "grid", "--profile-best"]
    job = ["sh", "-c", f"{train} && echo rate: {{batch_size}}"]
    done = succeed([program("autotune"), *options, "--", *job], cwd=tmp_path)
    best = json.loads((tmp_path / "best.json").read_text())
    assert best["knobs"] == {"batch_size": 64}
    folder = tmp_path / "autotune.study.profile"
    assert best["profile"] == {"default": str(folder / "default"), "best": str(folder / "best")}
    for name, samples in (("default", 8), ("best", 64)):
        (trace,) = traces(folder / name)
        assert len(step_numbers(trace)) == 5
        assert trace["redline"]["samples_per_step"] == samples

    diff = [program("redline"), "diff", "--top", "5"]
    again = run([*diff, folder / "default", folder / "best"], cwd=tmp_path)
    changes = again.stdout.partition("SAMPLES a second")[2]
    assert changes and changes in done.stdout
    page = html.unescape((tmp_path / "autotune.study.html").read_text())
    assert "redline diff autotune.study.profile/default autotune.study.profile/best" in page
    assert changes[:200] in page


def test_profile_best_keeps_the_memory_limit(run, program, tmp_path, no_process_left):
    job = ["sh", "-c", "ulimit -d >> limits; echo rate: {n}"]
    options = ["--knob", "n=1,2", *METRIC, "--max-trials", "2", "--strategy", "grid", "--memory-limit", "1GiB"]
    run([program("autotune"), *options, "--profile-best", "--", *job], cwd=tmp_path)
    limits = [int(line) for line in (tmp_path / "limits").read_text().split()]
    room = 512 << 10  # KiB that the recorder may use
    assert limits[:2] == [1 << 20] * 2
    assert limits[2:] and set(limits[2:]) == {(1 << 20) + room}


def test_profile_best_says_why_there_is_no_trace(run, tune, tmp_path):
    done = run(tune("--max-trials", "2", "--profile-best"), cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("autotune: --profile-best: no trace in autotune.study.profile/")
    assert "profile" not in json.loads((tmp_path / "best.json").read_text())
    assert "BEST" in done.stdout


# A training without PyTorch that reports its own steps. The stub of NVML reads the used GPU memory from a file.
STEPS_JOB = """
import json, os, sys, time
batch, used = int(sys.argv[1]), os.environ.get("REDLINE_STUB_USED_FILE")
if used:
    open(used, "w").write("5000")
step = 0
while True:
    step += 1
    time.sleep(0.002)
    with open(os.environ["REDLINE_TRIAL"], "w") as channel:
        channel.write(json.dumps({"type": "step", "rank": 0, "world": 1, "t": time.monotonic_ns(),
                                  "steps": step, "samples": step * batch}) + "\\n")
"""


@pytest.fixture
def stubbed(run, program, python, tmp_path):
    """stubbed(option…, VARIABLE=value) runs autotune on a machine whose NVML is the stub."""
    stubs = stub("libnvidia-ml.so.1").parent
    (tmp_path / "job.py").write_text(STEPS_JOB)

    def tuned(*options, **variables):
        words = [program("autotune"), "--knob", "batch=8,16", "--strategy", "grid", "--max-trials", 2, "--budget", "40s"]
        environment = {"LD_LIBRARY_PATH": str(stubs), "REDLINE_STUB_GPUS": "2", **variables}
        return run([*words, *options, "--", python, "-S", "job.py", "{batch}"], cwd=tmp_path, environment=environment)

    return tuned


def test_searches_for_samples_per_joule(stubbed, run, program, tmp_path, no_process_left):
    done = stubbed("--objective", "energy")
    assert done.returncode == 0, done.stderr
    best = json.loads((tmp_path / "best.json").read_text())
    # Each of the stub's two GPUs takes 512.3 W, busy or not.
    watts = best["joules_per_sample"] * best["throughput"]["samples_per_s"]
    assert watts == pytest.approx(2 * 512.3, rel=0.05)
    assert "objective samples/J, of all GPUs" in done.stdout and " J a sample at " in done.stdout
    shown = run([program("autotune"), "show", tmp_path / "autotune.study.db"])
    assert "samples/J" in shown.stdout, shown.stderr
    one = run([program("autotune"), "show", tmp_path / "autotune.study.db", "--trial", "1"]).stdout
    assert re.search(r"^  [\d.]+ samples/J \(.*^  [\d.]+ J a sample at [\d.,]+ samples/s$", one, re.M | re.S), one
    exported = run([program("autotune"), "export", tmp_path / "autotune.study.db", "--format", "json"]).stdout
    for trial in json.loads(exported)["trials"]:
        assert trial["samples_per_joule"]["samples_per_s"] == pytest.approx(1 / trial["joules_per_sample"])
    page = (tmp_path / "autotune.study.html").read_text()
    assert "<th class=number>samples/J</th><th class=number>expected</th><th class=number>J a sample</th>" in page
    assert re.search(r": [\d.]+ samples/J[^<]*</title>", page)
    again = stubbed("--resume")
    assert again.returncode == 1 and "another --objective (energy)" in again.stderr


def test_without_nvml_nothing_is_searched_for_energy(run, tune, tmp_path):
    words = [word for word in tune("--objective", "energy") if word not in METRIC]
    done = run(words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "autotune: --objective energy: NVML shows no GPU here, and nothing else tells their energy\n"
    )
    metric = run(tune("--objective", "energy"), cwd=tmp_path)
    assert metric.returncode == 2 and "not --metric" in metric.stderr


def test_gpu_memory_that_comes_back_late_is_awaited(stubbed, tmp_path, no_process_left):
    """A stand-in for the driver frees the memory when the trial's process is gone."""
    used = tmp_path / "used"
    used.write_text("703")
    over = threading.Event()

    def driver():
        while not over.wait(0.05):
            if used.read_text() == "5000" and not jobs_in(tmp_path):
                used.write_text("703")

    thread = threading.Thread(target=driver)
    thread.start()
    try:
        done = stubbed(REDLINE_STUB_USED_FILE=str(used))
    finally:
        over.set()
        thread.join()
    assert done.returncode == 0 and "more than before" not in done.stdout, done.stdout + done.stderr


def jobs_in(folder):
    """The processes of the training that run in `folder`."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "cwd").resolve() == folder:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                found += [entry.name] if words[1:3] == [b"-S", b"job.py"] else []
    return found

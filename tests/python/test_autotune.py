"""`autotune` from outside: what it finds, keeps, prints and leaves behind."""

import collections
import contextlib
import csv
import html.parser
import io
import json
import pathlib
import signal
import sqlite3
import time

import pytest

JOB = pathlib.Path(__file__).with_name("scripts") / "metric_job.py"
KNOBS = ["--knob", "batch_size=8..512", "--knob", "workers=0..8"]
METRIC = ["--metric", r"rate: ([0-9.]+)"]


@pytest.fixture
def tune(program, python, tmp_path):
    """tune("--budget", "20s", seconds="0"): the words of an autotune command over the stand-in."""

    def words(*options, seconds="0"):
        job = [python, "-S", JOB, "{batch_size}", "{workers}", seconds]
        return [program("autotune"), *KNOBS, *METRIC, *options, "--", *job]

    return words


def trials_of(folder):
    """(id, state, config, outcome) of each trial in the study."""
    with contextlib.closing(sqlite3.connect(folder / "autotune.study.db")) as study:
        rows = study.execute("SELECT id, state, config, outcome FROM trials ORDER BY id")
        return [(row[0], row[1], json.loads(row[2]), row[3]) for row in rows]


def wait_for_trial(folder, number):
    """Returns once trial `number` has begun."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with contextlib.suppress(sqlite3.OperationalError):
            if len(trials_of(folder)) >= number:
                return
        time.sleep(0.02)
    pytest.fail(f"trial {number} did not begin")


def test_finds_the_peak_and_survives_running_out_of_memory(
    run, tune, tmp_path, no_process_left
):
    done = run(tune("--max-trials", "24"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
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


def test_killed_in_any_trial_it_goes_on(run, start, tune, tmp_path, no_process_left):
    command = tune("--max-trials", "10", "--resume", seconds="0.3")
    for number in (1, 3, 4):
        with start(command, cwd=tmp_path) as autotune:
            wait_for_trial(tmp_path, number)
            autotune.kill()
            autotune.wait()
    done = run(command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
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
    with start(tune("--max-trials", "9", seconds="0.5"), cwd=tmp_path) as autotune:
        wait_for_trial(tmp_path, 3)
        for _ in range(presses):
            autotune.send_signal(signal.SIGINT)
        stdout, stderr = autotune.communicate(timeout=30)
    assert autotune.returncode == 0
    assert "BEST" in stdout
    assert "--resume goes on" in stderr
    assert [state for _, state, _, _ in trials_of(tmp_path)][-1] == "interrupted"
    assert json.loads((tmp_path / "best.json").read_text())["trials"] == 2


def test_a_study_is_not_mixed_with_another(run, tune, tmp_path):
    assert run(tune("--max-trials", "2"), cwd=tmp_path).returncode == 0
    again = run(tune("--max-trials", "2"), cwd=tmp_path)
    assert again.returncode == 1
    assert again.stderr == (
        "autotune: autotune.study.db: has 2 trials already. --resume goes on with them; "
        "--study takes another file\n"
    )
    other = run(tune("--max-trials", "2", "--resume", seconds="0.1"), cwd=tmp_path)
    assert other.returncode == 1
    assert "its trials had another command" in other.stderr


def test_two_at_once_are_refused(run, start, tune, tmp_path):
    with start(tune("--max-trials", "3", seconds="5"), cwd=tmp_path) as first:
        wait_for_trial(tmp_path, 1)
        second = run(tune("--resume", seconds="5"), cwd=tmp_path)
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=30)
    assert second.returncode == 1
    assert "another autotune is using it" in second.stderr


def test_a_study_shows_exports_and_applies_its_best(run, tune, program, tmp_path):
    """Also after best.json is gone, and with a page that needs nothing from outside."""
    done = run(tune("--max-trials", "12"), cwd=tmp_path)
    assert "see why: autotune.study.html" in done.stdout
    page = (tmp_path / "autotune.study.html").read_text()
    best = (tmp_path / "best.json").read_bytes()
    (tmp_path / "best.json").unlink()

    def study(command, *options):
        return run([program("autotune"), command, "autotune.study.db", *options], cwd=tmp_path)

    shown = study("show")
    assert [line for line in done.stdout.splitlines() if line not in shown.stdout.splitlines()][:1]
    assert done.stdout.partition("see why")[0].endswith(shown.stdout), "the same table"
    one = study("show", "--trial", "1").stdout
    assert one.startswith("trial 1  ok  default\n  batch_size 32, workers 0\n")
    assert json.loads(study("export", "--format", "json").stdout)["trials"][0]["id"] == 1
    rows = list(csv.DictReader(io.StringIO(study("export", "--format", "csv").stdout)))
    assert (rows[0]["batch_size"], float(rows[0]["samples_per_s"])) == ("32", 100)
    assert len(rows) == len(trials_of(tmp_path))
    assert study("export").stdout == page

    applied = study("apply")
    assert applied.stdout.startswith("redline run --config best.json -- ")
    assert (tmp_path / "best.json").read_bytes() == best

    parser = PageParser()
    parser.feed(page)
    assert parser.outside == []
    assert parser.count["svg"] == 2
    assert parser.count["circle"] + parser.count["path"] >= 2 * len(rows) - 1
    assert parser.count["tr"] >= len(rows)


class PageParser(html.parser.HTMLParser):
    """Counts elements; `outside` is what the page would load."""

    def __init__(self):
        super().__init__()
        self.count = collections.Counter()
        self.outside = []

    def handle_starttag(self, tag, attrs):
        self.count[tag] += 1
        self.outside += [value for name, value in attrs if name in ("src", "href")]


def test_what_is_no_study_is_said_in_one_line(run, program, tmp_path):
    (tmp_path / "text").write_text("no database, but long enough to be looked at" * 30)
    (tmp_path / "empty").touch()
    for name, words in (("none", "No such file"), ("text", "not a database"), ("empty", "no study")):
        done = run([program("autotune"), "show", name], cwd=tmp_path)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith(f"autotune: {name}: ") and words in done.stderr
        assert done.stderr.count("\n") == 1
    assert run([program("autotune"), "apply"]).returncode == 2


def test_a_mistyped_command_can_be_mended_and_run_again(run, tune, program, tmp_path):
    failed = run([program("autotune"), "--max-trials", "1", "--", "/none/python"], cwd=tmp_path)
    assert failed.returncode == 1
    done = run(tune("--max-trials", "2"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "none of its 1 trial succeeded; started over" in done.stderr
    assert [outcome for *_, outcome in trials_of(tmp_path)][0] == "ok"


def test_a_command_that_never_works_is_reported_with_its_own_words(run, program, tmp_path):
    words = [program("autotune"), "--knob", "n=1,2", "--metric", r"rate: (\d+)", "--"]
    done = run([*words, "sh", "-c", "echo why it failed >&2; exit 3", "{n}"], cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("autotune: no trial succeeded")
    assert "why it failed" in done.stderr
    assert not (tmp_path / "best.json").exists()


def test_dry_run_runs_nothing(run, tune, tmp_path):
    done = run(tune("--dry-run", "--budget", "2m", "--memory-limit", "1GiB"), cwd=tmp_path)
    assert done.returncode == 0
    assert list(tmp_path.iterdir()) == []
    for words in ("8..512", "2 min for all trials", "1.0 GiB a process", "metric_job.py 32 0"):
        assert words in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines()[:-1])


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (
            ["--knob", "batch=8..4"],
            "--knob batch=8..4: the range is empty (8 > 4). Example: --knob batch_size=8..512",
        ),
        (["--knob", "x=1,2"], "--knob x=1,2: nothing sets x"),
        (["--budget", "soon"], "--budget: 'soon' is no duration. Example: 90s, 10m, 1.5h"),
        (["--memory-limit", "big"], "--memory-limit: 'big' is no size"),
        (["--metric", "no group"], "--metric: 'no group' has 0 groups"),
        (["--metric", "("], "--metric: '(': "),
        (["--strategy", "luck"], "--strategy: luck not in"),
        (["--max-trials", "0"], "--max-trials: "),
        (["--parallel", "2"], ""),
    ],
)
def test_wrong_inputs_are_usage_errors_in_one_line(run, program, tmp_path, options, error):
    done = run([program("autotune"), *options, "--", "true"], cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("autotune: " + error)
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_output_that_cannot_be_written_is_an_error(run, tune, tmp_path):
    done = run(tune("--max-trials", "2", "-o", "none/best.json"), cwd=tmp_path)
    assert done.returncode == 1
    assert "none/best.json: No such file or directory" in done.stderr
    assert len(trials_of(tmp_path)) == 2, "the study is complete all the same"

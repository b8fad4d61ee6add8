"""Who hangs: `redline record --ring` says it while the job hangs, and `redline report` afterwards.

These are a few of the cases of tests/hang/job.py. `./scripts/hangs` runs all of them, several times.
"""

import contextlib
import json
import pathlib
import sys

import pytest

HANG = pathlib.Path(__file__).parents[1] / "hang"
sys.path.append(str(HANG))
import job as cases  # noqa: E402

HANG_AFTER = "3s"
KINDS = {case.__name__: expected for case, expected in cases.HANGS.items()}

pytestmark = pytest.mark.usefixtures("no_process_left")


@pytest.fixture
def command(program, python, tmp_path):
    def words(case, ranks=3):
        return [program("redline"), "record", "-o", tmp_path / "traces", "--ring", "30s", "--hang-after", HANG_AFTER,
                "--", python, HANG / "job.py", case, ranks]

    return words


def lines_until_verdict(process):
    lines = []
    for line in process.stderr:
        lines.append(line)
        if "the job hangs" in line:
            return [line, *(next(process.stderr) for _ in range(1 if "stopped" in line else 2))]
    raise AssertionError(f"no verdict: {''.join(lines)}")


@pytest.mark.parametrize("case", ["barrier_in_one_branch", "stopped", "stuck_loader", "sleeping_hook"])
def test_the_verdict_names_kind_rank_and_line(start, run, command, program, tmp_path, case):
    kind, function = KINDS[case]
    with start(command(case), cwd=tmp_path) as process:
        said = lines_until_verdict(process)
        report = run([program("redline"), "report", "--format", "json", tmp_path / "traces"])
        text = run([program("redline"), "report", tmp_path / "traces"])
    assert said[0].startswith("redline: the job hangs: rank 1 "), said
    hang = json.loads(report.stdout)["hang"]
    assert (hang["kind"], hang["ranks"], hang["waiting_ranks"]) == (kind, [1], [0, 2])
    assert (hang["group"], hang["step"]) == ("0", 10)
    # Two all-reduces a step come first.
    assert hang["sequence"] == 21
    assert hang["operation"] == "all_reduce"
    if function:
        assert hang["stack"][0].endswith(" " + function)
        assert f"at {hang['stack'][0]}" in said[1]
    assert "! hangs    rank 1 " in text.stdout


def processes_of(case):
    def words_of(folder):
        with contextlib.suppress(OSError):
            return (folder / "cmdline").read_bytes().split(b"\0")
        return []

    return [folder.name for folder in pathlib.Path("/proc").glob("[0-9]*") if case.encode() in words_of(folder)]


def test_a_job_that_hangs_is_ended_if_asked(run, command, tmp_path):
    words = command("stopped")
    words[words.index("--"):words.index("--")] = ["--on-hang", "abort"]
    done = run(words, cwd=tmp_path)
    assert done.returncode == 75, done.stderr
    said = done.stderr.splitlines()
    verdict = next(i for i, line in enumerate(said) if line.startswith("redline: the job hangs: rank 1 was stopped"))
    assert "redline: the job is ended (--on-hang abort)" in said[verdict:]
    assert processes_of("stopped") == []


@pytest.mark.parametrize("case", ["uneven_work", "paused"])
def test_a_slow_job_gets_no_verdict(run, command, program, tmp_path, case):
    done = run(command(case, 2), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "hangs" not in done.stderr
    assert list((tmp_path / "traces").glob("*.hang.redline")) == []

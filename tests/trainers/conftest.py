"""What the tests on real trainers share: running a program plainly, recorded, tuned, and with the best knobs."""

import itertools
import json
import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "python"))
from knob_runs import run_with_knobs  # noqa: E402
from running import run_to_end  # noqa: E402

BUILD = pathlib.Path(os.environ.get("REDLINE_BUILD", ROOT / "build" / "release")) / "bin"
PYTHON = ROOT / "build" / "trainers" / "bin" / "python"
PROGRAMS = pathlib.Path(__file__).with_name("programs")
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node"]
ACCELERATE = ["-m", "accelerate.commands.launch", "--multi_gpu", "--mixed_precision", "no", "--num_machines", 1,
              "--dynamo_backend", "no", "--num_processes"]
STARTS_ITS_RANKS = {"lightning_fit", "spawned"}


def pytest_configure(config):
    config.addinivalue_line("markers", "fast: what CI runs, too")


class Trainer:
    """Runs the programs of a test in the test's own folder."""

    def __init__(self, folder):
        self.folder = folder

    def command(self, name, *arguments, ranks=1, launcher=TORCHRUN):
        words = [*launcher, ranks] if ranks > 1 and name not in STARTS_ITS_RANKS else []
        return [PYTHON, *words, PROGRAMS / f"{name}.py", *arguments]

    def run(self, words, check=True, **more):
        """`more` is added to the environment."""
        environment = {
            "OMP_NUM_THREADS": "1",
            "REDLINE_CACHE": "off",
            "HF_HUB_OFFLINE": "1",
            "PYTHONWARNINGS": "ignore",
            "XDG_RUNTIME_DIR": str(self.folder),
            **more,
        }
        return run_to_end(words, 900, environment, check, cwd=self.folder)

    def plain(self, command):
        """Runs the program and returns what it says of its own run."""
        return outcome_of(self.run(command))

    def record(self, command, *options):
        """Records the program. Returns what it says of its run, and the report on its traces."""
        done = self.run([BUILD / "redline", "record", "-o", "traces", *options, "--", *command])
        assert "recording ended early" not in done.stderr
        return outcome_of(done), self.report()

    def report(self):
        return json.loads(self.run([BUILD / "redline", "report", "--format", "json", "traces"]).stdout)

    def try_to_tune(self, command, *options, check=False):
        (self.folder / "outcomes").mkdir()
        words = [BUILD / "autotune", "--format", "json", *options, "--", *command]
        return self.run(words, check, OUTCOME=str(self.folder / "outcomes"))

    def tune(self, command, *options):
        """Tunes the program. Returns what `autotune --format json` prints, and its text for messages."""
        done = self.try_to_tune(command, *options, check=True)
        return json.loads(done.stdout), done.stderr

    def own_rates(self, trials):
        """By trial, the lowest and the highest samples a second that the program itself counted over as many steps in
        a row as autotune measured. On a quiet machine they are nearly the same; which steps were measured is not
        known."""
        rates = {}
        for trial in trials:
            for path in (self.folder / "outcomes").glob(f"{trial['id']}.*.steps"):
                steps = [line.split() for line in path.read_text().splitlines()]
                ends_s = [float(end) for _, end in steps]
                samples = [0, *itertools.accumulate(int(count) for count, _ in steps[1:])]
                span = min(trial["steps"], len(ends_s) - 1)
                runs = [(samples[i + span] - samples[i]) / (ends_s[i + span] - ends_s[i])
                        for i in range(len(ends_s) - span)]
                rates[trial["id"]] = (min(runs), max(runs))
        return rates

    def trial(self, words, knobs):
        """Runs a trial with these knobs as autotune does: see knob_runs."""
        startup = ROOT / "python" / "redline" / "startup"
        return run_with_knobs(PYTHON, startup, self.folder, knobs, words[1:], trial=True, check=True, seconds=900)

    def with_best(self, command, **knobs):
        """Runs the program by redline run, with the search's best.json into which these knobs were put."""
        best = json.loads((self.folder / "best.json").read_text())
        (self.folder / "best.json").write_text(json.dumps({**best, "knobs": {**best["knobs"], **knobs}}))
        return outcome_of(self.run([BUILD / "redline", "run", "--config", "best.json", "--", *command]))


def outcome_of(done):
    lines = [line for line in done.stdout.splitlines() if "OUTCOME " in line]
    assert len(lines) == 1, done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads(lines[0].partition("OUTCOME ")[2])


@pytest.fixture
def trainer(tmp_path):
    return Trainer(tmp_path)

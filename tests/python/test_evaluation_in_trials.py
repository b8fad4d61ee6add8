"""Evaluations between the steps count neither as samples nor as time, and not as a hang."""

import json
import os
import pathlib
import sys
import threading
import time

import pytest
import torch
from knob_runs import of_type

SCRIPT = pathlib.Path(__file__).with_name("scripts") / "evaluates.py"


@pytest.mark.parametrize("how", ["around", "inside", "inference", "with gradients", "trainer"])
@pytest.mark.parametrize("ordered", [True, False])
def test_batches_of_evaluation_are_no_samples(with_knobs, how, ordered):
    done = with_knobs({"batch_size": 16} if ordered else {}, SCRIPT, how, *(["--ordered"] if ordered else []), trial=True)
    last = of_type(done, "step")[-1]
    steps = 6 if how == "trainer" else 9  # it fetches the last batch of an epoch together with the one before
    assert (last["steps"], last["samples"], last["epoch"]) == (steps, 120, 40)


@pytest.mark.parametrize("arguments", [["around"], ["around", "--ordered"], ["inside"], ["inside", "--ordered"],
                                       ["with gradients"], ["loaderless"]])
def test_the_time_of_evaluation_is_told(with_knobs, arguments):
    done = with_knobs({}, SCRIPT, *arguments, trial=True)
    least, most = map(int, done.stdout.split()[1:])
    assert 0 < least <= of_type(done, "step")[-1]["evaluation"] <= most


def test_a_teacher_and_unlabelled_data_are_training(with_knobs):
    done = with_knobs({}, SCRIPT, "teacher", trial=True)
    last = of_type(done, "step")[-1]
    assert (last["steps"], last["samples"]) == (9, 120)
    assert "evaluation" not in last


@pytest.fixture
def reporter(repo_root, tmp_path, monkeypatch):
    """A TrialReporter, and lines(), which returns what it has sent."""
    monkeypatch.syspath_prepend(repo_root / "python")
    for name in [name for name in sys.modules if name.partition(".")[0] == "redline"]:
        monkeypatch.delitem(sys.modules, name)
    from redline._trial_report import TrialReporter

    path = tmp_path / "reports"
    (tmp_path / "tmp").mkdir()
    os.mkfifo(path)
    keeper = os.open(path, os.O_RDWR | os.O_NONBLOCK)

    def read_lines():
        return [json.loads(line) for line in os.read(keeper, 65536).splitlines()]

    reporter = TrialReporter(str(path))
    assert [line["type"] for line in read_lines()] == ["begin"]
    yield reporter, read_lines
    os.close(keeper)


def test_a_long_evaluation_shows_life(reporter, monkeypatch):
    reporter, read_lines = reporter
    reporter.add_batch(8, 0)
    reporter.add_step()
    now = time.monotonic()
    for seconds in (100, 200):
        monkeypatch.setattr(time, "monotonic", lambda then=now + seconds: then)  # both calls come at once, however late
        reporter.forward(gradients=False)
        reporter.forward(gradients=False)
    lines = read_lines()
    assert [(line["steps"], line["samples"]) for line in lines] == [(1, 8)] * 3
    times = [line["t"] for line in lines]
    assert times == sorted(set(times))


def test_a_step_that_is_sent_at_exit_tells_the_times_up_to_itself(reporter):
    reporter, read_lines = reporter
    reporter.add_batch(8, 3)
    reporter.add_step()
    reporter.last_line = time.monotonic() + 1000  # so that the next step sends no line
    reporter.add_batch(8, 4)
    reporter.add_step()
    reporter.evaluation.other_batch()
    reporter.forward(gradients=False)
    reporter.ask_for_batch(time.monotonic_ns())
    reporter.add_batch(8, 5)
    reporter._flush()
    last = read_lines()[-1]
    assert (last["steps"], last["samples"], last["wait"]) == (2, 16, 7)
    assert "evaluation" not in last
    assert reporter.evaluation.total_ns > 0


def test_a_thread_that_reads_ahead_waits_for_data_and_not_the_training(reporter):
    reporter, read_lines = reporter
    reporter.add_batch(8, 3)
    reporter.forward(gradients=True)
    reporter.last_line = 0.0  # so that the step sends a line
    reporter.add_step()
    assert read_lines()[-1]["wait"] == 3
    helper = threading.Thread(target=reporter.add_batch, args=(8, 4))
    helper.start()
    helper.join()
    reporter.last_line = 0.0
    reporter.add_step()
    assert "wait" not in read_lines()[-1]


def test_evaluations_within_a_step_are_no_steps(reporter):
    reporter, read_lines = reporter
    reporter.add_batch(8, 0)
    reporter.is_stepping = True
    for _ in range(100):
        reporter.note_loss(None)
        reporter.backward_ended()
    reporter.last_line = 0.0  # so that the step sends a line
    reporter.add_step()
    lines = read_lines()
    assert lines[-1]["steps"] == 1
    assert "note" not in {line["type"] for line in lines}


def test_the_check_for_nan_neither_communicates_nor_needs_a_value(reporter):
    class Sharded(torch.Tensor):
        def to_local(self):
            return torch.tensor(float("nan"))

    reporter, _ = reporter
    reporter.note_loss(torch.ones(()).as_subclass(Sharded))
    assert type(reporter.loss) is torch.Tensor
    reporter._check_loss()
    assert reporter.nan_checks == 1
    reporter.note_loss(torch.ones((), device="meta"))
    reporter._check_loss()


def fetch_one_ahead(reporter):
    """An epoch of two batches as accelerate reads them: it fetches the second before it trains on the first."""
    for _ in range(2):
        reporter.ask_for_batch(time.monotonic_ns())
        reporter.add_batch(8, 0)
    reporter.forward(gradients=True)
    reporter.add_step()
    reporter.forward(gradients=True)


def test_an_evaluation_after_a_batch_that_was_fetched_ahead(reporter):
    reporter, _ = reporter
    fetch_one_ahead(reporter)
    reporter.add_step()
    reporter.evaluation.other_batch()
    reporter.forward(gradients=False)
    reporter.ask_for_batch(time.monotonic_ns())
    assert reporter.evaluation.total_ns > 0
    assert (reporter.steps, reporter.samples) == (1, 16)


def test_what_is_looked_at_in_the_pass_of_training_is_training(reporter):
    """open_clip with --accum-freq does so before it trains on several batches."""
    reporter, _ = reporter
    loader_pass = object()
    reporter.begin_training()

    def samples_of_step(evaluated=None):
        before = reporter.samples
        for _ in range(4):
            reporter.ask_for_batch(time.monotonic_ns())
            reporter.add_batch(8, 0, loader_pass)
            reporter.forward(gradients=False, model=evaluated)
        for _ in range(4):
            reporter.forward(gradients=True)
        reporter.add_step()
        return reporter.samples - before

    assert samples_of_step() == 8, "nothing had trained in this pass"
    assert samples_of_step() == samples_of_step() == 32
    assert reporter.evaluation.total_ns == 0
    assert samples_of_step(evaluated=torch.nn.Linear(4, 1)) == 8
    assert reporter.evaluation.total_ns > 0
    reporter.pass_begins(loader_pass)
    assert samples_of_step() == 8


LOOKED_AT = """
import torch
from torch.utils.data import DataLoader
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
loader = DataLoader(torch.ones(48, 4), batch_size=4, shuffle=True, num_workers=1, persistent_workers=True)

def look(batch):
    with torch.no_grad():
        model(batch)
    return batch

for epoch in range(2):
    looked_at = map(look, loader)
    for batches in zip(looked_at, looked_at, looked_at):
        for batch in batches:
            model(batch).sum().backward()
        optimizer.step()
    for batch in loader:
        look(batch)
"""


def test_an_evaluation_by_the_loader_of_training_is_none(with_knobs, script):
    """Though its workers stay, and the model is in training mode. Of the first step in each pass two batches are taken
    for an evaluation."""
    done = with_knobs({}, script(LOOKED_AT), trial=True)
    last = of_type(done, "step")[-1]
    assert (last["steps"], last["samples"]) == (8, 2 * (4 + 3 * 12))


def test_what_each_step_begins_with_is_no_evaluation(reporter):
    reporter, _ = reporter
    model, teacher = torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
    evaluated_ns = []
    for ran_before in [model, model, None, model, teacher, None]:
        if ran_before is not None:
            reporter.forward(gradients=False, model=ran_before)
        reporter.forward(gradients=True, model=model)
        evaluated_ns.append(reporter.evaluation.total_ns)
        reporter.add_step()
    first, second, third, again, taught, last = evaluated_ns
    assert first == 0, "nothing trained before"
    assert second == third == 0, "the step before began so, too"
    assert again > third
    assert taught == last == again


def test_a_compilation_within_an_evaluation_counts_once(reporter):
    reporter, _ = reporter
    reporter.add_batch(8, 0)
    second = 10**9
    before = time.monotonic_ns()
    reporter.add_step()
    reporter.evaluation.other_batch()
    reporter.forward(gradients=False)
    begin = time.monotonic_ns()
    reporter.compilation(False, 2 * second)
    reporter.ask_for_batch(begin + 3 * second)
    assert 0 <= reporter.evaluation.total_ns - 1 * second <= begin - before

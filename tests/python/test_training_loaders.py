"""A loader whose batches train is a training loader, whatever its order; its samples are counted, and never guessed."""

import pathlib

import pytest
from knob_runs import of_type, seen_knobs

SCRIPTS = pathlib.Path(__file__).with_name("scripts")
LOADERS = SCRIPTS / "loaders.py"


def said(done):
    """What the script counted itself: its largest training batch, samples trained, largest evaluation batch, steps."""
    words = done.stdout.splitlines()[-1].split()
    return tuple(int(words[i]) for i in (1, 2, 4, 6))


@pytest.mark.parametrize("how", ["mnist", "quickstart", "vocabulary", "anew", "sharded", "sequence"])
@pytest.mark.parametrize("knobs", [{}, {"batch_size": 32}])
def test_a_loader_that_reads_in_order_takes_the_knobs(with_knobs, how, knobs):
    done = with_knobs(knobs, LOADERS, how, trial=True)
    batch, samples, evaluated, steps = said(done)
    assert batch == knobs.get("batch_size", 16)
    assert evaluated == 10, "a loader that only evaluates keeps the script's batch size"
    last = of_type(done, "step")[-1]
    assert (last["steps"], last["samples"]) == (steps, samples)
    assert seen_knobs(done)["batch_size"] == str(batch)
    assert not unused(done, "batch_size")


def test_a_script_that_looks_through_its_data_beside_its_model_takes_no_batch_size(with_knobs):
    """The knob would change that loader, too, and what the script finds there."""
    done = with_knobs({}, LOADERS, "scanned", trial=True)
    assert unused(done, "batch_size") == ["the script also reads a DataLoader in order without its model"]
    assert not unused(done, "num_workers")
    batch, samples, _, steps = said(done)
    last = of_type(done, "step")[-1]
    assert (batch, last["steps"], last["samples"]) == (16, steps, samples)


def test_the_loader_that_is_read_first_stands_for_the_script_not_one_that_is_made_first(with_knobs):
    done = with_knobs({}, LOADERS, "shuffled_test", trial=True)
    assert seen_knobs(done)["batch_size"] == "16"
    assert not unused(done, "batch_size"), "the script evaluates with 10 samples, and trains with 16 only"


PLANNED = {
    "planned_by_length": [],
    "planned_early": ["the script had asked for the length of its DataLoader before it read it"],
    "planned_in_order": ["the script had asked for the length of its DataLoader before it read it"],
    "progress_in_order": [],
}


@pytest.mark.parametrize("how", PLANNED)
def test_a_schedule_is_as_long_as_the_training(with_knobs, how):
    """Scripts make it of the length of their loader, and no batch size may change that afterwards."""
    done = with_knobs({"batch_size": 32}, LOADERS, how, trial=True)
    assert unused(done, "batch_size") == PLANNED[how]
    batch, _, _, steps = said(done)
    assert batch == (16 if PLANNED[how] else 32)
    assert done.stdout.endswith(f" planned {steps // 3}\n")


SIZES = """
import sys, torch
from torch.utils.data import DataLoader, TensorDataset
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.01)

def loader(size, **more):
    return DataLoader(TensorDataset(torch.randn(96, 4)), batch_size=size, shuffle=True, **more)

def train(batch):
    model(torch.cat([inputs for (inputs,) in batch])).sum().backward()
    optimizer.step()
    sizes.append([len(inputs) for (inputs,) in batch])

sizes = []
if sys.argv[1] == "at_once":
    for batch in zip(loader(8), loader(24)):
        train(batch)
elif sys.argv[1] == "by_turns":
    one, other = iter(loader(8)), iter(loader(24))
    for _ in range(2):
        train([next(one)])
        train([next(other)])
else:
    for size in (8, 24):
        for batch in loader(size):
            train([batch])
print(sizes[0], sizes[-1])
"""


@pytest.mark.parametrize("how", ["at_once", "by_turns", "in_phases"])
def test_a_script_that_trains_with_several_batch_sizes_takes_no_other(with_knobs, tmp_path, how):
    """FixMatch has seven unlabelled images for each labelled one, and progressive resizing has smaller batches of larger
    images."""
    (tmp_path / "job.py").write_text(SIZES)
    done = with_knobs({}, tmp_path / "job.py", how, trial=True)
    assert unused(done, "batch_size") == ["the script trains on DataLoaders of different batch sizes (8, 24)"]
    assert not unused(done, "num_workers")


@pytest.mark.parametrize(("how", "sizes", "now"), [("at_once", "[48, 48] [48, 48]", "48, 48"),
                                                   ("in_phases", "[48] [24]", "48, 24")])
def test_who_sets_one_batch_size_for_several_is_told(with_knobs, tmp_path, how, sizes, now):
    (tmp_path / "job.py").write_text(SIZES)
    done = with_knobs({"batch_size": 48}, tmp_path / "job.py", how)
    assert done.stdout == sizes + "\n"
    said = f"redline: batch_size: the script trains on DataLoaders of batch sizes 8, 24, which now are {now}\n"
    assert done.stderr.count("redline:") == done.stderr.count(said) == 1


EPOCHS = """
import sys, torch
from torch.utils.data import DataLoader, Dataset, Subset

class Data(Dataset):
    epoch = 0
    def set_epoch(self, epoch):
        self.epoch = epoch
    def __len__(self):
        return 8
    def __getitem__(self, index):
        return torch.full((4,), float(self.epoch))

data = Data()
if "shared" in sys.argv:
    data._epoch = torch.zeros(1).share_memory_()
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.0)
loader = DataLoader(Subset(data, range(8)), batch_size=8, shuffle=True)
epochs = []
for epoch in range(3):
    data.set_epoch(epoch)
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()
        epochs.append(int(batch[0, 0]))
print(epochs, loader.persistent_workers)
"""


def test_workers_that_are_to_hear_of_the_epoch_do_not_stay(with_knobs, tmp_path):
    (tmp_path / "job.py").write_text(EPOCHS)
    knobs = {"num_workers": 1, "prefetch_factor": 3, "persistent_workers": "on"}
    done = with_knobs(knobs, tmp_path / "job.py", trial=True)
    assert done.stdout == "[0, 1, 2] False\n"
    assert unused(done, "persistent_workers") == [
        "the data set has set_epoch(), which workers that stay would not hear of"]
    assert seen_knobs(done)["persistent_workers"] == "off"
    assert of_type(done, "step")[-1]["ahead"] == 3, "one worker prepares three batches"
    done = with_knobs(knobs, tmp_path / "job.py", "shared", trial=True)
    assert done.stdout.endswith("True\n")
    assert not unused(done, "persistent_workers")
    assert "ahead" not in of_type(with_knobs({}, tmp_path / "job.py", trial=True), "step")[-1]


def unused(done, knob):
    """Why the knob can do nothing, as the hook reports it; empty if it can."""
    return [report["why"] for report in of_type(done, "unused") if knob in report["knobs"]]


def test_what_makes_its_batches_itself_takes_no_batch_size(with_knobs):
    done = with_knobs({"batch_size": 32}, LOADERS, "sampler", trial=True)
    assert unused(done, "batch_size") == ["list makes the batches"]
    assert not unused(done, "num_workers")
    batch, samples, _, steps = said(done)
    last = of_type(done, "step")[-1]
    assert (batch, last["steps"], last["samples"]) == (16, steps, samples)


@pytest.mark.parametrize("how", ["one_by_one", "one_by_lambda", "of_batches"])
def test_a_loader_that_gives_one_sample_of_a_batch_takes_no_batch_size(with_knobs, how):
    """It would read more of them, and train on one of each batch."""
    done = with_knobs({"batch_size": 32}, LOADERS, how, trial=True)
    assert unused(done, "batch_size") == ["its collate_fn takes one sample out of each batch"]
    _, _, _, steps = said(done)
    last = of_type(done, "step")[-1]
    assert (last["steps"], last["samples"]) == (steps, 3 * 70)


DISTRIBUTED_BY_LENGTH = """
import torch
from torch.utils.data import DataLoader, DistributedSampler

class ByLength(DistributedSampler):
    def __init__(self, samples):  # as that of transformers, it calls no other
        self.samples = samples
    def __iter__(self):
        return iter(range(self.samples))
    def __len__(self):
        return self.samples

model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for batch in DataLoader(torch.ones(64, 2), batch_size=8, sampler=ByLength(64)):
    model(batch).sum().backward()
    optimizer.step()
"""


def test_a_distributed_sampler_need_not_say_whether_it_shuffles(with_knobs, script):
    done = with_knobs({"batch_size": 16}, script(DISTRIBUTED_BY_LENGTH), trial=True)
    last = of_type(done, "step")[-1]
    assert (last["steps"], last["samples"], seen_knobs(done)["batch_size"]) == (4, 64, "16")


def test_what_repeats_batches_of_its_own_size_takes_no_other_size(with_knobs):
    """trl trains on another part of a batch each time it comes, so half of the samples would never be trained on."""
    done = with_knobs({"batch_size": 8}, LOADERS, "grouped", trial=True)
    assert unused(done, "batch_size") == ["Grouped repeats batches of its own size"]
    batch, samples, _, _ = said(done)
    assert batch == 16
    assert of_type(done, "step")[-1]["samples"] == samples // 2, "each comes twice"


def test_a_data_set_that_batches_is_counted_by_its_shape_alone_where_that_is_sure(with_knobs):
    done = with_knobs({"batch_size": 32}, LOADERS, "batches", trial=True)
    assert unused(done, "batch_size") == ["the DataLoader does not batch"]
    _, samples, _, steps = said(done)
    last = of_type(done, "step")[-1]
    assert (last["steps"], last["samples"]) == (steps, samples)


REPEATED = {
    "repeated": [],
    "repeated_in_order": ["the script gave its DataLoader another batch sampler after it had made it"],
    "repeated_early": ["the script began to read its DataLoader before it had a model"],
}


@pytest.mark.parametrize("how", REPEATED)
def test_a_loader_that_repeats_its_batches_has_the_epochs_of_its_sampler(with_knobs, how):
    """In order, the script has changed the loader before anybody saw that it is for training: it stays as it is."""
    done = with_knobs({"batch_size": 32}, LOADERS, how, trial=True)
    batch, samples, _, steps = said(done)
    assert batch == (16 if REPEATED[how] else 32)
    assert (samples, steps) == (3 * (70 // batch) * batch, 3 * (70 // batch))
    last = of_type(done, "step")[-1]
    assert (last["steps"], last["samples"]) == (steps, samples)
    assert last.get("epoch") == (None if how == "repeated_early" else 70)
    assert unused(done, "batch_size") == REPEATED[how]


@pytest.mark.parametrize(("trial", "kind"), [(False, "numbers"), (True, "numbers"), (True, "bytes")])
def test_what_torchs_iterator_reads_may_be_no_loader(with_knobs, trial, kind):
    done = with_knobs({"batch_size": 32, "amp": "bf16"}, SCRIPTS / "own_loader.py", kind, trial=trial)
    assert done.stdout == "steps 120\n", done.stderr
    if trial:
        last = of_type(done, "step")[-1]
        assert (last["steps"], last["samples"]) == (120, 16 * 120)
        assert unused(done, "batch_size") == ["no DataLoader feeds the training"]
        assert "inference" not in " ".join(note["text"] for note in of_type(done, "note"))


@pytest.mark.parametrize("given", [None, 12])
def test_without_a_loader_samples_are_never_guessed(with_knobs, monkeypatch, given):
    """word_language_model's batches are time x batch, nanoGPT's are batch x time, and only the command tells which."""
    if given:
        monkeypatch.setenv("REDLINE_BATCH_SIZE", str(given))
    done = with_knobs({}, SCRIPTS / "no_loader.py", "--sequences", trial=True)
    failures = of_type(done, "failure")
    if given:
        assert not failures
        assert of_type(done, "step")[-1]["samples"] == 6 * 2 * 12
        return
    (failure,) = failures
    assert failure["kind"] == "invalid"
    assert failure["message"] == (
        "samples cannot be counted: the script has no DataLoader, and of its model's input of 35 x 12 any dimension may be "
        "the batch. Compare steps (--objective steps), give --metric with a rate that the command prints, or write "
        "{batch_size} in the command"
    )


DRAWN = """
import torch
inputs = torch.ones(160, 4)
model, critic = torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD([*model.parameters(), *critic.parameters()], 0.01)
def step(of, *batches):
    for batch in batches:
        of(batch).sum().backward()
    optimizer.step()
WAY
"""


@pytest.mark.parametrize(("way", "steps", "samples"), [
    ("for begin in (0, 64, 128): step(model, inputs[begin:begin + 64])", 3, 160),
    ("step(model, *inputs.split(64))", 1, 160),
    # As DQN acts, with gradients enabled, before and while it trains.
    ("for i in range(20): model(inputs[:1]); model(inputs[:3]); i > 9 and step(model, inputs[:64])", 10, 640),
    # And as SAC, whose critic trains first.
    ("for i in range(4): model(inputs[:1]); step(critic, inputs[:64]); step(model, inputs[:64])", 4, 256),
], ids=["the end of an epoch", "accumulation", "actions", "a critic"])
def test_a_given_batch_size_need_not_divide_the_data(with_knobs, monkeypatch, script, way, steps, samples):
    monkeypatch.setenv("REDLINE_BATCH_SIZE", "64")
    done = with_knobs({}, script(DRAWN.replace("WAY", way)), trial=True)
    assert not of_type(done, "failure")
    last = of_type(done, "step")[-1]
    assert (last["steps"], last["samples"]) == (steps, samples)


def test_a_given_batch_size_that_no_input_has_is_told(with_knobs, monkeypatch):
    monkeypatch.setenv("REDLINE_BATCH_SIZE", "64")
    done = with_knobs({}, SCRIPTS / "no_loader.py", "--sequences", trial=True)
    (failure,) = of_type(done, "failure")
    assert failure["message"] == (
        "samples cannot be counted: the script has no DataLoader, and of its model's input of 35 x 12 any dimension may be "
        "the batch. Compare steps (--objective steps), or give --metric with a rate that the command prints"
    )


def test_a_trial_by_steps_counts_each_as_one(with_knobs, monkeypatch):
    monkeypatch.setenv("REDLINE_OBJECTIVE", "steps")
    done = with_knobs({}, SCRIPTS / "no_loader.py", "--sequences", trial=True)
    last = of_type(done, "step")[-1]
    assert (last["steps"], last["samples"], last["batches_digest"]) == (6, 6, "steps")
    assert "tokens" not in last and not of_type(done, "failure")


def test_a_trial_by_metric_needs_no_samples(with_knobs, monkeypatch):
    monkeypatch.setenv("REDLINE_METRIC", "1")
    done = with_knobs({}, SCRIPTS / "no_loader.py", "--sequences", trial=True)
    assert not of_type(done, "failure") and not of_type(done, "step")
    assert unused(done, "batch_size") == ["no DataLoader feeds the training"]
    assert seen_knobs(done)["amp"] == "off"


def test_the_knobs_that_a_job_has_nothing_for_are_told_by_the_defaults(with_knobs):
    done = with_knobs({}, SCRIPTS / "no_loader.py", trial=True)
    for knob in ("batch_size", "num_workers", "pin_memory", "prefetch_factor", "persistent_workers"):
        assert unused(done, knob) == ["no DataLoader feeds the training"]
    assert unused(done, "bucket_cap_mb") == ["no DistributedDataParallel was made"]
    assert unused(done, "channels_last") == ["the model has no convolution over images"]
    assert not unused(done, "amp") and not unused(done, "compile")

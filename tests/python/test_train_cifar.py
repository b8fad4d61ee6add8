"""samples/python/train_cifar.py does what its flags say: alone, on two ranks, and on real files."""

import importlib.util
import re
import sys

import numpy
import pytest

LAST_LINE = re.compile(r"^loss (\S+) accuracy (\S+) samples/s (\S+)$")


def result(completed):
    """Loss, accuracy and samples/s that a successful run printed."""
    match = LAST_LINE.match(completed.stdout.splitlines()[-1])
    assert match, completed.stdout
    return tuple(float(figure) for figure in match.groups())


def loss_bits(completed):
    return re.search(r"^loss bits (\S+)$", completed.stdout, re.MULTILINE).group(1)


@pytest.fixture
def train(succeed, python, train_cifar):
    # One thread, as torchrun gives to each rank, because two would compete for the cores of a busy machine.
    environment = {"OMP_NUM_THREADS": "1"}
    return lambda *flags: succeed([python, train_cifar, *flags], environment=environment)


@pytest.fixture
def train_on_two_ranks(succeed, torchrun, train_cifar, no_process_left):
    command = [*torchrun, "--nproc_per_node", "2", train_cifar]
    return lambda *flags: succeed([*command, *flags])


def write_cifar(folder, images_per_file=40):
    """Writes two training files and a test file, whose images are as bright as their label."""
    random = numpy.random.default_rng(1)
    for name in ("data_batch_1.bin", "data_batch_2.bin", "test_batch.bin"):
        labels = random.integers(10, size=(images_per_file, 1))
        pixels = 25 * labels + random.integers(10, size=(images_per_file, 3 * 32 * 32))
        numpy.hstack([labels, pixels]).astype(numpy.uint8).tofile(folder / name)


def test_the_loss_falls(train):
    loss, accuracy, rate = result(train("--steps", "60"))
    assert loss < 1.0
    assert accuracy > 0.3
    assert rate > 0


@pytest.mark.long
def test_two_ranks_print_once_and_repeat_bit_for_bit(train_on_two_ranks):
    flags = ("--steps", "6", "--batch-size", "16", "--num-workers", "1", "--print-loss-bits")
    first = train_on_two_ranks(*flags)
    result(first)
    assert first.stdout.count("accuracy") == 1
    assert loss_bits(first) == loss_bits(train_on_two_ranks(*flags))
    assert loss_bits(first) != loss_bits(train_on_two_ranks(*flags, "--seed", "1"))


@pytest.mark.long
def test_accumulated_batches_train_like_one_large_batch(train):
    # The images come in the same order, but batch norm sees smaller batches, so losses are near but not equal.
    flags = ("--steps", "30")
    whole, _, _ = result(train(*flags, "--batch-size", "32"))
    parts, _, _ = result(train(*flags, "--batch-size", "8", "--accumulation", "4"))
    single, _, _ = result(train(*flags, "--batch-size", "8"))
    assert abs(parts - whole) < 0.15 * whole
    assert abs(single - whole) > abs(parts - whole)


@pytest.mark.long
def test_bfloat16_learns(train):
    loss, _, _ = result(train("--steps", "40", "--amp", "bf16"))
    assert loss < 2.0


def test_float16_keeps_its_loss_finite(train):
    # Few CPUs have fast half-precision convolutions, so a few images take seconds.
    loss, _, _ = result(train("--steps", "2", "--batch-size", "8", "--amp", "fp16"))
    assert 1 < loss < 5


def test_every_loader_flag_is_taken(train):
    completed = train(
        *("--steps", "2", "--num-workers", "1", "--prefetch-factor", "3", "--persistent-workers"),
        *("--pin-memory", "off", "--channels-last", "on", "--cudnn-benchmark"),
    )
    result(completed)


def test_reads_the_binary_files_of_cifar10(train, tmp_path):
    write_cifar(tmp_path)
    loss, accuracy, _ = result(
        train("--data", tmp_path, "--batch-size", "16", "--epochs", "6", "--log-every", "1")
    )
    assert loss < 2.3
    assert accuracy > 0.15


@pytest.fixture
def main(monkeypatch, capsys, train_cifar):
    """main("--steps", "2") runs the script inside this process and returns its exit status and stderr.

    This saves torch's start-up in the many tests that end before training.
    """
    spec = importlib.util.spec_from_file_location("train_cifar", train_cifar)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)

    def run_main(*flags):
        monkeypatch.setattr(sys, "argv", ["train_cifar.py", *map(str, flags)])
        with pytest.raises(SystemExit) as end:
            script.main()
        if isinstance(end.value.code, str):
            return 1, end.value.code
        return end.value.code, capsys.readouterr().err

    return run_main


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("test_batch.bin", None, "no data_batch_*.bin and test_batch.bin"),
        ("test_batch.bin", b"x" * 99, "99 bytes are not records of 3073 bytes"),
        ("data_batch_2.bin", b"", "0 bytes are not records of 3073 bytes"),
        ("test_batch.bin", b"\x0a" * 3073, "label 10 is not one of 0 to 9"),
    ],
)
def test_wrong_files_are_named(main, tmp_path, name, content, message):
    write_cifar(tmp_path)
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_bytes(content)
    status, error = main("--data", tmp_path)
    assert status == 1
    assert error.startswith(f"train_cifar.py: {tmp_path}")
    assert message in error
    assert "\n" not in error


@pytest.mark.parametrize(
    "flags, message",
    [
        (["--batch-size", "0"], "'0' is not a whole number of 1 or more"),
        (["--num-workers", "two"], "'two' is not a whole number of 0 or more"),
        (["--pin-memory", "perhaps"], "'perhaps' is neither on nor off"),
        (["--prefetch-factor", "2"], "needs --num-workers 1 or more"),
        (["--persistent-workers"], "needs --num-workers 1 or more"),
        (["--amp", "fp8"], "invalid choice: 'fp8'"),
    ],
)
def test_wrong_flags_are_usage_errors(main, flags, message):
    status, error = main(*flags)
    assert status == 2
    assert message in error


def test_too_few_images_for_a_step(main):
    status, error = main("--train-size", "10", "--steps", "3")
    assert status == 1
    assert "10 images on 1 ranks are too few for 1 x 32 of them a step" in error

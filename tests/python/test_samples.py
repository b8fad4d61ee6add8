"""Each sample runs alone, in its CPU form, and does what its technique promises; train_cifar.py, the C++ samples
and those that need more packages have tests of their own (test_train_cifar.py, test_mnist.py, test_install.py,
tests/trainers)."""

import re

import numpy
import pytest
from conftest import ROOT

FOLDER = ROOT / "samples" / "python"
ELSEWHERE = {"train_cifar", "hf_trainer", "lightning_fit"}
ONE_RANK, TWO_RANKS = 1, 2

# Each row has the sample, the number of ranks that torchrun starts, the arguments, and what it prints.
RUNS = [
    ("mnist", ONE_RANK, "--steps 60", r"accuracy (0\.[5-9]\d|1\.00)"),
    ("profile_loop", ONE_RANK, "--output traces", r"aten::addmm[\s\S]+next: redline report traces"),
    ("amp", ONE_RANK, "--steps 2 --amp bf16", r"loss 2"),
    ("data_loading", ONE_RANK, "--steps 24 --num-workers 1 --prefetch-factor 3 --persistent-workers", r"samples/s"),
    ("batch_size", ONE_RANK, "--steps 1 --smallest 128 --memory-limit 1.3", r"out of memory\nbest batch \d+ "),
    ("batch_size", ONE_RANK, "--steps 1 --batch-size 8", r"best batch 8 "),
    ("cudnn_benchmark", ONE_RANK, "--steps 1 --batch-size 4 --benchmark", r"no GPU: --benchmark changes nothing"),
    ("cudnn_benchmark", ONE_RANK, "--steps 1 --batch-size 4 --channels-last", r"samples/s"),
    ("freed_memory", ONE_RANK, "--steps 1", r"loss 2\.\d+ samples/s"),
    ("accumulate", ONE_RANK, "--steps 1", r"samples/s"),
    ("prune_quantize", ONE_RANK, "--steps 40", r"fp32[\s\S]+pruned 80 %[\s\S]+narrowed 50 %[\s\S]+static int8"),
    ("inference", ONE_RANK, "--steps 3 --amp", r"classes \d+ samples/s"),
    ("ddp", TWO_RANKS, "--steps 5", r"samples/s"),
    ("ddp_spawn", ONE_RANK, "--steps 5", r"samples/s"),
    ("data_parallel", ONE_RANK, "--steps 2", r"0 GPUs: DataParallel calls the model as it is"),
    ("model_parallel", ONE_RANK, "--steps 1 --width 64", r"0 GPUs: two threads of the CPU stand for two devices"),
    ("transformer", ONE_RANK, "--steps 1", r"tokens/s"),
]
LONG_RUNS = [
    ("amp", ONE_RANK, "--steps 2 --amp fp16 --batch-size 16 --width 64", r"loss 2"),
    ("compile", ONE_RANK, "--steps 2 --layers 1 --mode default", r"first 3 steps .+\nresult "),
    ("compile", ONE_RANK, "--steps 2 --layers 1 --mode trace --inference", r"result "),
    ("inference", ONE_RANK, "--steps 3 --gradients --batch-size 2", r"classes \d+ samples/s"),
    ("ddp", ONE_RANK, "--steps 5", r"samples/s"),
]

# Pairs of ways that must lead to the same loss.
SAME_LOSS = [
    ("optimizers", ONE_RANK, "--steps 5", "--implementation loop", "--implementation fused"),
    ("accumulate", TWO_RANKS, "--steps 2", "", "--sync-all"),
    ("fsdp", TWO_RANKS, "--steps 2 --width 64", "", "--ddp"),
    ("model_parallel", ONE_RANK, "--steps 2 --width 64", "--micro-batches 1", "--micro-batches 4"),
    ("transformer", ONE_RANK, "--steps 2 --length 32", "--attention one-call", "--attention written-out"),
]


@pytest.fixture
def sample(succeed, python, torchrun, tmp_path, no_process_left):
    def run_sample(name, ranks, arguments):
        launcher = [*torchrun, "--nproc_per_node", ranks] if ranks > 1 else [python]
        environment = {
            "CUDA_VISIBLE_DEVICES": "",
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": str(ROOT / "python"),
            "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor"),
            "TORCHINDUCTOR_COMPILE_THREADS": "1",  # without other processes
        }
        done = succeed([*launcher, FOLDER / f"{name}.py", *arguments.split()], environment=environment, cwd=tmp_path)
        return done.stdout

    return run_sample


@pytest.mark.parametrize(("name", "ranks", "arguments", "printed"), [
    *RUNS, *(pytest.param(*row, marks=pytest.mark.long) for row in LONG_RUNS)], ids=lambda value: str(value)[:40])
def test_runs_alone(sample, name, ranks, arguments, printed):
    output = sample(name, ranks, arguments)
    assert re.search(printed, output), output


@pytest.mark.parametrize(("name", "ranks", "arguments", "one", "other"), SAME_LOSS, ids=lambda value: str(value)[:40])
@pytest.mark.long
def test_both_ways_train_to_the_same_loss(sample, name, ranks, arguments, one, other):
    outputs = [sample(name, ranks, f"{arguments} {way}") for way in (one, other)]
    losses = [float(re.search(r"loss (\S+)", output).group(1)) for output in outputs]
    assert losses[0] == pytest.approx(losses[1], abs=2e-4)


@pytest.mark.long
def test_fsdp_keeps_half_of_the_state(sample):
    kept = [float(re.search(r"state (\d+) MiB", sample("fsdp", TWO_RANKS, f"--steps 1 --width 256 {way}")).group(1))
            for way in ("", "--ddp")]
    assert kept[0] == pytest.approx(kept[1] / 2, rel=0.05)


def test_mnist_reads_its_own_files(sample, tmp_path):
    random = numpy.random.default_rng(1)
    for part, count in (("train", 256), ("t10k", 64)):
        labels = random.integers(10, size=count).astype(numpy.uint8)
        images = numpy.repeat(25 * labels, 28 * 28)  # as bright as their label
        (tmp_path / f"{part}-images-idx3-ubyte").write_bytes(bytes(16) + images.astype(numpy.uint8).tobytes())
        (tmp_path / f"{part}-labels-idx1-ubyte").write_bytes(bytes(8) + labels.tobytes())
    assert re.search(r"loss \S+ accuracy 0\.[3-9]", sample("mnist", ONE_RANK, f"--data {tmp_path} --epochs 20"))


def test_every_sample_is_run_short_and_helpful(succeed, python):
    names = {path.stem for path in FOLDER.glob("*.py")}
    assert names == {name for name, *_ in RUNS + LONG_RUNS + SAME_LOSS} | ELSEWHERE
    for name in names - {"train_cifar"}:
        lines = (FOLDER / f"{name}.py").read_text().splitlines()
        assert len(lines) < 100, name
        assert max(map(len, lines)) <= 120, name
    done = succeed([python, FOLDER / "amp.py", "--help"])
    assert "python amp.py --amp bf16" in done.stdout


@pytest.mark.parametrize(("name", "package"), [("hf_trainer", "transformers"), ("lightning_fit", "lightning")])
def test_a_sample_whose_package_lacks_says_how_to_get_it(run, python, tmp_path, name, package):
    (tmp_path / f"{package}.py").write_text(f"raise ModuleNotFoundError(\"No module named '{package}'\")")
    done = run([python, FOLDER / f"{name}.py", "--help"], environment={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 1
    assert done.stderr.startswith(f"No module named '{package}'. First: pip install {package}")
    assert done.stderr.count("\n") == 1


def test_every_sample_is_in_the_table():
    table = (ROOT / "samples" / "README.md").read_text()
    for pattern in ("python/*.py", "cpp/*.cc", "slurm/*", "kubernetes/*", "Containerfile"):
        for path in (ROOT / "samples").glob(pattern):
            assert f"({path.relative_to(ROOT / 'samples')})" in table, path


def packages_of(stage):
    (words,) = re.findall(r"--no-install-recommends((?:.*\\\n)*?.*?)\s*\\?\n\s*&&", stage)
    return set(words.replace("\\", " ").split())


def test_the_container_is_built_of_the_packages_and_the_torch_of_the_set_up():
    file = (ROOT / "samples" / "Containerfile").read_text()
    build = packages_of(file.split("\nFROM ")[1])
    listed = (ROOT / "scripts" / "packages.txt").read_text().splitlines()
    why = dict(line.split(maxsplit=1) for line in listed if not line.startswith("#"))
    not_in_a_wheel = {"ccache", "qt6-base-dev", "libgl-dev", "fonts-inter", "fonts-dejavu-core"}
    assert build == {name for name in why if "tests" not in why[name]} - not_in_a_wheel
    (torch,) = re.findall(r"^readonly torch_version=(\S+)", (ROOT / "scripts" / "setup").read_text(), re.MULTILINE)
    assert f"torch=={torch} " in file


def test_the_container_has_the_libraries_of_its_programs(run, program):
    """Debian names the package of libfmt.so.9 libfmt9. Other systems have the same library in another version."""
    runs = packages_of((ROOT / "samples" / "Containerfile").read_text().split("\nFROM ")[2])
    of_the_compiler = ("libc", "libm", "libstdc++", "libgcc_s", "libpthread", "libdl", "linux-vdso", "ld-linux-x86-64")
    linked = set()
    for name in ("redline", "autotune"):
        needed = run(["readelf", "--dynamic", "--wide", program(name)]).stdout  # Debian installs what those need
        linked |= set(re.findall(r"\(NEEDED\).*\[(\S+?)\.so", needed)) - set(of_the_compiler)
    assert "libz" in linked
    for library in linked:
        package = "zlib1g" if library == "libz" else re.escape(library) + r"-?\d+"
        assert any(re.fullmatch(package, name) for name in runs), library
    (offline,) = re.findall(r"`(libsimdjson\S+ [^`]+)` \(of Debian 12\)", (ROOT / "docs" / "install.md").read_text())
    assert set(offline.split()) == {name for name in runs if name.startswith("lib")}

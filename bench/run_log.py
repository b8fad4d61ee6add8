"""Measures what a step log costs a training loop, and what the start-up hook costs where nothing is recorded.

One process a way of running trains all models: alone; with the start-up hook of `redline record` after its window was
written, but no log (idle); under `redline run --log`; and under `redline record` as users have it, which is both. They
train in turn, never at once, so that other work on the machine disturbs all alike. Each round is compared with the
plain one beside it. After some rounds all processes are started again, because two processes with the same code differ
a little for their whole lives. The thread's own time is the steadier figure on a busy machine.
"""

import argparse
import contextlib
import itertools
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve()
REDLINE = HERE.parents[1] / "build" / "release" / "bin" / "redline"
WARM_UP = 50  # steps, in which `redline record` writes its window
BATCHES = 64  # of a pass over the loader


def ways(folder):
    """How each process is started, by its name."""
    worker = [sys.executable, str(HERE), "--worker"]
    record = [str(REDLINE), "record", "-o"]
    return {
        "plain": worker,
        "idle": [*record, f"{folder}/idle", "--", "env", "-u", "REDLINE_LOG", *worker],
        "log": [str(REDLINE), "run", "--log", f"{folder}/logs", "--", *worker],
        "record": [*record, f"{folder}/traces", "--", *worker],
    }


class Worker:
    """A process that trains so many steps when it is told to."""

    def __init__(self, command):
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.DEVNULL, text=True)

    def run(self, model, steps):
        """Seconds by the clock, and seconds of the training thread's processor."""
        print(model, steps, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline().split()
        if len(answer) != 2:
            raise SystemExit(f"run_log: {' '.join(self._process.args)} has ended: build/release must be whole")
        return tuple(map(float, answer))

    def close(self):
        self._process.stdin.close()
        self._process.wait()


class Loop:
    """A training loop as scripts have it: a loader, a model, a loss, an optimizer."""

    def __init__(self, training):
        from torch.utils.data import DataLoader, TensorDataset

        samples = len(training.inputs)
        data = TensorDataset(training.inputs.repeat(BATCHES, *[1] * (training.inputs.dim() - 1)),
                             training.labels.repeat(BATCHES))
        self._model, self._optimizer = training.model, training.optimizer
        self._batches = itertools.chain.from_iterable(iter(lambda: DataLoader(data, batch_size=samples), None))

    def run(self, steps):
        from torch.nn.functional import cross_entropy

        for inputs, labels in itertools.islice(self._batches, steps):
            self._optimizer.zero_grad()
            cross_entropy(self._model(inputs), labels).backward()
            self._optimizer.step()


def models():
    import torch
    from record_models import Training, small_cnn, transformer

    return {
        "tiny": Training(torch.nn.Linear(8, 4), torch.rand(4, 8), 4, steps=300),
        "cnn": small_cnn(),
        "transformer": transformer(),
    }


STEPS = {"tiny": 300, "cnn": 60, "transformer": 20}  # of a round


def work():
    """What the processes do: a line with a model and a number of steps, then a line with the times."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    loops = {name: Loop(training) for name, training in models().items()}
    for line in sys.stdin:
        model, steps = line.split()
        wall, thread = time.perf_counter(), time.thread_time()
        loops[model].run(int(steps))
        print(time.perf_counter() - wall, time.thread_time() - thread, flush=True)


def measure(options):
    """By model and way: the rounds' microseconds a step, of the clock and of the thread."""
    rounds = {model: {} for model in options.models}
    with tempfile.TemporaryDirectory() as folder:
        for start in range(options.starts):
            begun = ways(f"{folder}/{start}")
            with contextlib.ExitStack() as ending:
                workers = {}
                for way, command in begun.items():
                    workers[way] = Worker(command)
                    ending.callback(workers[way].close)
                one_start(workers, options, rounds)
    return rounds


def one_start(workers, options, rounds):
    for worker in workers.values():
        for model in options.models:
            worker.run(model, WARM_UP)
    order = list(workers)
    for index in range(options.rounds):
        for model in options.models:
            for way in order[index % len(order):] + order[:index % len(order)]:
                wall, thread = workers[way].run(model, STEPS[model])
                row = (wall / STEPS[model] * 1e6, thread / STEPS[model] * 1e6)
                rounds[model].setdefault(way, []).append(row)


def compare(rounds, way):
    """The figures of a way beside the plain loop."""
    plain, own = rounds["plain"], rounds[way]
    slower = sorted((one[0] - base[0]) / base[0] * 100 for one, base in zip(own, plain))
    low, high = interval_of_median(len(slower))
    return {
        "step_us": statistics.median(base[0] for base in plain),
        "step_thread_us": statistics.median(base[1] for base in plain),
        "cost_us": statistics.median(one[0] - base[0] for one, base in zip(own, plain)),
        "thread_us": statistics.median(one[1] - base[1] for one, base in zip(own, plain)),
        "slower_percent": statistics.median(slower),
        "bounds_percent": [slower[low], slower[high]],
        "pairs": len(slower),
    }


def interval_of_median(count):
    """Which of so many sorted values bound their median with 95 % confidence, whatever the distribution: the ranks of
    a binomial distribution's quantiles."""
    below, share = 0, 0.5**count
    weight = share
    while share <= 0.025:
        below += 1
        weight *= (count - below + 1) / below
        share += weight
    return max(below - 1, 0), min(count - below, count - 1)


def show(model, figures):
    of_step = next(iter(figures.values()))
    print(f"{model}: a step takes {of_step['step_us']:.0f} us, {of_step['step_thread_us']:.0f} of them of its thread")
    print(f"  {'':10}{'a step, clock':>16}{'its thread':>14}{'slower':>10}{'95 % bounds':>20}{'pairs':>8}")
    for way, row in figures.items():
        bounds = "{:.2f} to {:.2f} %".format(*row["bounds_percent"])
        print(f"  {way:10}{row['cost_us']:>13.1f} us{row['thread_us']:>11.1f} us{row['slower_percent']:>8.2f} %"
              f"{bounds:>20}{row['pairs']:>8}", flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=lambda text: text.split(","), default=list(STEPS),
                        help=f"a comma list of {', '.join(STEPS)} (all)")
    parser.add_argument("--starts", type=int, default=4, help="how often the processes are started (4)")
    parser.add_argument("--rounds", type=int, default=25, help="pairs a start (25)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := set(options.models) - set(STEPS):
        parser.error(f"--models: not one of {', '.join(STEPS)}: {', '.join(unknown)}")
    if options.rounds < 1 or options.starts < 1:
        parser.error("--rounds and --starts must be at least 1")
    return options


def main():
    options = parse_arguments()
    if options.worker:
        return work()
    rounds = measure(options)
    figures = {model: {way: compare(of_model, way) for way in of_model if way != "plain"}
               for model, of_model in rounds.items()}
    if options.json:
        print(json.dumps({"schema": "redline.bench.run_log/1", "models": figures}, indent=2))
        return None
    for model, of_model in figures.items():
        show(model, of_model)
    return None


if __name__ == "__main__":
    sys.exit(main())

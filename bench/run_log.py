"""Measures what a step log costs a training loop, and what the start-up hook costs where nothing is recorded.

One process a way of running trains all models: alone; with the start-up hook of `redline record` after its window was
written, but no log (idle); under `redline run --log`; under `redline record` as users have it, which is both; and, where
it is installed in build/peers/traceml (bench/README.md), under TraceML, which wants two lines in the loop. They
train in turn, never at once, so that other work on the machine disturbs all alike. Each round is compared with the
plain one beside it. After some rounds all processes are started again, because two processes with the same code differ
a little for their whole lives. So each process with hooks also trains without them, in turn: that difference is free of
what differs between processes, but does not include what is no hook at a step. It is taken between the fastest
twentieths of the steps, which other work disturbs least.
"""

import argparse
import contextlib
import itertools
import json
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from places import BUILD, PEERS, REDLINE

HERE = pathlib.Path(__file__).resolve()
TRACEML = PEERS / "traceml/bin/traceml"
SWITCHED = ("idle", "log", "record")  # ways with hooks
WITH_TABLES = {"log": ["run", "--log"], "ring": ["record", "--ring", "30s", "-o"]}  # of hangs
WARM_UP = 50  # steps, in which `redline record` writes its window
ANSWER = "took "  # begins what a worker says
BATCHES = 64  # of a pass over the loader


def ways(folder, hang_tables):
    """How each process is started, by its name."""
    worker = [sys.executable, str(HERE), "--worker"]
    if hang_tables:
        own = [str(REDLINE), *WITH_TABLES[hang_tables]]
        return {"plain": [*own, f"{folder}/without", "--", "env", "-u", "REDLINE_HANG_TABLES", *worker],
                "tables": [*own, f"{folder}/with", "--", *worker]}
    record = [str(REDLINE), "record", "-o"]
    every = {
        "plain": worker,
        "idle": [*record, f"{folder}/idle", "--", "env", "-u", "REDLINE_LOG", *worker],
        "log": [str(REDLINE), "run", "--log", f"{folder}/logs", "--", *worker],
        "record": [*record, f"{folder}/traces", "--", *worker],
    }
    if TRACEML.exists():
        port = ["--master-port", str(free_port())]
        every["traceml"] = [str(TRACEML), "run", *port, "--logs-dir", f"{folder}/traceml", str(HERE), "--args",
                            "--worker", "--traceml"]
    return every


def free_port():
    with socket.create_server(("", 0)) as server:
        return server.getsockname()[1]


class Worker:
    """A process that trains so many steps when it is told to."""

    def __init__(self, command):
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.DEVNULL, text=True)

    def run(self, model, steps, hooks="on"):
        """Seconds by the clock, of the training thread's processor, and of a step of the fastest twentieth."""
        print(model, steps, hooks, file=self._process.stdin, flush=True)
        for line in self._process.stdout:  # a launcher may say something, too
            if line.startswith(ANSWER):
                return tuple(map(float, line[len(ANSWER):].split()))
        raise SystemExit(f"run_log: {' '.join(self._process.args)} has ended: {BUILD} must be whole")

    def close(self):
        self._process.stdin.close()
        self._process.wait()


class Loop:
    """A training loop as scripts have it: a loader, a model, a loss, an optimizer."""

    def __init__(self, training, around_step):
        from torch.utils.data import DataLoader, TensorDataset

        samples = len(training.inputs)
        data = TensorDataset(training.inputs.repeat(BATCHES, *[1] * (training.inputs.dim() - 1)),
                             training.labels.repeat(BATCHES))
        self._model, self._optimizer, self._around_step = training.model, training.optimizer, around_step
        self._batches = itertools.chain.from_iterable(iter(lambda: DataLoader(data, batch_size=samples), None))

    def run(self, steps):
        """Seconds of each step."""
        from torch.nn.functional import cross_entropy

        ends = [time.perf_counter()]
        for inputs, labels in itertools.islice(self._batches, steps):
            if self._around_step is None:
                self._step(cross_entropy, inputs, labels)
            else:
                with self._around_step(self._model):
                    self._step(cross_entropy, inputs, labels)
            ends.append(time.perf_counter())
        return [after - before for before, after in itertools.pairwise(ends)]

    def _step(self, loss, inputs, labels):
        self._optimizer.zero_grad()
        loss(self._model(inputs), labels).backward()
        self._optimizer.step()


class Hooks:
    """Redline's hooks at each step of this process, which can be taken off and put back."""

    def __init__(self):
        import torch
        from torch.utils.data.dataloader import _BaseDataLoaderIter

        spots = [(_BaseDataLoaderIter, "__next__"), (torch.nn.Module, "__call__"), (torch.optim.SGD, "step"),
                 (torch.autograd, "backward"), (torch.autograd, "_engine_run_backward")]
        self._functions = [(owner, name, self._original(getattr(owner, name)), getattr(owner, name))
                           for owner, name in spots]
        self._are_on = True

    def _original(self, function):
        while type(function).__name__ == "Hook" or "/redline/_" in function.__code__.co_filename:
            function = function.__wrapped__
        return function

    def switch(self, are_on):
        """Whether that changes anything."""
        changes, self._are_on = are_on != self._are_on, are_on
        for owner, name, original, hooked in self._functions if changes else []:
            setattr(owner, name, hooked if are_on else original)
        return changes


def models():
    import torch
    from record_models import MODELS, Training

    tiny = Training(torch.nn.Linear(8, 4), torch.rand(4, 8), 4, steps=300)  # no step of a real training is as short
    return {"tiny": tiny, **{name: make() for name, make in MODELS.items()}}


STEPS = {"tiny": 300, "cnn": 60, "resnet18": 20, "transformer": 20}  # of a round


def work(with_traceml):
    """What the processes do: a line with a model and a number of steps, then a line with the times."""
    around_step = None
    if with_traceml:
        import traceml_ai

        traceml_ai.init(mode="auto")
        around_step = traceml_ai.trace_step

    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    loops = {name: Loop(training, around_step) for name, training in models().items()}
    hooks = None
    for line in sys.stdin:
        model, steps, are_on = line.split()
        if hooks is None:  # the optimizers are there
            hooks = Hooks()
        if hooks.switch(are_on == "on"):
            loops[model].run(WARM_UP)  # the interpreter adapts itself to what it calls
        wall, thread = time.perf_counter(), time.thread_time()
        each = sorted(loops[model].run(int(steps)))
        print(f"{ANSWER}{time.perf_counter() - wall} {time.thread_time() - thread} {each[len(each) // 20]}", flush=True)


def measure(options):
    """By model and way: the rounds' microseconds a step, of the clock and of the thread."""
    rounds = {model: {} for model in options.models}
    with tempfile.TemporaryDirectory() as folder:
        for start in range(options.starts):
            begun = ways(f"{folder}/{start}", options.hang_tables)
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
                for hooks in ("on", "off") if way in SWITCHED else ("on",):
                    wall, thread, fast = workers[way].run(model, STEPS[model], hooks)
                    row = (wall / STEPS[model] * 1e6, thread / STEPS[model] * 1e6, fast * 1e6)
                    rounds[model].setdefault(way if hooks == "on" else f"{way} off", []).append(row)


def compare(rounds, way):
    """The figures of a way beside the plain loop."""
    plain, own, off = rounds["plain"], rounds[way], rounds.get(f"{way} off")
    slower = sorted((one[0] - base[0]) / base[0] * 100 for one, base in zip(own, plain))
    low, high = interval_of_median(len(slower))
    return {
        "step_us": statistics.median(base[0] for base in plain),
        "step_thread_us": statistics.median(base[1] for base in plain),
        "cost_us": statistics.median(one[0] - base[0] for one, base in zip(own, plain)),
        "thread_us": statistics.median(one[1] - base[1] for one, base in zip(own, plain)),
        "hooks_us": statistics.median(one[2] - base[2] for one, base in zip(own, off)) if off else None,
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
    print(f"  {'':10}{'a step, clock':>16}{'its thread':>14}{'hooks':>10}{'slower':>10}{'95 % bounds':>20}{'pairs':>8}")
    for way, row in figures.items():
        bounds = "{:.2f} to {:.2f} %".format(*row["bounds_percent"])
        hooks = "" if row["hooks_us"] is None else f"{row['hooks_us']:.1f} us"
        print(f"  {way:10}{row['cost_us']:>13.1f} us{row['thread_us']:>11.1f} us{hooks:>10}{row['slower_percent']:>8.2f} %"
              f"{bounds:>20}{row['pairs']:>8}", flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=lambda text: text.split(","), default=list(STEPS),
                        help=f"a comma list of {', '.join(STEPS)} (all)")
    parser.add_argument("--starts", type=int, default=4, help="how often the processes are started (4)")
    parser.add_argument("--rounds", type=int, default=25, help="pairs a start (25)")
    parser.add_argument("--hang-tables", choices=WITH_TABLES, help="compare only this way with and without such tables")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    for own in ("--worker", "--traceml"):
        parser.add_argument(own, action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := set(options.models) - set(STEPS):
        parser.error(f"--models: not one of {', '.join(STEPS)}: {', '.join(unknown)}")
    if options.rounds < 1 or options.starts < 1:
        parser.error("--rounds and --starts must be at least 1")
    return options


def main():
    options = parse_arguments()
    if options.worker:
        return work(options.traceml)
    rounds = measure(options)
    figures = {model: {way: compare(of_model, way) for way in ("idle", "log", "record", "traceml", "tables") if way in of_model}
               for model, of_model in rounds.items()}
    if options.json:
        print(json.dumps({"schema": "redline.bench.run_log/1", "models": figures}, indent=2))
        return None
    for model, of_model in figures.items():
        show(model, of_model)
    return None


if __name__ == "__main__":
    sys.exit(main())

"""What recording costs a training loop: Redline and torch.profiler, side by side in one run.

A small CNN is trained on one thread: without a recorder, with Redline, with torch.profiler, in turn,
round after round, so that all see the same weather on the machine. Figures are medians over the
rounds, each recorded loop set against the plain one of its own round.

The training loop stands still while a profiler stops (with a schedule, step() does it), so the
slow-down that a job sees holds the stop; the recording alone is given apart. Both export to the same
format, --format.
"""

import argparse
import gzip
import json
import pathlib
import statistics
import sys
import tempfile
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
import redline  # noqa: E402


class Training:
    """Steps of a small CNN: operators of a few microseconds, where a recorder's cost shows most."""

    def __init__(self):
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
            torch.nn.MaxPool2d(2), torch.nn.Conv2d(8, 16, 3, padding=1), torch.nn.BatchNorm2d(16),
            torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
            torch.nn.Linear(16, 10),
        )
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)
        self.images = torch.rand(4, 3, 16, 16)
        self.labels = torch.arange(4)

    def run(self, steps):
        """Seconds that `steps` steps took."""
        begin = time.perf_counter()
        for _ in range(steps):
            self.optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(self.model(self.images), self.labels)
            loss.backward()
            self.optimizer.step()
        return time.perf_counter() - begin


def record(training, steps, profile, path):
    """Seconds of the loop, of the stop after it, and of the export."""
    profile.start()
    loop = training.run(steps)
    begin = time.perf_counter()
    profile.stop()
    stopped = time.perf_counter()
    profile.export_chrome_trace(str(path))
    return loop, stopped - begin, time.perf_counter() - stopped


COUNTED = ("cpu_op", "user_annotation", "python_function")


def count_events(path):
    """Operators, annotations and Python calls in a trace: what both record alike."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as file:
        events = json.load(file)["traceEvents"]
    return sum(event.get("cat") in COUNTED for event in events)


def profilers(stacks):
    return {
        "redline": lambda: redline.profile(with_stack=stacks),
        "torch_profiler": lambda: torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU], with_stack=stacks
        ),
    }


def measure(rounds, steps, path, stacks):
    """The figures of each profiler, exported to `path`: slow-downs as shares of the plain loop,
    costs in microseconds an event."""
    training = Training()
    training.run(steps)
    makers = profilers(stacks)
    rows = {name: [] for name in makers}
    for index in range(rounds):
        plain = training.run(steps)
        for name, make in makers.items():
            loop, stop, export = record(training, steps, make(), path)
            # The first round pays for loading and warming up.
            if index > 0:
                rows[name].append((plain, loop - plain, stop, export, count_events(path)))
    return {name: summarise(of_profiler) for name, of_profiler in rows.items()}


def summarise(rows):
    def median(figure):
        return statistics.median(figure(*row) for row in rows)

    return {
        "slow_down": median(lambda plain, loop, stop, export, events: (loop + stop) / plain),
        "slow_down_recording": median(lambda plain, loop, stop, export, events: loop / plain),
        "loop_us": median(lambda plain, loop, stop, export, events: loop / events * 1e6),
        "stop_us": median(lambda plain, loop, stop, export, events: stop / events * 1e6),
        "export_us": median(lambda plain, loop, stop, export, events: export / events * 1e6),
        "total_us": median(
            lambda plain, loop, stop, export, events: (loop + stop + export) / events * 1e6
        ),
        "events": rows[0][-1],
    }


ROWS = (
    ("slow-down, stop included", "slow_down", 100, "%"),
    ("slow-down, recording alone", "slow_down_recording", 100, "%"),
    ("loop + stop + export, an event", "total_us", 1, "us"),
    ("  loop", "loop_us", 1, "us"),
    ("  stop", "stop_us", 1, "us"),
    ("  export", "export_us", 1, "us"),
)


def show(figures):
    ours, theirs = figures["redline"], figures["torch_profiler"]
    print(f"{'':32}{'torch.profiler':>16}{'redline':>12}{'ratio':>10}")
    for title, key, scale, unit in ROWS:
        ratio = f"1/{theirs[key] / ours[key]:.1f}" if ours[key] > 0 else "-"
        print(f"{title:32}{theirs[key] * scale:>13.2f} {unit:2}{ours[key] * scale:>9.2f} {unit:2}"
              f"{ratio:>10}")
    print(f"{'events a round':32}{theirs['events']:>13}{ours['events']:>12}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=11, help="how often each is measured (11)")
    parser.add_argument("--steps", type=int, default=200, help="training steps in one loop (200)")
    parser.add_argument("--format", choices=("json.gz", "json"), default="json.gz",
                        help="what both export (json.gz)")
    parser.add_argument("--stacks", action="store_true", help="with the Python calls (with_stack)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    if options.rounds < 2 or options.steps < 1:
        parser.error("--rounds must be at least 2 and --steps at least 1")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"trace.{options.format}"
        figures = measure(options.rounds, options.steps, path, options.stacks)
    if options.json:
        about = {"schema": "redline.bench.record_overhead/1", "torch": torch.__version__,
                 "rounds": options.rounds, "steps": options.steps, "format": options.format,
                 "stacks": options.stacks}
        print(json.dumps({**about, **figures}, indent=2))
    else:
        show(figures)


if __name__ == "__main__":
    main()

"""Measures what recording costs a training loop, for Redline and torch.profiler in the same run.

Small models are trained on one thread: without a recorder, with Redline, with torch.profiler, round
after round, so that other work on the machine disturbs all alike. Each recorded loop is compared with
the plain loop of its round, and figures are medians over the rounds.

The training loop stands still while a profiler stops (with a schedule, step() does that). So the
slow-down of a job includes the stop; the recording alone is a separate figure. Both profilers export
to the same format. At the end each source of events is timed alone.
"""

import argparse
import gzip
import itertools
import json
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time
import warnings

import torch
from places import LIBRARIES, ROOT

sys.path.insert(0, str(ROOT / "python"))
os.environ.update(LIBRARIES)
import redline  # noqa: E402
from busy_cores import computing  # noqa: E402
from record_models import MODELS  # noqa: E402
from record_sources import BareObserver, measure_sources, show_sources  # noqa: E402


WITH_MODULES, PLAIN, BARE = "redline with modules", "plain", "bare observer"


def profilers(modules, **options):
    activities = [torch.profiler.ProfilerActivity.CPU]
    makers = {
        "torch.profiler": lambda: torch.profiler.profile(activities=activities, **options),
        "redline": lambda: redline.profile(activities=activities, **options),
    }
    if modules:
        makers[WITH_MODULES] = lambda: redline.profile(activities=activities, with_modules=True, **options)
    return makers


def record(training, steps, profile, path):
    """Gives the seconds of the loop, of the stop after it, and of the export."""
    profile.start()
    loop = training.run(steps)
    begin = time.perf_counter()
    profile.stop()
    stopped = time.perf_counter()
    profile.export_chrome_trace(str(path))
    return loop, stopped - begin, time.perf_counter() - stopped


def observe(training, steps, with_inputs):
    """Gives the seconds of the loop under an observer that does nothing."""
    observer = BareObserver(with_inputs)
    observer.start()
    loop = training.run(steps)
    observer.stop()
    return loop


def count_events(path):
    """Counts slices of operators, annotations and Python calls, which both profilers record."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as file:
        events = json.load(file)["traceEvents"]
    kinds = ("cpu_op", "user_annotation", "python_function")
    return sum(event.get("cat") in kinds for event in events)


def measure(training, rounds, steps, modules, options, path):
    """The figures of each profiler, which exports to `path`. Slow-downs are shares of the plain loop, and costs
    are microseconds per event."""
    makers = profilers(modules, **options)
    rows, traces = {name: [] for name in (*makers, BARE)}, {}
    training.run(steps)
    # What runs after torch.profiler's export finds the heap as it was left. So each round has an order of its own.
    order = random.Random(0)
    for index in range(rounds + 1):
        took = {}
        for name in order.sample((PLAIN, *rows), len(rows) + 1):
            if name == PLAIN:
                took[name] = training.run(steps), 0.0, 0.0
            elif name == BARE:
                took[name] = observe(training, steps, options["record_shapes"]), 0.0, 0.0
            else:
                took[name] = record(training, steps, makers[name](), path)
                if index == 0:
                    traces[name] = count_events(path), path.stat().st_size
        if index == 0:  # also pays for loading and warming up
            continue
        plain = took[PLAIN][0]
        for name, of_it in rows.items():
            loop, stop, export = took[name]
            of_it.append((plain, loop - plain, stop, export))
    figures = {name: summarise(of_it, *traces.get(name, traces["redline"])) for name, of_it in rows.items()}
    if modules:
        figures[WITH_MODULES] |= cost_of_modules(rows["redline"], rows[WITH_MODULES],
                                                 traces[WITH_MODULES][0] - traces["redline"][0])
    return figures


def cost_of_modules(without, with_them, calls):
    """Of the loop alone; each round is compared with itself."""
    more = [(own[1] - other[1], own[0]) for own, other in zip(with_them, without)]
    return {
        "module_calls": calls,
        "more_slow_down": statistics.median(loop / plain for loop, plain in more),
        "a_module_call_us": statistics.median(loop for loop, _ in more) / calls * 1e6,
    }


def summarise(rows, events, trace_bytes):
    def median(figure):
        return statistics.median(figure(*row) for row in rows)

    def an_event(figure):
        return median(figure) / events * 1e6

    return {
        "slow_down": median(lambda plain, loop, stop, export: (loop + stop) / plain),
        "slow_down_recording": median(lambda plain, loop, stop, export: loop / plain),
        "loop_us": an_event(lambda plain, loop, stop, export: loop),
        "stop_us": an_event(lambda plain, loop, stop, export: stop),
        "export_us": an_event(lambda plain, loop, stop, export: export),
        "total_us": an_event(lambda plain, loop, stop, export: loop + stop + export),
        "bytes_an_event": trace_bytes / events,
        "events": events,
    }


ROWS = (
    ("slow-down, stop included", "slow_down", 100, "%"),
    ("slow-down, recording alone", "slow_down_recording", 100, "%"),
    ("loop + stop + export, an event", "total_us", 1, "us"),
    ("  loop", "loop_us", 1, "us"),
    ("  stop", "stop_us", 1, "us"),
    ("  export", "export_us", 1, "us"),
    ("trace on disk, an event", "bytes_an_event", 1, "B"),
)


def show(figures):
    ours, theirs, floor = (figures[name] for name in ("redline", "torch.profiler", BARE))
    print(f"{'':32}{'torch.profiler':>16}{'redline':>12}{'ratio':>10}{'bare observer':>16}")
    for title, key, scale, unit in ROWS:
        ratio = f"1/{theirs[key] / ours[key]:.1f}" if ours[key] > 0 else "-"
        is_loop = key in ("slow_down_recording", "loop_us")
        bare = f"{floor[key] * scale:>13.2f} {unit:2}" if is_loop else ""
        print(f"{title:32}{theirs[key] * scale:>13.2f} {unit:2}{ours[key] * scale:>9.2f} {unit:2}"
              f"{ratio:>10}{bare}")
    print(f"{'events a round':32}{theirs['events']:>13}{ours['events']:>12}")
    if WITH_MODULES in figures:
        more = figures[WITH_MODULES]
        print(f"with modules: {more['more_slow_down']:+.1%} of the plain loop, "
              f"{more['a_module_call_us']:.2f} us for each of {more['module_calls']} calls")
    print(flush=True)


def choices(values):
    """A type for argparse: some of `values`, separated by commas."""

    def parse(text):
        chosen = text.split(",")
        if unknown := set(chosen) - set(values):
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: not one of {', '.join(values)}")
        return chosen

    return parse


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, values in (("models", list(MODELS)), ("shapes", ["off", "on"]),
                         ("stacks", ["off", "on"]), ("formats", ["json.gz", "json"])):
        parser.add_argument(f"--{name}", type=choices(values), default=values,
                            help=f"a comma list of {', '.join(values)} (all)")
    parser.add_argument("--modules", action="store_true", help="also with the calls of modules")
    parser.add_argument("--rounds", type=int, default=7, help="how often each is measured (7)")
    parser.add_argument("--steps", type=int, help="training steps in one loop (by model)")
    parser.add_argument("--busy", type=int, default=0, metavar="N", help="beside N processes that only compute (0)")
    parser.add_argument("--no-sources", action="store_true", help="without each source alone")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args()
    if options.rounds < 1 or (options.steps is not None and options.steps < 1):
        parser.error("--rounds and --steps must be at least 1")
    return options


def measure_matrix(options, folder):
    trainings = {model: MODELS[model]() for model in options.models}
    results = []
    matrix = itertools.product(options.models, options.shapes, options.stacks, options.formats)
    for model, shapes, stacks, trace_format in matrix:
        title = {"model": model, "shapes": shapes, "stacks": stacks, "format": trace_format}
        if not options.json:
            print(", ".join(f"{name} {value}" for name, value in title.items()))
        switches = {"record_shapes": shapes == "on", "with_stack": stacks == "on"}
        figures = measure(trainings[model], options.rounds, options.steps or trainings[model].steps,
                          options.modules, switches, folder / f"trace.{trace_format}")
        results.append({**title, **figures})
        if not options.json:
            show(figures)
    return results


def main():
    options = parse_arguments()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    warnings.filterwarnings("ignore", message=".*clears events at the end of each cycle")
    with tempfile.TemporaryDirectory() as folder, computing(options.busy):
        results = measure_matrix(options, pathlib.Path(folder))
    sources = {} if options.no_sources else measure_sources()
    if options.json:
        about = {"schema": "redline.bench.record_overhead/2", "torch": torch.__version__,
                 "rounds": options.rounds, "busy": options.busy}
        print(json.dumps({**about, "runs": results, "sources_ns": sources}, indent=2))
    elif sources:
        show_sources(sources)


if __name__ == "__main__":
    main()

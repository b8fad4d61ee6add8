"""Searches recorded full sweeps again, with every strategy of autotune and, where it is installed, Optuna's TPE.

    REDLINE_PYTHON=/path/with/optuna/bin/python ./bench/run replay [--seeds 200] [--json] [SWEEP.jsonl|GROUP…]

Each trial's result is drawn from the recorded runs of its configuration, also from those that ran out of memory. Its
seconds include the start-up. Regret is how much slower the incumbent is than the best configuration of the sweep; the
rate of a configuration is the median of its runs, reduced by the share that failed. To show how much regret noise
alone causes, the whole grid is also run, once and twice. Optuna gets the same first trial, the defaults, and is told
0 samples a second for a trial out of memory: its ten random first trials would not count those told as failed. Its
incumbent is the configuration with the best value that it was told.
"""

import argparse
import bisect
import collections
import json
import pathlib
import random
import statistics
import subprocess
import sys

from places import PROGRAMS

try:
    import optuna
except ImportError:
    optuna = None

HERE = pathlib.Path(__file__).parent
REPLAY = PROGRAMS / "replay_sweeps"
STRATEGIES = ("model", "coordinate", "random", "grid")
GROUPS = ("looking", "held-back")  # of synthetic machines: see replay_sweeps.cc
SAMPLERS = {
    "optuna TPE": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "optuna GP": lambda seed: optuna.samplers.GPSampler(seed=seed, deterministic_objective=False),
}
TRIALS = 25
GOOD = 0.05


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sweeps", nargs="*", type=pathlib.Path, default=sorted((HERE / "sweeps").glob("*.jsonl")))
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--json", action="store_true", help="one line a sweep and strategy, all figures")
    arguments = parser.parse_args()
    if not REPLAY.exists():
        sys.exit(f"{REPLAY} is absent: cmake --build --preset release --target replay_sweeps")
    if optuna is None:
        print("optuna is not installed: its rows are left out (pip install optuna)", file=sys.stderr)
    for path in arguments.sweeps:
        is_group = path.name.startswith(GROUPS)
        seeds = range(1, arguments.seeds + 1)
        searches = {name: replay(path, name, arguments.seeds) for name in STRATEGIES if not is_group or name != "grid"}
        if optuna is not None:
            optuna.logging.set_verbosity(optuna.logging.WARNING)
            for name, sampler in SAMPLERS.items():
                one = on_machine if is_group else on_sweep
                searches[name] = [one(path, seed, sampler(seed)) for seed in seeds]
        report(path, searches, arguments.json)
        if not is_group:
            report_noise(path, arguments.seeds, arguments.json)


def replay(path, strategy, seeds):
    command = [REPLAY, path, strategy, str(seeds), str(TRIALS)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


class Sweep:
    def __init__(self, path):
        with path.open() as file:
            self.head = json.loads(file.readline())
            self.runs = collections.defaultdict(list)
            for line in file:
                run = json.loads(line)
                self.runs[self.key(run["config"])].append(run)
        self.best = max(map(true_rate, self.runs.values()))

    def key(self, config):
        return tuple(str(config[name]) for name in self.head["knobs"])


def true_rate(runs):
    """The median rate of the runs, reduced by the share that failed, as in replay_sweeps.cc."""
    rates = [run["samples_per_s"] for run in runs if run["outcome"] == "ok"]
    return statistics.median(rates) * len(rates) / len(runs) if rates else 0


def whole_grid(sweep, seed, times):
    """The regret of a search that runs every configuration `times` times and takes the best mean: chance alone."""
    draw = random.Random(seed)
    best, best_rate = 0, 0
    for runs in sweep.runs.values():
        drawn = [draw.choice(runs) for _ in range(times)]
        if all(run["outcome"] == "ok" for run in drawn):
            rate = statistics.mean(run["samples_per_s"] for run in drawn)
            best, best_rate = (true_rate(runs), rate) if rate > best_rate else (best, best_rate)
    return 1 - best / sweep.best


def on_machine(group, number, sampler):
    """[regret, seconds, out-of-memory trials] after each trial."""
    command = [REPLAY, group, "ask", f"{number}..{number}", "0"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as machine:
        told = json.loads(machine.stdout.readline())["defaults"]
        study = optuna.create_study(direction="maximize", sampler=sampler)
        study.enqueue_trial({**told, "batch_size": int(told["batch_size"]), "num_workers": int(told["num_workers"])})
        seconds, failures, best, regret, history = 0.0, 0, 0, 1.0, []
        for _ in range(TRIALS):
            trial = study.ask()
            config = {
                "batch_size": trial.suggest_int("batch_size", 1, 1024, log=True),
                "num_workers": trial.suggest_int("num_workers", 0, 16),
                "amp": trial.suggest_categorical("amp", ["off", "bf16", "fp16"]),
                "cudnn_benchmark": trial.suggest_categorical("cudnn_benchmark", ["off", "on"]),
                "channels_last": trial.suggest_categorical("channels_last", ["off", "on"]),
            }
            print(json.dumps(config), file=machine.stdin, flush=True)
            run = json.loads(machine.stdout.readline())
            seconds += run["wall_s"]
            if run["samples_per_s"] > 0:
                study.tell(trial, run["samples_per_s"])
            else:
                failures += 1
                study.tell(trial, 0.0)
            if run["samples_per_s"] > best:
                best, regret = run["samples_per_s"], run["regret"]
            history.append([regret, seconds, failures])
        machine.stdin.close()
    return history


def on_sweep(path, seed, sampler):
    """The same on a recorded sweep."""
    sweep = Sweep(path)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    draw = random.Random(seed)
    defaults = sweep.head["defaults"]
    study.enqueue_trial({name: index_of(values, defaults[name]) for name, values in sweep.head["knobs"].items()})
    seconds, failures, history = 0.0, 0, []
    incumbent, incumbent_value = None, 0
    for _ in range(TRIALS):
        trial = study.ask()
        config = {name: suggested(trial, name, values) for name, values in sweep.head["knobs"].items()}
        runs = sweep.runs[sweep.key(config)]
        run = draw.choice(runs)
        seconds += sweep.head["start_up_s"] + run["wall_s"]
        if run["outcome"] == "ok":
            study.tell(trial, run["samples_per_s"])
            if run["samples_per_s"] > incumbent_value:
                incumbent, incumbent_value = runs, run["samples_per_s"]
        else:
            failures += 1
            study.tell(trial, 0.0)
        rate = true_rate(incumbent) if incumbent else 0
        history.append([1 - rate / sweep.best, seconds, failures])
    return history


def index_of(values, value):
    return value if isinstance(values[0], str) else values.index(value)


def suggested(trial, name, values):
    """A value of the knob. Numbers are suggested by their index, so that TPE knows which are neighbours."""
    if isinstance(values[0], str):
        return trial.suggest_categorical(name, values)
    return values[trial.suggest_int(name, 0, len(values) - 1)]


def report(path, searches, as_json):
    median_seconds = statistics.median(search[-1][1] for search in searches["model"])
    if not as_json:
        head = {"machine": "synthetic machines", "day": "one a seed"}
        if path.exists():
            with path.open() as file:
                head = json.loads(file.readline())
        print(f"{path.stem}: {head['machine']}, {head['day']}; equal time = {median_seconds:.0f} s")
        print("  regret, median (p90)    10 trials      15 trials      25 trials     equal time   OOM   trials to 5 %")
    for name, runs in searches.items():
        row = figures(name, runs, median_seconds)
        if as_json:
            print(json.dumps({"sweep": path.stem, **row}))
            continue
        shares = "".join(f"{show(row[key]):>15}" for key in ("at_10", "at_15", "at_25", "at_equal_time"))
        print(f"  {name:<18}{shares}   {row['oom_median']:.0f} ({row['oom_most']})   {row['trials_to_5_percent']}")


def report_noise(path, seeds, as_json):
    sweep = Sweep(path)
    for times in (1, 2):
        regret = spread([whole_grid(sweep, seed, times) for seed in range(1, seeds + 1)])
        trials = times * len(sweep.runs)
        if as_json:
            print(json.dumps({"sweep": path.stem, "whole_grid_trials": trials, **regret}))
        else:
            print(f"  the whole grid, {trials:>3} trials: {show(regret):>14}")


def figures(name, runs, seconds):
    def at(trials):
        return spread([run[min(trials, len(run)) - 1][0] for run in runs])

    def in_time(run):
        place = bisect.bisect_right([step[1] for step in run], seconds)
        return run[place - 1][0] if place else 1.0

    reached = [next((i + 1 for i, step in enumerate(run) if step[0] <= GOOD), TRIALS + 1) for run in runs]
    to_good = statistics.median_low(reached)
    failures = [run[-1][2] for run in runs]
    return {
        "strategy": name,
        "at_10": at(10),
        "at_15": at(15),
        "at_25": at(25),
        "at_equal_time": spread([in_time(run) for run in runs]),
        "oom_median": statistics.median(failures),
        "oom_most": max(failures),
        "trials_to_5_percent": to_good if to_good <= TRIALS else f"over {TRIALS}",
        "trials_median": statistics.median(len(run) for run in runs),
    }


def spread(regrets):
    ordered = sorted(regrets)
    return {
        "median": statistics.median(ordered),
        "p90": ordered[int(0.9 * (len(ordered) - 1))],
        "p99": ordered[int(0.99 * (len(ordered) - 1))],
    }


def show(share):
    return f"{100 * share['median']:.1f} ({100 * share['p90']:.1f}) %"


if __name__ == "__main__":
    main()

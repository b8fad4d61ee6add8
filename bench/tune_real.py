"""Compares a search on real training with the full grid, which shows the true best.

It trains samples/python/train_cifar.py data-parallel on two ranks. `autotune --strategy grid` runs every
combination of the knobs. Then the search by a model gets 15 % of the grid's time, and none of its results.
Finally the two winners and the defaults train longer through `redline run`, without a tuner around them,
in turn, round after round. Only these last rates are compared.

Goals: the winner by the model is within 2 % of the grid's, in at most 15 % of its time.
"""

import argparse
import json
import pathlib
import re
import statistics
import sys
import tempfile
import time

from places import PROGRAMS, ROOT, output_of

KNOBS = ["batch_size=16,32,64,128,256", "num_workers=0,1,2", "bucket_cap_mb=5,25"]
RANKS = 2
SHARE_OF_TIME = 0.15
REGRET = 0.02


def tune(strategy, train, arguments, folder, *limits):
    """Runs autotune. Gives the study as JSON, its time, and the file with its winner."""
    config = folder / f"{strategy}.json"
    options = [word for knob in arguments.knob for word in ("--knob", knob)]
    files = ["--study", folder / f"{strategy}.db", "-o", config, "--format", "json"]
    begin = time.monotonic()
    study = output_of([PROGRAMS / "autotune", "--strategy", strategy, *options, *limits, *files, "--", *train])
    return json.loads(study), time.monotonic() - begin, config


def grid_size(knobs):
    size = 1
    for knob in knobs:
        size *= len(knob.partition("=")[2].split(","))
    return size


def longer_runs(configs, train, arguments, rate):
    """Runs each configuration `arguments.rounds` times, in turn, and gives the rates."""
    rates = {name: [] for name in configs}
    for turn in range(arguments.rounds):
        order = list(configs.items())
        for name, config in order[turn % len(order) :] + order[: turn % len(order)]:
            batch = json.loads(config.read_text())["knobs"].get("batch_size", 32)
            steps = max(10, round(arguments.seconds * rate / (batch * RANKS)))
            command = [PROGRAMS / "redline", "run", "--config", config, "--", *train]
            output = output_of([*command, "--steps", steps])
            rates[name].append(float(re.findall(r"samples/s ([0-9.]+)", output)[-1]))
            print(f"round {turn + 1}  {name:8} {rates[name][-1]:10.1f} samples/s", flush=True)
    return rates


def knobs_text(config):
    knobs = json.loads(config.read_text())["knobs"]
    return ", ".join(f"{name} {value}" for name, value in knobs.items()) or "the defaults"


def measured(arguments, folder):
    train = [arguments.torchrun, "--nproc_per_node", RANKS, ROOT / "samples/python/train_cifar.py"]
    everything = ["--budget", "2h", "--max-trials", grid_size(arguments.knob) + 9]
    grid, grid_s, grid_config = tune("grid", train, arguments, folder, *everything)
    print(f"grid: {len(grid['trials'])} trials, {grid_s:.0f} s, best {knobs_text(grid_config)}", flush=True)
    share = ["--budget", f"{int(SHARE_OF_TIME * grid_s)}s"]
    model, model_s, model_config = tune("model", train, arguments, folder, *share)
    print(f"model: {len(model['trials'])} trials, {model_s:.0f} s, best {knobs_text(model_config)}", flush=True)

    default = folder / "default.json"
    default.write_text(json.dumps({**grid["best"], "knobs": {}}))
    configs = {"default": default, "grid": grid_config, "model": model_config}
    same = grid["best"]["knobs"] == model["best"]["knobs"]
    if same:  # only noise would differ
        del configs["model"]
    rates = longer_runs(configs, train, arguments, grid["best"]["throughput"]["samples_per_s"])
    # Each is compared with the grid's winner of the same round, because other work on the machine disturbs both alike.
    against = {
        name: statistics.median(own / best for own, best in zip(values, rates["grid"], strict=True))
        for name, values in rates.items()
    }
    if same:
        against["model"] = 1.0
    return {
        "knobs": arguments.knob,
        "grid": {"trials": len(grid["trials"]), "seconds": grid_s, "best": json.loads(grid_config.read_text())["knobs"]},
        "model": {"trials": len(model["trials"]), "seconds": model_s, "oom_trials": model["oom_trials"],
                   "best": json.loads(model_config.read_text())["knobs"]},
        "rates": rates,
        "regret": 1 - against["model"],
        "speedup_over_default": against["model"] / against["default"],
        "share_of_time": model_s / grid_s,
    }  # fmt: skip


def show(result):
    regret, share = result["regret"], result["share_of_time"]
    print(f"the search lacks {regret:.1%} to the grid's best (goal: at most {REGRET:.0%}), "
          f"in {share:.2f} of its time (goal: at most {SHARE_OF_TIME})")  # fmt: skip
    print(f"its winner runs {result['speedup_over_default']:.2f} x the defaults")
    return regret <= REGRET and share <= SHARE_OF_TIME * 1.1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--knob", action="append", help=f"NAME=A,B,C, again and again ({' '.join(KNOBS)})")
    parser.add_argument("--seconds", type=float, default=30, help="of each longer run (30)")
    parser.add_argument("--rounds", type=int, default=3, help="of longer runs (3)")
    parser.add_argument("--torchrun", default=str(ROOT / ".venv/bin/torchrun"), help="(.venv/bin/torchrun)")
    parser.add_argument("--output", type=pathlib.Path, help="keep the studies here; default: nowhere")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures here")
    arguments = parser.parse_args()
    arguments.knob = arguments.knob or KNOBS
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.output or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        result = measured(arguments, folder)
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")
    return 0 if show(result) else 1


if __name__ == "__main__":
    sys.exit(main())

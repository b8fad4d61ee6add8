"""Predicts changes of small trainings with `redline what-if` from a recording, then makes them and measures.

Each case trains on one thread (or on two ranks), as it is and with a change, in turns. The error is that of the
predicted step against the measured one, by the measured change; the interval covers if the measured ratio is in it.
"""

import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from places import LIBRARIES, REDLINE, output_of

TRAINING = pathlib.Path(__file__).with_name("what_if_training.py")


def case(knob, before, ranks=1, **after):
    return {"knob": knob, "before": before, "after": {**before, **after}, "ranks": ranks}


CASES = {
    "loader without its delay": case("loader=free", {"delay": 12}, delay=0),
    "loader twice as fast": case("loader=2x", {"delay": 24}, delay=12),
    "worker twice as fast, still the limit": case("loader=2x", {"delay": 60, "workers": 1, "width": 512}, delay=30),
    "worker ten times as fast": case("loader=10x", {"delay": 40, "workers": 1}, delay=4),
    "an operator twice as fast": case("kernels:^aten::cumsum$=2x", {"sums": 40}, sums=20),
    "an operator four times as fast": case("kernels:^aten::cumsum$=4x", {"sums": 80}, sums=20),
    "batch of an MLP twice as large": case("batch_size=2x", {"batch": 64}, batch=128),
    "batch of a CNN twice as large": case("batch_size=2x", {"model": "cnn", "batch": 16}, batch=32),
    "batch of a transformer four times": case("batch_size=4x", {"model": "transformer", "batch": 16}, batch=64),
    "products in bf16": case("amp=bf16", {"batch": 256}, amp=True),
    "network twice as fast": case("collectives=2x", {"reduce": 64}, 2, reduce=32),
    "batch of an LSTM twice as large": case("batch_size=2x", {"model": "lstm", "batch": 16}, batch=32),
    "batch of a ViT half as large": case("batch_size=0.5x", {"model": "vit", "batch": 16}, batch=8),
    "convolutions in bf16": case("amp=bf16", {"model": "cnn", "batch": 16}, amp=True),
    "ViT's loader without its delay": case("loader=free", {"model": "vit", "batch": 4, "delay": 60}, delay=0),
    "ViT's worker without its delay": case("loader=free", {"model": "vit", "batch": 16, "delay": 60, "workers": 1},
                                           delay=0),
    "LSTM's worker twice as fast": case("loader=2x", {"model": "lstm", "batch": 8, "delay": 120, "workers": 1},
                                        delay=60),
    "straggler cured": case("straggler=cured", {"reduce": 4, "late": 20}, 2, late=0),
}


def train(one, folder, rounds):
    """The time of a step in each block of the training before and after the change."""
    command = [sys.executable, str(TRAINING), json.dumps(one), "--folder", str(folder), "--rounds", str(rounds)]
    environment = {**os.environ, **LIBRARIES}
    if one["ranks"] == 1:
        return json.loads(output_of(command, env=environment).splitlines()[-1])
    ranks = [subprocess.Popen(command, env=dict(environment, RANK=str(rank), WORLD_SIZE=str(one["ranks"])),
                              stdout=subprocess.PIPE, text=True) for rank in range(one["ranks"])]
    outputs = [rank.communicate()[0] for rank in ranks]
    if any(rank.returncode for rank in ranks):
        sys.exit(f"what_if: a rank of {one} failed")
    return json.loads(outputs[0].splitlines()[-1])


def judged(name, one, rounds):
    with tempfile.TemporaryDirectory() as folder:
        measured = train(one, pathlib.Path(folder), rounds)
        said = subprocess.run([REDLINE, "what-if", folder, "--knob", one["knob"], "--format", "json"],
                              capture_output=True, text=True, check=False)
    ratio = statistics.median(after / before for before, after in zip(measured["before"], measured["after"]))
    row = {"name": name, "knob": one["knob"], "before_ms": 1e3 * statistics.median(measured["before"]),
           "measured": ratio}
    if said.returncode != 0:
        return {**row, "refused": said.stderr.strip()}
    said = json.loads(said.stdout)
    low, value, high = (said["predicted"][key] / said["step_ns"] for key in ("low_ns", "step_ns", "high_ns"))
    return {**row, "predicted": value, "low": low, "high": high, "recorded_ms": said["step_ns"] / 1e6,
            "error": abs(value - ratio) / ratio, "of_change": abs(value - ratio) / max(abs(1 - ratio), 1e-9),
            "covered": low <= ratio <= high}


def row_text(row):
    if "refused" in row:
        return f"| {row['name']} | {row['knob']} | {row['measured']:.2f} | no prediction: {row['refused']} | | | |"
    return (f"| {row['name']} | {row['knob']} | {row['measured']:.2f} | {row['predicted']:.2f} | "
            f"{row['low']:.2f} to {row['high']:.2f} | {100 * row['error']:.0f} % | "
            f"{100 * row['of_change']:.0f} % | {'yes' if row['covered'] else 'no'} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="names of cases, or parts of names; none: all")
    parser.add_argument("--rounds", type=int, default=7, help="blocks of 12 steps a side (default 7)")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    chosen = {name: one for name, one in CASES.items()
              if not arguments.cases or any(part in name for part in arguments.cases)}
    rows = []
    print(f"| {datetime.date.today()}, rounds {arguments.rounds} | knob | measured | predicted | 90 % interval | "
          "error of the step | of the change | covered |\n|---|---|---|---|---|---|---|---|", flush=True)
    for name, one in chosen.items():
        rows.append(judged(name, one, arguments.rounds))
        print(row_text(rows[-1]), flush=True)
    predicted = [row for row in rows if "predicted" in row]
    if arguments.json:
        print(json.dumps(rows, indent=2))
    if predicted:
        print(f"median error {100 * statistics.median(row['error'] for row in predicted):.1f} % of the step, "
              f"{100 * statistics.median(row['of_change'] for row in predicted):.1f} % of the change; "
              f"covered {sum(row['covered'] for row in predicted)} of {len(predicted)}")


if __name__ == "__main__":
    main()

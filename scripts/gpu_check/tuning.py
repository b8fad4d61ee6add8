"""Runs autotune on ResNet-50, and a grid over the same space, which shows the true best."""

import json
import pathlib
import sqlite3

KNOBS = {
    "batch_size": "64,128,256,512,1024,2048,4096,8192",
    "num_workers": "4,12",
    "amp": "off,bf16",
    "channels_last": "off,on",
    "cudnn_benchmark": "off,on",
}


def grid_size():
    size = 1
    for values in KNOBS.values():
        size *= len(values.split(","))
    return size


def command(place, strategy, study, budget_s, *more):
    """A study that exists goes on: `budget_s` are seconds from now on."""
    if study.exists():
        budget_s += seconds_spent(study)
        more = ("--resume", *more)
    knobs = [word for name, values in KNOBS.items() for word in ("--knob", f"{name}={values}")]
    return [
        place.package / "bin/autotune", *knobs, "--strategy", strategy, "--budget", f"{budget_s:.0f}s",
        "--study", study, "-o", place.scratch / f"{strategy}.best.json", *more,
        "--", place.python, place.sources / "training/train_resnet50.py",
    ]


def trials(study):
    """Finished trials as dictionaries."""
    if not pathlib.Path(study).exists():
        return []
    with sqlite3.connect(study) as database:
        database.row_factory = sqlite3.Row
        rows = database.execute("SELECT * FROM trials WHERE state = 'finished'").fetchall()
    return [{**dict(row), "config": json.loads(row["config"])} for row in rows]


def seconds_spent(study):
    return sum((row["wall_ns"] or 0) for row in trials(study)) / 1e9


def summary(rows):
    """The best rate with its configuration, and where memory ends, by precision."""
    ran = [row for row in rows if row["outcome"] == "ok"]
    best = max(ran, key=lambda row: row["samples_per_s"], default=None)
    outcomes = [row["outcome"] for row in rows]
    return {
        "trials": len(rows),
        "outcomes": {outcome: outcomes.count(outcome) for outcome in sorted(set(outcomes))},
        "best": best and {"config": best["config"], "samples_per_s": best["samples_per_s"],
                          "peak_memory_bytes": best["peak_memory_bytes"]},
        "frontier": {amp: frontier(rows, amp) for amp in ("off", "bf16")},
    }


def frontier(rows, amp):
    """The largest batch that ran and the smallest that did not fit."""
    def batches(outcome):
        return [int(row["config"]["batch_size"]) for row in rows
                if row["outcome"] == outcome and row["config"].get("amp", "off") == amp
                and "batch_size" in row["config"]]

    return {"largest_ok": max(batches("ok"), default=None),
            "smallest_oom": min(batches("gpu_oom"), default=None)}


def regret(tuned, grid):
    """By what share the search's best rate is below the grid's. Both arguments are from summary(); None if one has no
    best."""
    if not tuned["best"] or not grid["best"]:
        return None
    return 1 - tuned["best"]["samples_per_s"] / grid["best"]["samples_per_s"]

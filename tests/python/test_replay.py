"""Replays the search by a model on recorded full sweeps, so that a change which finds less is seen at once."""

import json

import pytest

TRIALS = 25
SEEDS = 20


# Only sweeps whose runs agree so well that a few per cent mean something.
@pytest.mark.parametrize("sweep", ["transformer", "loader", "resnet18", "resnet50_gpu"])
def test_the_model_is_within_five_percent(succeed, program, repo_root, sweep):
    path = repo_root / "bench" / "sweeps" / f"{sweep}.jsonl"
    done = succeed([program("replay_sweeps"), path, "model", str(SEEDS), str(TRIALS)])
    searches = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(searches) == SEEDS
    regrets = sorted(search[-1][0] for search in searches)
    assert regrets[int(0.9 * SEEDS)] <= 0.05
    assert all(len(search) <= TRIALS for search in searches)


def test_a_sweep_that_cannot_be_read_is_said(run, program, tmp_path):
    (tmp_path / "torn.jsonl").write_text('{"schema": "redline.sweep/1"')
    done = run([program("replay_sweeps"), tmp_path / "torn.jsonl", "model", "1", "5"])
    assert done.returncode == 1
    assert done.stderr.startswith("replay_sweeps: ") and done.stderr.count("\n") == 1

"""Tests what bench/trace_load.py prints, not how fast anything is."""

import json
import sys

import pytest
from conftest import BUILD


@pytest.fixture
def bench(succeed, program, repo_root, shared):
    """bench(*words, environment={}) returns the standard output of a short run on 5 MB of a small trace."""
    trace = shared / "traces" / "alexnet_a100.pt.trace.json.gz"
    program("load_once"), program("repeat_trace")
    sizes = ["--megabytes", "5", "--peers-megabytes", "1", "--rounds", "1"]
    script = [sys.executable, repo_root / "bench" / "trace_load.py", trace, *sizes]

    def run_bench(*words, environment=None):
        done = succeed([*script, *words], environment={"REDLINE_BUILD": str(BUILD), **(environment or {})})
        return done.stdout

    return run_bench


def test_all_readers_see_the_same_events(bench):
    found = json.loads(bench("--no-peers", "--json"))
    assert found["schema"] == "redline.bench.trace_load/1"
    assert list(found["results"]) == [
        "load", "load_gz", "load_zst", "reopen", "report",
        "bare", "inflate_gz", "inflate_kept_gz", "inflate_zst",
    ]
    text_bytes = found["results"]["load"]["text_bytes"]
    assert 5_000_000 <= text_bytes < 6_000_000
    for result in found["results"].values():
        assert result["text_bytes"] == text_bytes
        assert result["events"] == found["results"]["load"]["events"] > 10_000
        assert result["bytes_per_s"] == pytest.approx(text_bytes / result["seconds"])
        assert result["memory_bytes"] > 0
    assert found["results"]["inflate_gz"]["bytes"] == text_bytes
    assert found["differences"] == []

    goals = {goal["name"]: goal for goal in found["goals"]}
    assert goals["share of simdjson's bare pass"]["goal"] == 0.5
    for name in ("share of simdjson's bare pass", "memory besides the text", "load again"):
        assert goals[name]["measured"] > 0
        assert goals[name]["met"] in (True, False)
    assert goals["against HolisticTraceAnalysis"]["measured"] is None
    assert goals["against HolisticTraceAnalysis"]["met"] is None


def test_what_is_not_installed_is_said_and_left_out(bench, tmp_path):
    table = bench(environment={"PATH": str(tmp_path)})
    lines = table.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("left out: load .gz: gzip") for line in lines)
    assert any(line.startswith("left out: Perfetto's web engine: ") for line in lines)
    assert not any(line.startswith(("  load .gz", "  Perfetto")) for line in lines)
    assert any(line.startswith("  nlohmann/json, DOM ") for line in lines)
    assert any(line.startswith("against Python's json ") for line in lines)


@pytest.mark.parametrize("name", ["trace_load", "replay"])
def test_benchmarks_run_the_build_that_the_environment_names(run, repo_root, shared, tmp_path, name):
    done = run([sys.executable, repo_root / "bench" / f"{name}.py"], environment={"REDLINE_BUILD": str(tmp_path)})
    assert done.returncode != 0
    assert f"{tmp_path}/bin/" in done.stderr and " is absent" in done.stderr

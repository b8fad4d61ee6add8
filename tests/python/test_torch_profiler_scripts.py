"""The scripts of torch.profiler's documentation run with redline if only their import line is changed. They print and
write the same as with torch.profiler."""

import collections
import json
import pathlib
import re
import warnings

import pytest

from recording import import_redline, load, names, step_numbers

SCRIPTS = pathlib.Path(__file__).parent / "scripts/torch_profiler"


@pytest.fixture
def run_both(tmp_path, monkeypatch, capsys):
    """run_both(name) returns (stdout, folder) of the script with torch.profiler, and the same with redline."""
    import_redline()

    def run_once(text, folder):
        folder.mkdir()
        monkeypatch.chdir(folder)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a machine without a GPU, and about events of one cycle
            exec(compile(text, "script", "exec"), {"__name__": "__main__"})
        return capsys.readouterr().out, folder

    def run(name):
        text = (SCRIPTS / f"{name}.py").read_text()
        changed = text.replace("from torch.profiler import", "from redline import")
        assert len(set(changed.splitlines()) ^ set(text.splitlines())) == 2, "one line changes"
        return run_once(text, tmp_path / "torch"), run_once(changed, tmp_path / "redline")

    return run


def rows(output):
    """The operators in all tables, as often as they have a row."""
    lines = [line for line in output.splitlines() if "%" in line and "Name" not in line]
    return collections.Counter(re.sub(r"\s+[\d.]+%.*", "", line).strip() for line in lines)


def heads(output):
    return [line.split() for line in output.splitlines() if "Name  " in line]


@pytest.mark.parametrize("name, tables", [("basic", 1), ("recipe", 5)])
def test_tables_have_the_same_rows_and_columns(run_both, name, tables):
    (theirs, _), (ours, folder) = run_both(name)
    assert len(heads(ours)) == tables
    assert heads(ours) == heads(theirs)
    if name == "basic":  # the others only have the ten longest rows
        assert rows(ours) == rows(theirs)
    else:
        assert rows(ours)["aten::conv2d"] >= 4
        assert load(folder / "trace.json")["traceEvents"]
        assert "nn.Module:_Conv2d_0" in (folder / "profiler_stacks.txt").read_text()


def test_a_schedule_with_a_handler(run_both):
    (theirs, torch_folder), (ours, folder) = run_both("schedule")
    assert "step 4" in ours
    assert rows(ours) == rows(theirs) != {}
    for category in ("cpu_op", "user_annotation"):
        expected = names(load(torch_folder / "trace_4.json"), category)
        assert names(load(folder / "trace_4.json"), category) == expected


def test_the_tensorboard_handler(run_both):
    (_, torch_folder), (_, folder) = run_both("tensorboard")
    by_profiler = [
        [load(path) for path in sorted((of / "log").glob("worker0.*.pt.trace.json.gz"))]
        for of in (torch_folder, folder)
    ]
    assert [[step_numbers(trace) for trace in traces] for traces in by_profiler] == [
        [[2, 3], [6, 7]]
    ] * 2


def test_an_execution_trace_joins_the_trace(run_both):
    """Joins them by "rf_id" and "Record function id", as Chakra's tools do."""
    _, (_, folder) = run_both("execution_trace")
    nodes = json.loads((folder / "execution_trace.json").read_text())["nodes"]
    attributes = [{a["name"]: a["value"] for a in node["attrs"]} for node in nodes]
    ids = {a["rf_id"]: node["name"] for node, a in zip(nodes, attributes) if "rf_id" in a}
    operators = [e for e in load(folder / "kineto.json")["traceEvents"] if e.get("cat") == "cpu_op"]
    assert operators
    for operator in operators:
        assert ids[operator["args"]["Record function id"]] == operator["name"]

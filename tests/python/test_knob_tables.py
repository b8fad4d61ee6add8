"""autotune's table of knobs, the start-up hook's table and the documentation have the same knobs."""

import json
import re
import subprocess

import pytest


@pytest.fixture(scope="module")
def autotune_examples(program):
    """{"batch_size": "8..512"}: the knobs that the hook knows according to autotune, each with an example of
    values."""

    def refusal(knob):
        command = [program("autotune"), "--dry-run", "--knob", knob, "--", "python", "train.py"]
        return subprocess.run(command, capture_output=True, text=True, timeout=60).stderr

    names = re.search(r"the start-up hook knows ([\w, ]+)\.", refusal("nothing_sets_this=1,2"))[1].split(", ")
    return {name: re.search(rf"Example: --knob {name}=(\S+)", refusal(f"{name}="))[1] for name in names}


@pytest.fixture(scope="module")
def advised(repo_root):
    """The knobs that findings recommend, with their values: (name, "default,foreach")."""
    sources = [path for path in (repo_root / "trace" / "advice").glob("*.cc") if not path.name.endswith("_test.cc")]
    found = [re.findall(r'"(\w+)=([^" ]*(?:,|\.\.)[^" ]*)"', source.read_text()) for source in sources]
    return [(name, values.replace("{}", "8")) for each in found for name, values in each]


@pytest.fixture(scope="module")
def understood_by_hook(succeed, python, repo_root, autotune_examples, advised):
    """How the hook reads each of these values, [[name, [value, …]], …], and all names that it knows."""
    values = [(name, re.split(r",|\.\.", each)) for name, each in [*autotune_examples.items(), *advised]]
    code = (
        "import json, sys; from redline._knobs import KNOBS, parse\n"
        "values = json.loads(sys.argv[1])\n"
        "parsed = [[name, [parse(json.dumps({name: one}))[name] for one in each]] for name, each in values]\n"
        "print(json.dumps([parsed, list(KNOBS)]))"
    )
    return json.loads(succeed([python, "-c", code, json.dumps(values)], cwd=repo_root / "python").stdout)


def test_autotune_and_the_hook_know_the_same_knobs(autotune_examples, understood_by_hook):
    parsed, hook_names = understood_by_hook
    assert sorted(autotune_examples) == sorted(hook_names)
    assert ["batch_size", [8, 512]] in parsed
    assert ["tf32", [False, True]] in parsed


def test_advice_ends_in_knobs_that_autotune_has(autotune_examples, advised, understood_by_hook):
    names = {name for name, _ in advised}
    assert {"batch_size", "num_workers", "amp", "optimizer", "checkpointing", "bucket_cap_mb"} <= names
    assert names <= set(autotune_examples)


def test_help_and_docs_name_every_knob(autotune_examples, program, repo_root):
    done = subprocess.run([program("autotune"), "--help"], capture_output=True, text=True, timeout=60)
    docs = (repo_root / "docs" / "trials.md").read_text()
    for name in autotune_examples:
        assert re.search(rf"\b{name}\b", done.stdout), name
        assert f"`{name}`" in docs, name

"""autotune's table of knobs, the start-up hook's and the page that documents them name the same ones."""

import json
import re
import subprocess

import pytest


@pytest.fixture(scope="module")
def autotune_examples(program):
    """{"batch_size": "8..512"}: the knobs that autotune says the hook knows, each with values that make sense."""

    def refusal(knob):
        command = [program("autotune"), "--dry-run", "--knob", knob, "--", "python", "train.py"]
        return subprocess.run(command, capture_output=True, text=True, timeout=60).stderr

    names = re.search(r"the start-up hook knows ([\w, ]+)\.", refusal("nothing_sets_this=1,2"))[1].split(", ")
    return {name: re.search(rf"Example: --knob {name}=(\S+)", refusal(f"{name}="))[1] for name in names}


@pytest.fixture(scope="module")
def understood_by_hook(python, repo_root, autotune_examples):
    """What the hook makes of each example's values, by name; and all names that it knows."""
    values = {name: re.split(r",|\.\.", example) for name, example in autotune_examples.items()}
    code = (
        "import json, sys; from redline._knobs import KNOBS, parse\n"
        "values = json.loads(sys.argv[1])\n"
        "parsed = {name: [parse(json.dumps({name: one}))[name] for one in each] for name, each in values.items()}\n"
        "print(json.dumps([parsed, list(KNOBS)]))"
    )
    done = subprocess.run(
        [python, "-c", code, json.dumps(values)], cwd=repo_root / "python", capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_autotune_and_the_hook_know_the_same_knobs(autotune_examples, understood_by_hook):
    parsed, hook_names = understood_by_hook
    assert sorted(autotune_examples) == sorted(hook_names)
    assert parsed["batch_size"] == [8, 512]
    assert parsed["tf32"] == [False, True]


def test_help_and_docs_name_every_knob(autotune_examples, program, repo_root):
    done = subprocess.run([program("autotune"), "--help"], capture_output=True, text=True, timeout=60)
    docs = (repo_root / "docs" / "trials.md").read_text()
    for name in autotune_examples:
        assert re.search(rf"\b{name}\b", done.stdout), name
        assert f"`{name}`" in docs, name

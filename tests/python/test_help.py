"""What the help of every program says."""

import re

import pytest

COMMANDS = [
    *(["redline", *rest] for rest in
      ([], ["record"], ["trigger"], ["run"], ["report"], ["diff"], ["view"], ["merge"], ["export"],
       ["monitor"], ["doctor"])),
    *(["autotune", *rest] for rest in ([], ["show"], ["export"], ["apply"])),
    ["redline-viewer"],
]


@pytest.mark.parametrize("name", ["redline", "autotune", "redline-viewer"])
def test_every_program_says_its_version(succeed, program, name):
    said = succeed([program(name), "--version"])
    assert re.fullmatch(rf"{name} \d+\.\d+\.\d+\n", said.stdout)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_fits_a_terminal(succeed, program, command):
    name, *rest = command
    helped = succeed([program(name), *rest, "--help"])
    assert not helped.stderr
    lines = helped.stdout.splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert lines[0] and "  -h,--help               Print this help message and exit" in lines
    examples = lines[lines.index("Examples:"):]
    assert any(f"{' '.join(command)} " in f"{line} " for line in examples)
    assert not re.findall(r"^  ([A-Z]+) \1", helped.stdout, re.MULTILINE), "a name twice"

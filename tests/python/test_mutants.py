"""scripts/mutants changes what decides something, one token at a time, and leaves text, comments and templates alone."""

import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
from mutations import code_alone, described, line_number, mutated, mutations  # noqa: E402


def changes(line):
    """What each mutation makes of a line in a function."""
    text = f"void f() {{\n  {line}\n}}\n"
    assert all(line_number(text, each.begin + 1) == 2 for each in mutations(text))
    return {described(text, each)[1] for each in mutations(text)}


@pytest.mark.parametrize(("line", "expected"), [
    ("return a < b;", {"return a <= b;", "return a >= b;"}),
    ("return a == b && !c;", {"return a != b && !c;", "return a == b || !c;", "return a == b && c;"}),
    ("x += a * b;", {"x -= a * b;", "x += a / b;", "(removed)"}),
    ("return 10 - kLimit;", {"return 11 - kLimit;", "return 10 + kLimit;"}),
    ("return 0.25;", {"return 0.5;"}),
    ("return std::max(a, b);", {"return std::min(a, b);"}),
    ("if (found) return true;", {"if (!(found)) return true;", "if (found) return false;"}),
    ("if (auto x = f(); x.ok) g();", {"if (auto x = f();!(x.ok)) g();"}),
    ("rows.push_back(row);", {"(removed)"}),
    ('const std::vector<int> x = of("a < b");  // 1 + 2', set()),
    ("static_assert(a < b);", set()),
    ("T* x = &y;", set()),
    ("if (const auto* row = find(x)) return row;", set()),
])
def test_what_becomes_of_a_line(line, expected):
    assert changes(line) == expected


def test_places_are_those_of_the_file():
    text = '#include "x.h"\n/* a\n < b */\nauto s = R"(1 < 2)";\nbool f() {\n  return a < 3;\n}\n'
    assert len(code_alone(text)) == len(text) and code_alone(text).count("\n") == text.count("\n")
    assert {line_number(text, each.begin) for each in mutations(text)} == {6}
    assert text.replace("a < 3", "a <= 3") in {mutated(text, each) for each in mutations(text)}


def test_a_statement_of_several_lines_is_not_cut_in_two():
    text = "void f() {\n  g(a,\n    h(b));\n}\n"
    assert "(removed)" not in {described(text, each)[1] for each in mutations(text)}


def test_every_equivalent_mutant_is_one_and_has_a_reason():
    lines = (ROOT / "scripts/equivalent_mutants.txt").read_text().splitlines()
    for line in lines:
        if line and not line.startswith("#"):
            name, before, after, why = line.split(" | ")
            text = (ROOT / name).read_text()
            assert (before, after) in {described(text, each) for each in mutations(text)}, line
            assert len(why) > 10, line

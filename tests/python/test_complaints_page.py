"""All tests that tests/complaints.md names exist."""

import re


def test_every_named_test_exists(repo_root):
    page = (repo_root / "tests/complaints.md").read_text()
    python = set(re.findall(r"`(test_\w+\.py)::(test_\w+)`", page))
    cxx = {pair for pair in re.findall(r"`([A-Z]\w+)\.(\w+|\*)`", page)}
    assert len(python) > 15 and len(cxx) > 8
    for name, test in python:
        assert f"def {test}(" in (repo_root / "tests/python" / name).read_text(), (name, test)
    sources = "".join(path.read_text() for folder in ("profiler", "trace")
                      for path in (repo_root / folder).rglob("*_test.cc"))
    for suite, test in cxx:
        named = r"\w+" if test == "*" else test
        assert re.search(rf"TEST(_F)?\({suite},\s+{named}\)", sources), (suite, test)

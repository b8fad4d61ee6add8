"""docs/environment.md lists each variable that users or started commands may meet."""

import re

FOLDERS = ("profiler", "cli", "tuner", "trace", "viewer", "python", "scripts")
ENDINGS = {".cc", ".h", ".py", ""}
# Finds "REDLINE_X" of C++ and Python, and ${REDLINE_X… and $REDLINE_X of shell scripts. A name
# before its type ("REDLINE_X:BOOL=ON") is an entry of CMake's cache, not of the environment.
READ = re.compile(r'(?:"|\$\{?)(REDLINE_[A-Z_]+)(?![A-Z_]|:[A-Z]+=)')


def test_every_name_of_ours_is_listed(repo_root):
    page = (repo_root / "docs/environment.md").read_text()
    read = set()
    for folder in FOLDERS:
        for path in (repo_root / folder).rglob("*"):
            if path.is_file() and path.suffix in ENDINGS and not path.name.endswith("_test.cc"):
                read |= set(READ.findall(path.read_text(errors="replace")))
    assert {"REDLINE_RECORD", "REDLINE_KNOBS", "REDLINE_CACHE", "REDLINE_PYTHON"} <= read
    assert sorted(name for name in read if f"`{name}`" not in page) == []

#!/usr/bin/env python3
"""Fails where a folder includes what its row in CONTRIBUTING.md's table of folders does not allow.

A row names a folder, the folders of ours that it may include, and the libraries that it must not know. A name covers
the folders below it; `NAME/*.h` is that folder alone. The nearest row above a file counts. Tests may include anything.
Rows must not allow a circle, because no folder of a circle could be understood without the others.
"""
import graphlib
import pathlib
import re
import subprocess
import sys

LIBRARIES = {
    "CUDA": r"<(cuda|cupti|nvtx|nccl|nvml)",
    "CLI11": r"<CLI/",
    "fmt": r"<fmt/",
    "Qt": r"<Q[A-Z]",
    "SQLite": r"<sqlite3",
    "Torch": r"<(torch|ATen|c10)/",
}
ROW = re.compile(r"^\| `([\w/]+)/` \|[^|]*\|([^|]*)\|([^|]*)\|", re.M)
INCLUDE = re.compile(r'^#include ("[^"]+"|<[^>]+>)', re.M)


class Row:
    def __init__(self, folder, allowed, unknown):
        self.folder = folder
        self.allowed = re.findall(r"`([^`]+)`", allowed)
        self.unknown = [name for name in LIBRARIES if re.search(rf"\b{name}\b", unknown)]

    def allows(self, folder):
        return folder == self.folder or any(covers(name, folder) for name in self.allowed)


def covers(name, folder):
    if name.endswith("/*.h"):
        return folder == name[: -len("/*.h")]
    return folder == name or folder.startswith(name + "/")


def nearest(rows, folder):
    while folder and folder not in rows:
        folder = folder.rpartition("/")[0]
    return rows.get(folder)


def is_test(path):
    return path.endswith("_test.cc") or "/testing_" in path or path.startswith("tests/")


def complaints(rows, files):
    for path in files:
        folder = str(pathlib.PurePosixPath(path).parent)
        row = nearest(rows, folder)
        if row is None:
            yield f"{path}: CONTRIBUTING.md's table has no row for {folder}/"
            continue
        if is_test(path):
            continue
        for included in INCLUDE.findall(pathlib.Path(path).read_text(encoding="utf-8")):
            target = included.strip('"<>')
            if included[0] == '"' and "/" in target:
                room = nearest(rows, str(pathlib.PurePosixPath(target).parent))
                if target in files and not (room and row.allows(room.folder)):
                    yield f"{path}: {row.folder}/ must not include {target}"
            for name in row.unknown:
                if re.match(LIBRARIES[name], included):
                    yield f"{path}: {row.folder}/ knows nothing of {name}, but includes {included}"


def main():
    rows = {row[0]: Row(*row) for row in ROW.findall(pathlib.Path("CONTRIBUTING.md").read_text(encoding="utf-8"))}
    files = set(subprocess.check_output(["git", "ls-files", "*.cc", "*.h"], text=True).split())
    found = sorted(complaints(rows, files))
    graph = {row.folder: {other for other in rows if other != row.folder and row.allows(other)} for row in rows.values()}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        found.append(f"CONTRIBUTING.md: the table allows a circle: {' -> '.join(error.args[1])}")
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

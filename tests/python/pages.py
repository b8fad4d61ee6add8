"""The pages of this repository as data: their code blocks, the commands in them, their links.

A block of kind `sh` can be pasted into a shell in a clone. A block of kind `console` shows such a shell with its
output: `$ ` stands before a command, `…` for lines that are left out.
"""

import os
import pathlib
import re
import subprocess
import tempfile
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(.*)$")
MARK = "\x1e"
PROGRAMS = ("redline", "autotune", "redline-viewer")


class Block(NamedTuple):
    kind: str
    first: int  # index of its first line in the page
    lines: list

    @property
    def last(self):
        return self.first + len(self.lines)


def tracked_pages():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT,
                            capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split() if (ROOT / name).exists()]


def blocks(text):
    """The fenced blocks of a page, in order."""
    found, lines, start, kind = [], text.splitlines(), None, ""
    for index, line in enumerate(lines):
        fence = FENCE.match(line)
        if not fence:
            continue
        if start is None:
            start, kind = index + 1, fence[1].strip()
        else:
            found.append(Block(kind, start, lines[start:index]))
            start = None
    assert start is None, "a fence is not closed"
    return found


def session(block):
    """[(command, lines of its output)] of a console block. In an sh block every line is a command."""
    steps, continues = [], False
    for line in block.lines:
        begins = not continues and (block.kind == "sh" or line.startswith("$ "))
        if continues:
            steps[-1][0] += "\n" + line
        elif begins and line.strip() and not line.startswith("#"):
            steps.append([line.removeprefix("$ "), []])
        elif steps and block.kind == "console":
            steps[-1][1].append(line)
        continues = (begins or continues) and line.endswith("\\")
    return [(command, output) for command, output in steps]


def clone_in(folder, programs):
    """Makes `folder` like this clone after its set-up. What is written into it stays there."""
    for entry in ROOT.iterdir():
        if entry.name not in {".git", ".venv"}:
            (folder / entry.name).symlink_to(entry)
    venv, own = folder / ".venv", ROOT / ".venv"
    (venv / "bin").mkdir(parents=True)
    for entry in own.iterdir():
        if entry.name != "bin":
            (venv / entry.name).symlink_to(entry)
    for entry in [*(own / "bin").iterdir(), *(programs / name for name in PROGRAMS)]:
        link = venv / "bin" / entry.name
        link.unlink(missing_ok=True)
        link.symlink_to(entry)
    activate = (own / "bin/activate").read_text()
    (venv / "bin/activate").unlink()
    (venv / "bin/activate").write_text(re.sub(r"^(\s*VIRTUAL_ENV=).*", rf'\1"{venv}"', activate, flags=re.M))


def outputs(lines_to_type, folder, timeout=900):
    """Types the lines into one shell in `folder` and returns what each printed. Stops after a line that fails."""
    environment = {**os.environ, "NO_COLOR": "1", "OMP_NUM_THREADS": "1", "LC_ALL": "C.UTF-8"}
    for name in ("REDLINE_PYTHON", "VIRTUAL_ENV"):  # The shell that started this may have set them.
        environment.pop(name, None)
    script = ["exec 2>&1", "set -e"]
    for line in lines_to_type:
        # Never run here: the clone's set-up is done, and its build folder is that of this clone (it would be
        # configured anew and built whole). tests/python/test_setup.py runs it.
        typed = ":" if line.startswith("./scripts/setup") else line
        script += [typed, f"printf '\\n{MARK}\\n'"]
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as file:
        file.write("\n".join(script))
        file.flush()
        done = subprocess.run(["bash", file.name], cwd=folder, env=environment, capture_output=True, text=True,
                              timeout=timeout)
    parts = done.stdout.split(f"\n{MARK}\n")
    return [part.splitlines() for part in (parts[:-1] if done.returncode == 0 else parts)], done.returncode


def shape(line):
    """A line without its figures, bars and widths, so that it is the same on another machine."""
    line = re.sub(r"[█▏▎▍▌▋▊▉]+", " ", line)
    # How a trial ended, and the words among its values, differ from search to search.
    how = "default|best so far|confirming|stopped early|disturbed|out of (?:host )?memory.*"
    line = re.sub(rf"(?:,? ?\b(?:{how}))+$", "", line)
    # It is also chance whether a difference is clear ("~": it is not) and how many calls equal work takes.
    line = re.sub(r"~(?=[+-]?\d)", "", line)
    line = re.sub(r"(?<=\s)<?[\d,.]+→<?[\d,.]+(?=\s)", "1", line)
    line = re.sub(r"no clear difference$|as fast as before$|[\d.]+ x (?:faster|slower)$", "VERDICT", line)
    line = re.sub(r"^(MEMORY .*)[+-][\d.]+ %$", r"\1VERDICT", line)
    line = re.sub(r"(?<=\s)(?:off|on|bf16|fp16)(?=\s)", "1", line)
    line = re.sub(r"(?:(?<=\s)|^|(?<=\())[+-]?\d[\d,.]*(?: (?:ns|us|ms|s|min|GiB|MiB|KiB|%|x))?(?=[\s),]|$)", "#", line)
    line = re.sub(r"\d+", "#", line)
    return re.sub(r"(?: #)+", " #", re.sub(r"\s+", " ", " " + line)).strip()

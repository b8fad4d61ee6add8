"""Reads the errors, warnings and notes that Redline can print out of its sources.

A message is the literal in a call that makes one. Two literals with an expression between them are one message with
`…`.
"""

import ast
import pathlib
import re
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = ("base", "machine", "trace", "profiler", "tuner", "compare", "watch", "viewer", "cli")
# The functions that make an error, a warning or a note.
CALLS = ("unexpected", "fail", "fail_unless_interrupted", "usage", "complain", "failure", "misuse", "refuse",
         "cannot_read", "ReadError", "say", "warn", "note", "RecorderError", "tell", "notes.push_back",
         "ValidationError", "throw_error", "error", "schedule_error", "Error")
STREAMS = (r"std::fputs\(", r"std::fprintf\(stderr,", r"fmt::print\(stderr,", r"\bput\(stderr,")
ASSIGNED = r"(?:\.|\b)(?:message|failure|why|reason|problem)\s*\+?=\s*(?=\"|fmt::format\()"
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
TAGS = ("progress", "error")  # say(client, "progress", "…")
HOLE = re.compile(r"\{\{|\}\}|\{[^{}]*\}|%[-0-9.]*(?:l|ll|z)?[sdufgxc]|%%")
# In these files a function may return a reason, which its caller prints.
RETURNED = ("tuner/trial/", "tuner/space/", "tuner/command/", "profiler/request/", "profiler/cupti/cupti_source.cc",
            "cli/run.cc", "trace/read/reader.cc", "trace/read/text.cc", "viewer/widgets/screenshot.cc",
            "viewer/main.cc", "base/file.cc", "base/format.cc", "trace/analysis/what_if.cc")
RETURN = r"\breturn \{?(?=\"|fmt::format\()"
LEFT_OUT = ("tuner/search/testing_machine.h", "viewer/models/testing_study.h", "trace/report/report_text.cc",
            "tuner/command/dry_run.cc")
PYTHON_CALLS = {"RecorderError", "ValueError", "TypeError", "NotImplementedError", "RuntimeError", "warn", "tell", "add",
                "note", "say"}


class Message(NamedTuple):
    file: str
    line: int
    text: str

    @property
    def words(self):
        """The longest part without a hole, which one can search for."""
        return max(self.text.split("…"), key=len).strip(" .:,()'`")


def _closing(text, at):
    """The position of the bracket that closes the one at `at`. Brackets in strings do not count."""
    depth, inside = 0, False
    while at < len(text):
        char = text[at]
        if inside:
            if char == "\\":
                at += 1
            elif char == '"':
                inside = False
        elif char == '"':
            inside = True
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0:
                return at
        elif char == ";" and depth <= 0:
            return at
        at += 1
    return at


def _depths(text):
    """The bracket depth at each position. Brackets in strings do not count."""
    depths, depth, end = [], 0, 0
    for literal in LITERAL.finditer(text + '""'):
        for char in text[end : literal.start()]:
            depth += (char in "([{") - (char in ")]}")
            depths.append(depth)
        depths += [depth] * (literal.end() - literal.start())
        end = literal.end()
    return depths


def _joined(argument):
    """The literals of an expression, joined, with … for the code between them. Of `c ? "a" : "b"` it takes "a". The
    arguments behind a format's text are no part of it."""
    depths = _depths(argument)
    text, end, last, depth, skip_until = "", None, 0, 0, 0
    for literal in LITERAL.finditer(argument):
        if literal.start() < skip_until:
            continue
        between = argument[end : literal.start()].strip() if end is not None else argument[: literal.start()].strip()
        if end is None:
            text = "…" if re.search(r"[\w)\]]\s*\+\s*$", between) else ""
        elif between == "," and text in TAGS:
            text = ""
        elif between.startswith(","):
            # The rest of this call: up to the bracket that closes it.
            skip_until = next((at for at in range(end, len(argument)) if depths[at] < depth), len(argument))
            end = skip_until
            continue
        elif between == ":" and argument[:last].rstrip().endswith("?"):
            end = literal.end()
            continue
        elif between:
            text += "…"
        text += literal[1]
        end, last, depth = literal.end(), literal.start(), depths[literal.start()]
    if end is not None and re.match(r"\s*\)*\s*\+", argument[end:]):
        text += "…"
    return text


def _plain(text):
    text = HOLE.sub(lambda hole: {"%%": "%", "{{": "{", "}}": "}"}.get(hole[0], "…"), text)
    text = text.replace('\\"', '"').replace("\\n", " ").replace("\\r", " ").replace("\\x1b[K", "").replace("\\\\", "\\")
    return re.sub(r"(?:…\s*){2,}", "… ", re.sub(r"\s+", " ", text)).strip()


def _is_sentence(text):
    # A key such as mean_kernel_ns is no sentence.
    return " " in text and len(re.findall(r"[A-Za-z]{2,}", text)) >= 3


def _without_comments(source):
    return re.sub(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*', lambda m: m[1] or "", source)


def of_cxx(path):
    source = _without_comments(path.read_text())
    starts = [(m.end() - 1, m.start()) for m in re.finditer(rf"\b(?:{'|'.join(map(re.escape, CALLS))})[({{]", source)]
    for stream in STREAMS:
        starts += [(m.start() + m[0].index("("), m.start()) for m in re.finditer(stream, source)]
    # `const std::string what = …` before the call that uses it is not followed; a message is written where it is made.
    starts += [(None, m.end()) for m in re.finditer(ASSIGNED, source)]
    if str(path.relative_to(ROOT)).startswith(RETURNED):
        starts += [(None, m.end()) for m in re.finditer(RETURN, source)]
    for bracket, start in starts:
        begin = bracket if bracket is not None else start
        end = _closing(source, begin) if bracket is not None else source.find(";", begin)
        text = _plain(_joined(source[begin + (bracket is not None) : end]))
        if _is_sentence(text) and not text.startswith(('"', "{")):
            yield source.count("\n", 0, start) + 1, text


def _python_text(node):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.replace("{", "{{").replace("}", "}}")
    if isinstance(node, ast.JoinedStr):
        return "".join(_python_text(part) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    if isinstance(node, ast.BinOp):
        return (_python_text(node.left) or "{}") + (_python_text(node.right) or "{}")
    return ""


def of_python(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        to_stderr = name == "print" and any(k.arg == "file" for k in node.keywords)
        to_stderr |= ast.unparse(node.func) == "sys.stderr.write"
        if name not in PYTHON_CALLS and not to_stderr:
            continue
        for argument in node.args:
            text = _plain(_python_text(argument))
            if _is_sentence(text):
                yield node.lineno, text


def all_messages():
    """The messages of the whole product, each text once."""
    found = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.cc")) + sorted((ROOT / folder).rglob("*.h")):
            if not path.name.endswith("_test.cc") and not str(path).endswith(LEFT_OUT):
                for line, text in of_cxx(path):
                    found.setdefault(text, Message(str(path.relative_to(ROOT)), line, text))
    for path in sorted((ROOT / "python/redline").rglob("*.py")):
        for line, text in of_python(path):
            found.setdefault(text, Message(str(path.relative_to(ROOT)), line, text))
    return sorted(found.values())


if __name__ == "__main__":
    for message in all_messages():
        print(f"{message.file}:{message.line}: {message.text}")

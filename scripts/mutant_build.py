"""Compiles, links and runs one mutant beside the finished build, which stays as it is.

Our libraries are static archives. A mutated object that stands before them on the linker's command line takes the place
of the object of the same symbols in them.
"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import threading
from typing import NamedTuple

SECONDS_AT_LEAST = 20  # a mutant that runs four times as long as the tests do, and this long, runs for ever
QUICK_SECONDS = 0.3  # suites that take longer come last


class Unit(NamedTuple):
    """What is compiled as one: its command, and the files of ours in it."""

    directory: str
    words: list
    source: str
    parts: list


class TestProgram(NamedTuple):
    path: str
    environment: dict
    directory: str
    link: list
    folders: frozenset  # of its x_test.cc
    seconds: dict  # {suite: how long its tests take}


def _name(path):
    return re.sub(r"\W", "_", path)


class Build:
    def __init__(self, root, folder):
        self.root, self.folder = root, folder
        self.units = self._read_units()
        self._programs = None
        self._made = {}
        self._lock = threading.Lock()
        self._scratch = tempfile.TemporaryDirectory(prefix="mutants-")

    def _read_units(self):
        """{source file: its unit}"""
        units = {}
        for entry in json.loads((self.folder / "compile_commands.json").read_text()):
            words = shlex.split(entry["command"])
            compiler = next(at for at, word in enumerate(words) if re.search(r"(?:\+\+|cc)(?:-\d+)?$", word))
            source = entry["file"]
            text = pathlib.Path(source).read_text() if "/Unity/" in source else ""
            parts = re.findall(r'^#include "(.*)"$', text, re.M) or [source]
            unit = Unit(entry["directory"], words[compiler:], source, parts)
            for part in parts:
                if not part.endswith("_test.cc"):
                    units.setdefault(part, unit)
        return units

    def programs(self):
        if self._programs is None:
            listed = subprocess.run(["ctest", "--test-dir", self.folder, "--show-only=json-v1"], capture_output=True,
                                    text=True, check=True).stdout
            self._programs = self._programs_of(json.loads(listed)["tests"])
        return self._programs

    def _programs_of(self, tests):
        found, names = {}, {}
        for test in tests:
            path = test.get("command", [""])[0]
            if path.endswith("_test"):
                found.setdefault(path, test)
                names.setdefault(path, []).append(test["name"])
        return [program for path, test in found.items() if (program := self._program(path, test, names[path]))]

    def _program(self, path, test, names):
        properties = {each["name"]: each["value"] for each in test["properties"]}
        environment = dict(each.split("=", 1) for each in properties.get("ENVIRONMENT", []))
        link = self._link_command(path)
        return link and TestProgram(path, environment, properties["WORKING_DIRECTORY"], link, self._folders(link),
                                    self._seconds_of(names))

    def _link_command(self, path):
        target = os.path.relpath(path, self.folder)
        commands = subprocess.run(["ninja", "-C", self.folder, "-t", "commands", "-s", target], capture_output=True,
                                  text=True, check=True).stdout.splitlines()
        linking = [line for line in commands if f" -o {target} " in line]
        return shlex.split(linking[-1].removeprefix(": && ").split(" && ")[0]) if linking else None

    def _folders(self, link):
        folders = set()
        for word in link:
            unity = self.folder / re.sub(r"_cxx\.cxx\.o$", "_cxx.cxx", word)
            if word.endswith("_cxx.cxx.o") and unity.exists():
                included = re.findall(r'^#include "(.*_test\.cc)"$', unity.read_text(), re.M)
                folders |= {os.path.dirname(os.path.relpath(each, self.root)) for each in included}
        return frozenset(folders)

    def tests_of(self, source):
        """The test program whose tests stand nearest to a source file, or None."""
        archive = self._archive_of(source)
        folder = os.path.dirname(os.path.relpath(source, self.root))

        def nearness(program):
            return max((len(os.path.commonpath([folder, each])) for each in program.folders if each), default=0) \
                + 1000 * (folder in program.folders)

        linked = [each for each in self.programs() if archive and any(word.endswith(archive) for word in each.link)]
        best = max(linked, key=nearness, default=None)
        return best if best and nearness(best) > 0 else None

    def _archive_of(self, source):
        output = self.units[source].words[self.units[source].words.index("-o") + 1]
        library = re.search(r"CMakeFiles/(\w+)\.dir/", output)
        return f"lib{library[1]}.a" if library else None

    def _seconds_of(self, names):
        """{suite: seconds that its tests took when ctest ran them last}"""
        costs = self.folder / "Testing/Temporary/CTestCostData.txt"
        if not costs.exists():
            print("mutants: all tests run once, to learn how long they take", flush=True)
            subprocess.run(["ctest", f"-j{os.cpu_count()}", "--test-dir", self.folder], stdout=subprocess.DEVNULL,
                           check=False)
        rows = [line.rsplit(None, 2) for line in costs.read_text().splitlines()]
        cost = {row[0]: float(row[2]) for row in rows if len(row) == 3}
        seconds = {}
        for name in names:
            suite = name.partition(".")[0]
            seconds[suite] = seconds.get(suite, 0) + cost.get(name, 0)
        return seconds

    def once(self, path, make):
        """`path` in a folder that lives as long as this, filled by `make` when it is asked for the first time."""
        path = pathlib.Path(self._scratch.name) / path
        with self._lock:
            made = self._made.setdefault(path, threading.Lock())
        with made:
            if not path.exists():
                make(path)
        return path

    def headers_of(self, unit):
        """What the files of a unit include, compiled ahead if it can be: most of a mutant's time goes there."""
        def make(path):
            texts = [pathlib.Path(part).read_text() for part in unit.parts]
            lines = [line for text in texts for line in re.findall(r"^#include .*", text, re.M)]
            path.write_text("\n".join(dict.fromkeys(lines)) + "\n")
            if not self._compile(unit, path, f"{path}.gch", "-xc++-header"):
                path.write_text("")

        return self.once(f"{_name(unit.source)}.h", make)

    def object_of(self, unit, part):
        """The object of one file of a unit by itself; None if it needs the others."""
        def make(path):
            if not self._compile(unit, part, path, "-include", str(self.headers_of(unit))):
                path.write_text("")

        path = self.once(f"{_name(part)}.o", make)
        return path if path.stat().st_size else None

    @staticmethod
    def _compile(unit, source, output, *more):
        words = [str(source) if word == unit.source else word for word in unit.words]
        words[words.index("-o") + 1] = str(output)
        at = words.index("-c")
        # -O2 compiles slowly, and what -O0 makes runs slowly; a warning is no reason to leave a mutant out.
        words[at:at] = ["-O1", "-w", *more]
        return subprocess.run(words, cwd=unit.directory, capture_output=True).returncode == 0

    def _beside_what_it_needs(self, folder):
        """Where a program finds our libraries in ../lib and our Python in ../share."""
        (folder / "bin").mkdir(exist_ok=True)
        (folder / "share/redline").mkdir(parents=True, exist_ok=True)
        for link, target in (("lib", self.folder / "lib"), ("share/redline/python", self.root / "python")):
            if not (folder / link).is_symlink():
                (folder / link).symlink_to(target)
        return folder / "bin"

    def make(self, source, text, program, folder):
        """The path of `program` with `text` in place of `source`; None if it does not compile."""
        unit = self.units[source]
        others = [self.object_of(unit, part) for part in unit.parts if part != source]
        parts = unit.parts if None in others else [source]
        changed = folder / os.path.basename(source)
        changed.write_text(text)
        compiled = folder / "unit.cc"
        compiled.write_text("".join(f'#include "{changed if part == source else part}"\n' for part in parts))
        if not self._compile(unit, compiled, folder / "unit.o", "-iquote", os.path.dirname(source), "-include",
                             str(self.headers_of(unit))):
            return None
        made = self._beside_what_it_needs(folder) / os.path.basename(program.path)
        # Some programs find libraries of ours beside themselves; a mutant stands elsewhere.
        link = [re.sub(r"\\?\$ORIGIN", os.path.dirname(program.path), word) for word in program.link]
        link[link.index("-o") + 1] = str(made)
        at = link.index("-o")
        link[at:at] = [str(folder / "unit.o"), *(map(str, others) if len(parts) == 1 else ())]
        done = subprocess.run(link, cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"a mutant of {source} does not link:\n{done.stderr[-2000:]}")
        return made

    def failing_test(self, program, path, source):
        """The first test that fails; "" if all pass. Tests near to a source and quick ones go first."""
        seconds, left = program.seconds, set(program.seconds)
        quick = {suite for suite in left if seconds[suite] <= QUICK_SECONDS}
        own, beside = ({suite for suite in left if suite.rpartition("/")[2] in near}
                       for near in self._suites_near(source))
        for these in (own, beside & quick, quick, beside, frozenset(left)):
            if these & left:
                limit = max(SECONDS_AT_LEAST, 4 * sum(seconds[suite] for suite in these & left))
                if failed := self._failing(program, path, limit, [f"{suite}.*" for suite in these & left]):
                    self._has_to_pass(program, failed)
                    return failed
            left -= these
        return ""

    def _has_to_pass(self, program, test):
        """A test that fails without a mutant says nothing about one."""
        def make(path):
            if self._failing(program, program.path, 3600, [test]):
                raise RuntimeError(f"{os.path.basename(program.path)} fails without any change: {test}")
            path.write_text("")

        self.once(_name(test), make)

    @staticmethod
    def _suites_near(source):
        """The suites of a source file's own x_test.cc, then those of its folder."""
        name = pathlib.Path(source)
        for tests in ([name.with_name(f"{name.stem}_test.cc")], name.parent.glob("*_test.cc")):
            texts = [test.read_text() for test in tests if test.exists()]
            yield {suite for text in texts for suite in re.findall(r"^TEST(?:_[FP])?\((\w+),", text, re.M)}

    @staticmethod
    def _failing(program, path, timeout, tests):
        """The first of the tests that fails, crashes or does not end in time; "" if all pass."""
        with subprocess.Popen([path, "--gtest_fail_fast", f"--gtest_filter={':'.join(tests)}"], cwd=program.directory,
                              env={**os.environ, **program.environment}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True) as process:
            try:
                printed, _ = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                printed, _ = process.communicate()
        if process.returncode == 0:
            return ""
        begun = re.findall(r"^\[ (?: FAILED |RUN     ) \] (\w[\w/]*\.[\w/]+)", printed, re.M)
        return begun[-1] if begun else "the program does not start"

    def verdict(self, source, text, program, folder):
        """What notices a mutant: a test's name, "" if none does, None if it does not compile."""
        made = self.make(source, text, program, folder)
        if made is None:
            return None
        return self.failing_test(program, made, source)

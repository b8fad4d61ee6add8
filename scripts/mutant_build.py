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
import time
from typing import NamedTuple

SECONDS_AT_LEAST = 30  # a mutant that runs ten times as long as the tests do, and this long, runs for ever


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


class Build:
    def __init__(self, root, folder):
        self.root, self.folder = root, folder
        self.units = self._read_units()
        self._programs = None
        self._seconds = {}

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
        found = {}
        for test in tests:
            path = test.get("command", [""])[0]
            if not path.endswith("_test") or path in found:
                continue
            properties = {each["name"]: each["value"] for each in test["properties"]}
            environment = dict(each.split("=", 1) for each in properties.get("ENVIRONMENT", []))
            link = self._link_command(path)
            if link:
                found[path] = TestProgram(path, environment, properties["WORKING_DIRECTORY"], link, self._folders(link))
        return list(found.values())

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

    def seconds_of(self, program):
        """How long the tests take without a mutant. They have to pass."""
        if program.path not in self._seconds:
            begin = time.monotonic()
            failed = self.failing_test(program, program.path, timeout=3600)
            if failed:
                raise RuntimeError(f"{os.path.basename(program.path)} fails without any change: {failed}")
            self._seconds[program.path] = time.monotonic() - begin
        return self._seconds[program.path]

    def make(self, source, text, program, folder):
        """The path of `program` with `text` in place of `source`; None if it does not compile."""
        unit = self.units[source]
        changed = folder / os.path.basename(source)
        changed.write_text(text)
        compiled = folder / "unit.cc"
        compiled.write_text("".join(f'#include "{changed if part == source else part}"\n' for part in unit.parts))
        words = [str(compiled) if word == unit.source else word for word in unit.words]
        words[words.index("-o") + 1] = str(folder / "unit.o")
        # -O0 compiles fastest; a warning is no reason to leave a mutant out.
        words += ["-O0", "-w", "-iquote", os.path.dirname(source)]
        if subprocess.run(words, cwd=unit.directory, capture_output=True).returncode != 0:
            return None
        made = folder / os.path.basename(program.path)
        link = [*program.link]
        link[link.index("-o") + 1] = str(made)
        link.insert(link.index("-o"), str(folder / "unit.o"))
        done = subprocess.run(link, cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"a mutant of {source} does not link:\n{done.stderr[-2000:]}")
        return made

    def failing_test(self, program, path, timeout):
        """The first test that fails, "crash" or "timeout"; "" if all pass."""
        with subprocess.Popen([path, "--gtest_brief=1", "--gtest_fail_fast"], cwd=program.directory,
                              env={**os.environ, **program.environment}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True) as process:
            try:
                printed, _ = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                return "timeout"
        if process.returncode == 0:
            return ""
        failed = re.search(r"^\[  FAILED  \] ([\w./]+)", printed, re.M)
        return failed[1] if failed else "crash"

    def verdict(self, source, text, program, folder):
        """What notices a mutant: a test's name, "" if none does, None if it does not compile."""
        made = self.make(source, text, program, folder)
        if made is None:
            return None
        return self.failing_test(program, made, max(SECONDS_AT_LEAST, 10 * self.seconds_of(program)))

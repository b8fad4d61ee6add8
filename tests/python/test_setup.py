"""If something stops scripts/setup, one clear sentence says what it is and what to do.

The script runs in a copy of its folder, with stand-ins for the system's commands first in PATH.
"""

import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLAIN_TOOLS = "bash sh env dirname mkdir flock awk sed tr grep cat tail head printf ls ln".split()


class FreshMachine:
    """A folder with scripts/ in it, and a PATH that holds only what the test puts there."""

    def __init__(self, folder):
        self.clone = folder / "clone"
        self.tools = folder / "tools"
        self.tools.mkdir(parents=True)
        shutil.copytree(ROOT / "scripts", self.clone / "scripts")
        for tool in PLAIN_TOOLS:
            path = shutil.which(tool)
            if path:
                (self.tools / tool).symlink_to(path)
        self.tool("df", "echo header; echo /dev/x 0 0 99999999 0 /")
        self.tool("dpkg-query", "echo installed")
        self.tool("apt-get", "exit 0")
        self.tool("apt-cache", "exit 0")
        self.tool("id", "echo 0")

    def tool(self, name, script):
        path = self.tools / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!{shutil.which('bash')}\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def remove(self, name):
        (self.tools / name).unlink()

    def setup(self, *arguments, **environment):
        return subprocess.run(
            [shutil.which("bash"), str(self.clone / "scripts/setup"), *arguments],
            env={"PATH": str(self.tools), "HOME": os.environ.get("HOME", "/"), **environment},
            capture_output=True,
            text=True,
            timeout=60,
        )


@pytest.fixture
def machine(tmp_path):
    return FreshMachine(tmp_path)


def error_line(result):
    assert result.returncode == 1, result.stdout + result.stderr
    lines = [line for line in result.stderr.splitlines() if line.startswith("setup: ")]
    assert lines, result.stderr
    return lines[-1]


def test_too_little_disk_names_both_sizes(machine):
    machine.tool("df", "echo header; echo /dev/x 0 0 3145728 0 /")
    line = error_line(machine.setup())
    assert "only 3 GB are free" in line and "8 GB are needed" in line


def test_not_debian_names_the_packages_and_the_way_on(machine):
    machine.remove("apt-get")
    line = error_line(machine.setup())
    assert "libsimdjson-dev" in line and "qt6-base-dev" in line
    assert "REDLINE_SKIP_PACKAGES=1" in line


def test_without_sudo_names_the_missing_package(machine):
    machine.tool("id", "echo 1000")
    machine.tool("dpkg-query", '[ "$4" = ninja-build ] && echo missing || echo installed')
    line = error_line(machine.setup())
    assert "no sudo" in line and "apt-get install ninja-build" in line


@pytest.mark.parametrize("options", [(), ("--tests",)])
def test_what_only_tests_need_is_installed_where_it_is_asked_for(machine, options):
    venv_with_torch(machine, machine.clone / ".venv")
    machine.tool("dpkg-query", '[ "$4" = openmpi-bin ] && echo missing || echo installed')
    machine.tool("apt-get", 'echo "$@" >>"$HOME/apt"; exit 0')
    done = machine.setup(*options, HOME=str(machine.tools))
    assert done.returncode == 0, done.stderr
    assert (machine.tools / "apt").exists() == bool(options)
    assert not options or "--no-install-recommends openmpi-bin" in (machine.tools / "apt").read_text()


@pytest.mark.parametrize("package, is_wanted", [("clang-tidy-14", False), ("ccache", True)])
def test_a_debian_without_what_only_tests_need_is_fine(machine, package, is_wanted):
    venv_with_torch(machine, machine.clone / ".venv")
    machine.tool("dpkg-query", f'[ "$4" = {package} ] && echo missing || echo installed')
    machine.tool("apt-cache", f'[ "$2" != {package} ]')
    machine.tool("apt-get", 'echo "$@" >>"$HOME/apt"; exit 0')
    done = machine.setup("--tests", HOME=str(machine.tools))
    assert done.returncode == 0, done.stderr
    asked = (machine.tools / "apt").read_text() if (machine.tools / "apt").exists() else ""
    assert (f"install -y --no-install-recommends {package}" in asked) == is_wanted, asked
    assert is_wanted or not asked, "no network is wanted"


def test_without_network_says_what_it_wanted(machine):
    machine.tool("dpkg-query", '[ "$4" = ccache ] && echo missing || echo installed')
    machine.tool("apt-get", "exit 100")
    line = error_line(machine.setup())
    assert "could not install: ccache" in line and "network" in line


def test_redline_python_without_torch_is_named(machine):
    machine.tool("mypython", "echo Traceback >&2; echo 'ImportError: no libcudnn.so.9' >&2; exit 1")
    for python in (machine.tools / "mypython", os.path.relpath(machine.tools / "mypython")):
        line = error_line(machine.setup(REDLINE_PYTHON=str(python)))
        assert "mypython cannot import torch (ImportError: no libcudnn.so.9). Install torch" in line


def python_with_torch(machine, version):
    """Puts `mypython` into PATH: a Python of that version with torch, as far as the script asks."""
    machine.tool("mypython", f"""
        case "$1 $2" in
          --version*) echo Python {version} ;;
          *torch*) ;;
          *) exec {sys.executable} -c "import sys; sys.version_info = ({version.replace('.', ', ')}); $2" ;;
        esac""")
    machine.tool("cmake", 'echo "$@" >"$HOME/asked"')
    machine.tool("ninja", "exit 0")


def test_redline_python_may_be_a_path_or_a_name(machine):
    python_with_torch(machine, "3.12")
    python = machine.tools / "mypython"
    for given in (python, os.path.relpath(python), "mypython"):
        done = machine.setup(HOME=str(machine.tools), REDLINE_PYTHON=str(given))
        assert done.returncode == 0, done.stderr
        asked = re.search(r"-DREDLINE_PYTHON=(\S+)", (machine.tools / "asked").read_text())[1]
        assert os.path.isabs(asked) and os.path.samefile(asked, python)


@pytest.mark.parametrize("version, is_known", [("3.10", False), ("3.11", True), ("3.14", True), ("3.15", False)])
def test_a_python_that_redline_does_not_know_is_named(machine, version, is_known):
    python_with_torch(machine, version)
    done = machine.setup(HOME=str(machine.tools), REDLINE_PYTHON="mypython")
    if is_known:
        assert done.returncode == 0, done.stderr
    else:
        assert f"mypython is Python {version}, and Redline needs Python 3.11 to 3.14. Name" in error_line(done)


def test_help_and_unknown_option(machine):
    help_text = machine.setup("--help")
    assert help_text.returncode == 0 and "usage: ./scripts/setup" in help_text.stdout
    unknown = machine.setup("--fast")
    assert unknown.returncode == 2 and "usage:" in unknown.stderr


def venv_with_torch(machine, folder):
    """Makes a virtual environment like make_venv's, in which torch only has its metadata."""
    script = (ROOT / "scripts/setup").read_text()
    version = re.search(r"torch_version=(\S+)", script)[1]
    packages = re.search(r'python_packages=\("(.*?)" (.*?)\)', script)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (site,) = folder.glob("lib/python3*/site-packages")
    (site / f"torch-{version}.dist-info").mkdir()
    (site / f"torch-{version}.dist-info/RECORD").touch()
    (folder / "redline-packages").write_text(f"torch=={version} {packages[2]}\n")
    machine.tool("cmake", "exit 0")
    machine.tool("ninja", "exit 0")


def test_only_who_asks_for_tests_builds_them_and_then_keeps_them(machine):
    venv_with_torch(machine, machine.clone / ".venv")
    release = machine.clone / "build/release"
    cache, ninja = release / "CMakeCache.txt", release / "build.ninja"
    # cmake keeps its options in the cache, and so does this stand-in.
    machine.tool("cmake", f"""
        mkdir -p {release} && : >{ninja}
        for word in "$@"; do case $word in
          -DREDLINE_PYTHON=*) echo "REDLINE_PYTHON:FILEPATH=${{word#*=}}" >{cache} ;;
          -DREDLINE_TESTS=*) echo "REDLINE_TESTS:BOOL=${{word#*=}}" >>{cache} ;;
        esac; done""")
    for arguments, tests, configures in [([], "OFF", True), ([], "OFF", False), (["--tests"], "ON", True),
                                         ([], "ON", False), (["--tests"], "ON", False)]:
        done = machine.setup(*arguments)
        assert done.returncode == 0, done.stderr
        assert f"REDLINE_TESTS:BOOL={tests}" in cache.read_text().splitlines()
        assert ("configuring" in done.stdout) == configures, arguments
    ninja.unlink()  # a configure that was cut off
    assert "configuring" in machine.setup().stdout and "REDLINE_TESTS:BOOL=ON" in cache.read_text()


def test_the_package_and_the_programs_work_in_the_venv(machine):
    venv_with_torch(machine, machine.clone / ".venv")
    (machine.clone / "python").symlink_to(ROOT / "python")
    programs = machine.clone / "build/release/bin"
    programs.mkdir(parents=True)
    (programs / "redline").write_text("#!/bin/sh\necho this is it\n")
    (programs / "redline").chmod(0o755)
    for _ in range(2):
        done = machine.setup()
        assert done.returncode == 0, done.stderr
        assert ". .venv/bin/activate" in done.stdout.splitlines()[-1]
    moved = machine.clone.rename(machine.clone.parent / "moved")
    asked = subprocess.run([moved / ".venv/bin/python", "-c", "import redline; print(redline.__file__)"],
                           cwd="/", capture_output=True, text=True)
    assert asked.stdout.strip() == str(moved / "python/redline/__init__.py"), asked.stderr
    assert subprocess.run([moved / ".venv/bin/redline"], capture_output=True, text=True).stdout == "this is it\n"


@pytest.mark.parametrize("of", ["another clone", "a wheel"])
def test_what_others_put_into_the_venv_is_left_alone(machine, of):
    venv = machine.clone / ".venv"
    if of == "a wheel":
        venv_with_torch(machine, venv)
        (next(venv.glob("lib/python3*/site-packages")) / "redline").mkdir()
    else:
        other = machine.clone.parent / "other"
        venv_with_torch(machine, other)
        venv.symlink_to(other)
    done = machine.setup()
    assert done.returncode == 0, done.stderr
    assert "programs in build/release/bin" in done.stdout.splitlines()[-1]
    assert not (venv / "bin/redline").exists() and not list(venv.glob("lib/python3*/site-packages/redline.pth"))


def test_second_run_needs_no_network(succeed, tmp_path):
    if not (ROOT / "build/release/build.ninja").exists() or os.environ.get("REDLINE_PYTHON"):
        pytest.skip("needs the build that ./scripts/setup makes with its own .venv")
    refusal = tmp_path / "apt-get"
    refusal.write_text("#!/bin/sh\necho reached for the network >&2\nexit 100\n")
    refusal.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    offline = {"PATH": path, "PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_FIND_LINKS": ""}
    result = succeed([ROOT / "scripts/setup"], environment=offline)
    assert "reached for the network" not in result.stderr
    assert "ready" in result.stdout

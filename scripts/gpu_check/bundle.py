"""Makes the folder that is carried to a machine with a GPU. All of it is built on this machine."""

import pathlib
import re
import shutil
import subprocess
import sys

SCRIPTS = pathlib.Path(__file__).resolve().parents[1]
BUILD = SCRIPTS.parent / "build" / "release"
MOST_BYTES = 60 << 20
# Every system has these libraries and must use its own.
OF_THE_SYSTEM = ("linux-vdso", "ld-linux", "libc.", "libm.", "libdl.", "libpthread.", "librt.",
                 "libutil.", "libstdc++.", "libgcc_s.")
OF_TORCH = ("libtorch", "libc10", "libcu", "libgomp")
VIEWER = ("redline-viewer*",)
PROGRAMS = ("gpu_work", "save_raw_buffers")


class Unusable(Exception):
    """The bundle cannot be made or used; the message is one line for the user."""


def make(folder, build):
    """Writes the bundle and returns the exit status."""
    if folder.exists():
        raise Unusable(f"{folder} is there already: remove it, or name another")
    if not (build / "bin/redline").exists():
        raise Unusable(f"{build} has no build: ./scripts/setup makes one")
    package = folder / "redline"
    done = subprocess.run(["cmake", "--install", build, "--prefix", package, "--strip"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise Unusable(f"cmake --install fails: {done.stderr.strip().splitlines()[-1]}")
    for pattern in VIEWER:
        for path in (package / "bin").glob(pattern):
            path.unlink()
    for program in PROGRAMS:
        shutil.copy2(build / "bin" / program, package / "bin")
    libraries = sorted(add_libraries(package))
    _copy_scripts(folder)
    size = size_of(folder)
    print(f"{folder}: {size / 2**20:.1f} MiB, with {', '.join(libraries)}")
    print(f"it needs {', '.join(f'{name} {version}' for name, version in sorted(needed_versions(folder).items()))}")
    print(f"next, on a machine with a GPU: {folder.name}/gpu-check --run {folder.name} --out results")
    if size > MOST_BYTES:
        raise Unusable(f"{folder} is larger than {MOST_BYTES >> 20} MiB")
    return 0


def _copy_scripts(folder):
    shutil.copy2(SCRIPTS / "gpu-check", folder)
    shutil.copytree(SCRIPTS / "gpu_check", folder / "gpu_check",
                    ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "scripts").mkdir()
    for name in ("guide-figures", "drawing.py"):
        shutil.copy2(SCRIPTS / name, folder / "scripts")
    shutil.copytree(SCRIPTS.parent / "samples/python", folder / "samples/python",
                    ignore=shutil.ignore_patterns("__pycache__"))


def add_libraries(package):
    """Copies the libraries that our programs and libraries need into lib/, and returns their names."""
    own = [*(package / "bin").iterdir(), *(package / "lib").glob("*.so")]
    added = {}
    for binary in own:
        for name, path in needed_libraries(binary).items():
            if not (package / "lib" / name).exists():
                shutil.copy2(pathlib.Path(path).resolve(), package / "lib" / name)
                added[name] = path
    return added


def needed_libraries(binary):
    """The libraries that a binary needs, as paths by name, without the system's and torch's."""
    text = subprocess.run(["ldd", binary], capture_output=True, text=True).stdout
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) < 3 or words[1] != "=>":
            continue
        name, path = words[0], words[2]
        if name.startswith((*OF_THE_SYSTEM, *OF_TORCH, "libredline")):
            continue
        if not path.startswith("/"):
            raise Unusable(f"{binary} needs {name}, which is not found here")
        found[name] = path
    return found


def needed_versions(folder):
    """{"GLIBC": "2.34", …}: the newest version of the system's libraries that the ELF files in `folder` need."""
    newest = {}
    for path in folder.rglob("*"):
        if not path.is_file() or path.is_symlink() or path.read_bytes()[:4] != b"\x7fELF":
            continue
        text = subprocess.run(["objdump", "-p", path], capture_output=True, text=True, check=True).stdout
        references = text.partition("Version References:")[2]
        for name, version in re.findall(r"\b(GLIBC|GLIBCXX|CXXABI)_([0-9.]+)$", references, re.MULTILINE):
            newest[name] = max(newest.get(name, "0"), version, key=_numbers)
    return newest


def _numbers(version):
    return [int(part) for part in version.split(".")]


def size_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def require(folder):
    """Raises Unusable unless `folder` is a bundle whose programs start on this machine."""
    program = folder / "redline/bin/redline"
    if not program.exists():
        raise Unusable(f"{folder} is no bundle: gpu-check --bundle makes one")
    done = subprocess.run([program, "--version"], capture_output=True, text=True)
    if done.returncode != 0:
        raise Unusable(f"{program} does not start: {done.stderr.strip()}")
    print(f"gpu-check: {done.stdout.strip()}, Python {sys.version.split()[0]}", flush=True)

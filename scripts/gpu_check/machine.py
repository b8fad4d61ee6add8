"""Finds out what this machine has: a GPU, CUPTI, torch. Nothing here needs torch."""

import ctypes
import glob
import os
import re
import subprocess
import time


def why_no_gpu():
    """Why CUDA has no GPU on this machine; "" if it has one."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "libcuda.so.1 is not installed"
    status = driver.cuInit(0)
    if status != 0:
        return f"cuInit gives error {status}"
    count = ctypes.c_int(0)
    driver.cuDeviceGetCount(ctypes.byref(count))
    return "" if count.value > 0 else "no GPU is visible"


def gpu_facts():
    """Name, memory and driver of the first GPU, as nvidia-smi prints them."""
    fields = ("name", "memory.total", "driver_version")
    try:
        text = subprocess.run(
            ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader"],
            capture_output=True, text=True, timeout=20, check=True,
        ).stdout
        values = text.splitlines()[0].split(", ")
        facts = dict(zip(("name", "memory", "driver"), values))
    except (OSError, subprocess.SubprocessError, IndexError):
        facts = {"name": "unknown: nvidia-smi does not answer"}
    facts["date"] = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    return facts


def gpu_uuids():
    """The ids of all GPUs and of their parts (MIG), as nvidia-smi prints them; empty where it does not answer."""
    try:
        text = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return set()
    return set(re.findall(r"UUID: (?:GPU|MIG)-([0-9a-f-]{36})", text))


def has_torch(python):
    done = subprocess.run([python, "-c", "import importlib.util as u; raise SystemExit(not u.find_spec('torch'))"])
    return done.returncode == 0


def cupti_folders(python):
    """Folders with a libcupti.so. Torch's own comes first, so that all programs use the same."""
    places = [f"{folder}/nvidia/*/lib" for folder in _site_packages(python)]
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    places += [f"{home}/extras/CUPTI/lib64", f"{home}/lib64", f"{home}/targets/*/lib"]
    found = [path for place in places for path in sorted(glob.glob(f"{place}/libcupti.so*"))]
    return list(dict.fromkeys(os.path.dirname(path) for path in found))


def _site_packages(python):
    query = "import sys; print('\\n'.join(p for p in sys.path if p.endswith('-packages')))"
    done = subprocess.run([python, "-c", query], capture_output=True, text=True, timeout=60)
    return done.stdout.split("\n")[:-1]

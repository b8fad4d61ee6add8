"""What the recorder's libraries require of a process that loads them while it runs."""

import re
import subprocess

import pytest


@pytest.mark.parametrize("name", ["libredline.so", "libredline_torch.so"])
def test_thread_local_memory_is_little(library, name):
    """The loader may refuse a library with more: "cannot allocate memory in static TLS block"."""
    listed = subprocess.run(["readelf", "-lW", library(name)], capture_output=True, text=True, check=True).stdout
    (size,) = re.findall(r"^ +TLS +(?:\S+ +){4}(\S+)", listed, re.MULTILINE)
    assert int(size, 16) <= 64


def test_the_core_needs_neither_torch_nor_python(library):
    listed = subprocess.run(
        ["readelf", "-dW", library("libredline.so")], capture_output=True, text=True, check=True
    ).stdout
    needed = re.findall(r"NEEDED.*\[(\S+)\]", listed)
    assert needed and not [name for name in needed if re.search("torch|c10|python|cuda|cupti", name)], needed


def test_the_core_brings_no_other_cpp_runtime(library):
    """LD_PRELOAD loads the core first. If it brought the system's libstdc++, a job whose libraries need a newer one,
    as in a conda environment, would get the system's."""
    listed = subprocess.run(["ldd", library("libredline.so")], capture_output=True, text=True, check=True).stdout
    assert "libc.so.6" in listed
    assert not re.findall(r"libstdc\+\+|libfmt|libsimdjson", listed), listed

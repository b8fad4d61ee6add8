"""Where the benchmarks find what they run: REDLINE_BUILD names another build than build/release."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("REDLINE_BUILD", ROOT / "build/release")).resolve()
PROGRAMS = BUILD / "bin"
REDLINE = PROGRAMS / "redline"
# The environment in which `import redline` takes the libraries of this build.
LIBRARIES = {
    "REDLINE_LIBRARY": str(BUILD / "lib/libredline.so"),
    "REDLINE_TORCH_LIBRARY": str(BUILD / "lib/libredline_torch.so"),
}
PEERS = ROOT / "build/peers"  # of scripts/install-peers


def output_of(command, **options):
    """Its stdout. If it fails, this benchmark ends with what it printed."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{pathlib.Path(sys.argv[0]).stem}: {' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout

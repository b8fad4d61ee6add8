"""Runs torch.profiler before, inside or after a window of Redline, and prints as JSON how many kernels each profile
has."""

import gzip
import json
import os
import pathlib
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import torch  # noqa: E402
from models import Training  # noqa: E402

import redline  # noqa: E402


def kernels(path):
    text = path.read_bytes()
    trace = json.loads(gzip.decompress(text) if path.suffix == ".gz" else text)
    return sum(event.get("cat") == "kernel" for event in trace["traceEvents"])


def recorded(profile, path, work):
    with profile as window:
        work()
        torch.cuda.synchronize()
    window.export_chrome_trace(str(path))


def main():
    order, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    training = Training("gpt", "cuda")
    training.step()
    paths = {"torch": folder / f"{order}.torch.json", "redline": folder / f"{order}.redline.json.gz"}
    by_torch = lambda: recorded(torch.profiler.profile(), paths["torch"], training.step)  # noqa: E731

    def by_redline(work):
        recorded(redline.profile(), paths["redline"], work)

    if order == "inside":
        by_redline(lambda: (training.step(), by_torch(), training.step()))
    else:
        for turn in (by_torch, lambda: by_redline(training.step))[:: 1 if order == "before" else -1]:
            turn()
    print(json.dumps({name: kernels(path) for name, path in paths.items()}))


if __name__ == "__main__":
    main()

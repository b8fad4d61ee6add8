"""The same dumps of torch's flight recorder, read by `redline report` and by torch's own analysis. Prints a table.

Torch's analysis reads pickles, asks for the ranks of each group, which Gloo's dumps lack, and refuses names that do not
begin with "nccl:". So it gets edited dumps.
"""

import argparse
import contextlib
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import hang_runs  # noqa: E402
import job  # noqa: E402

RANKS = 3
QUIET_SECONDS = 8
PATIENCE_SECONDS = 120  # a rank that hangs before its first dump never has one


def dump_until_it_hangs(case, folder):
    """Runs the case until no rank has entered a collective for some seconds."""
    command = [sys.executable, job.__file__, case.__name__, str(RANKS)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True,
                          env={**os.environ, "DUMPS": str(folder), "OMP_NUM_THREADS": "1", "FORK": "1"}) as process:
        last = None
        began = since = time.monotonic()
        while process.poll() is None and time.monotonic() - began < PATIENCE_SECONDS and (
                last is None or time.monotonic() - since < QUIET_SECONDS):
            time.sleep(0.5)
            files = sorted(folder.glob("*.json"))
            counts = [len(json.loads(file.read_bytes()).get("entries", [])) for file in files]
            now = counts if len(counts) == RANKS and all(counts) else None
            if now != last:
                last, since = now, time.monotonic()
        with contextlib.suppress(ProcessLookupError):  # a job that failed has ended
            os.killpg(process.pid, 9)


def of_redline(folder):
    text = subprocess.run([hang_runs.BUILD / "redline", "report", "--format", "json", folder], capture_output=True,
                          text=True).stdout
    hang = json.loads(text)["hang"]
    if hang:
        return f"{hang['kind']}, ranks {hang['ranks']}, {hang['operation']} {hang['sequence']}"
    text = subprocess.run([hang_runs.BUILD / "redline", "report", folder], capture_output=True, text=True).stdout
    return next((line for line in text.splitlines() if line.startswith("The dump")), "nothing")


def of_torch(folder, pickles):
    for file in folder.glob("*.json"):
        dump = json.loads(file.read_bytes())
        groups = {entry["process_group"][0]: entry["process_group"][1] for entry in dump.get("entries", [])}
        for entry in dump.get("entries", []):
            entry["profiling_name"] = entry["profiling_name"].replace("gloo:", "nccl:")
        dump["pg_config"] = {name: {"name": name, "desc": words, "ranks": str(list(range(RANKS)))}
                             for name, words in groups.items()}
        (pickles / file.stem).write_bytes(pickle.dumps(dump))
    done = subprocess.run([sys.executable, "-m", "torch.distributed.flight_recorder.fr_trace", pickles], text=True,
                          capture_output=True)
    said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    words = ("missing", "culprit", "error", "mismatch")
    wanted = [line for line in said if any(word in line.lower() for word in words)]
    return "; ".join(wanted[-3:]) or (said[-1] if said else "nothing")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="names of cases; default: all faults")
    for case in {**job.HANGS, **job.FAILURES}:
        if case.__name__ not in (parser.parse_args().cases or [case.__name__]):
            continue
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as pickles:
            dump_until_it_hangs(case, pathlib.Path(folder))
            row = case.__name__, of_redline(folder), of_torch(pathlib.Path(folder), pathlib.Path(pickles))
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()

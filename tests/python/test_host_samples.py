"""The recorder adds counters of the machine and of DataLoader workers to the recorded operators."""

import collections
import json
import sqlite3

import pytest
from recording import names, slices, traces

pytestmark = pytest.mark.usefixtures("no_process_left")

# It runs long enough for some samples, and its workers are always busy, on a busy machine in a longer time.
LOADED = """
import multiprocessing, time, torch
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 100_000
    def __getitem__(self, index):
        return torch.full((4,), float(sum(range(5_000))))
def used_ticks(process):
    return int(open(f"/proc/{process.pid}/stat").read().rpartition(")")[2].split()[11])
def main():
    model = torch.nn.Linear(4, 2)
    end = time.monotonic() + 1.2
    for batch in torch.utils.data.DataLoader(Data(), batch_size=4, num_workers=2):
        model(batch)
        if time.monotonic() > end and min(map(used_ticks, multiprocessing.active_children())) > 100:
            break
main()
"""


@pytest.fixture
def record(succeed, program, python, tmp_path):
    """record(options…) returns the finished process and the folder of its one trace."""

    def recorded(*options):
        (tmp_path / "job.py").write_text(LOADED)
        command = [program("redline"), "record", *options, "-o", tmp_path / "traces", "--"]
        succeed([*command, python, tmp_path / "job.py"])
        return tmp_path / "traces"

    return recorded


def counters(trace):
    """The values of each counter, as {"CPU 0: busy %": [12.5, …]}."""
    tracks = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "C":
            ((unit, value),) = event["args"].items()
            tracks[f"{event['name']}: {unit}"].append(value)
    return tracks


def test_tracks_of_the_machine_the_process_and_its_workers(record, run, succeed, program, tmp_path):
    folder = record("--host-samples", "20")
    (trace,) = traces(folder)
    tracks = counters(trace)
    whole = {
        "CPU: busy %", "Process CPU: % of a core", "Process CPU in the kernel: % of a core", "Resident memory: MiB", "/dev/shm: MiB",
        "Page faults: a second", "Major page faults: a second",
    }
    assert whole <= tracks.keys()
    assert all(0 <= value <= 100 for value in tracks["CPU: busy %"])
    assert any(name.startswith("CPU ") and name != "CPU: busy %" for name in tracks)
    assert max(tracks["Resident memory: MiB"]) > 50
    workers = [name for name in tracks if name.startswith("DataLoader worker ")]
    assert len(workers) == 2
    assert all(max(tracks[name]) > 0 for name in workers)
    # Counters belong to the process and not to a thread, and the thread that samples them must not appear.
    rows = {event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "thread_name"}
    assert not any("redline" in row for row in rows)

    loaded = run([program("redline"), "report", "--format", "json", folder])
    (report,) = json.loads(loaded.stdout)["traces"]
    assert not report["skipped"]
    succeed([program("redline"), "export", folder, "--sqlite", tmp_path / "traces.db"])
    (rows,) = sqlite3.connect(tmp_path / "traces.db").execute("SELECT count(*) FROM counters")
    assert rows[0] == sum(map(len, tracks.values()))


def test_waits_for_workers_are_slices_and_samples_can_be_off(record):
    (trace,) = traces(record("--host-samples", "0"))
    assert not counters(trace)
    waits = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    assert names(trace, "user_annotation")[waits] > 1
    assert all(event["dur"] > 0 for event in slices(trace) if event["name"] == waits)

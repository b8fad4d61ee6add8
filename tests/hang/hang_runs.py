"""All cases of job.py, several times: was each hang named right, and did healthy jobs get nothing? Prints a table."""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import job  # noqa: E402

FAULTS = {**job.HANGS, **job.FAILURES}
BUILD = pathlib.Path(os.environ.get("REDLINE_BUILD", ROOT / "build" / "release")) / "bin"
HANG_AFTER = 3
VERDICTS = ("redline: the job hangs: ", "redline: the job failed: ")


WAYS = {"log": ["run", "--log"], "ring": ["record", "--ring", "30s", "--on-hang", "report", "-o"]}


def one_run(way, case, ranks, folder, patience):
    """The verdict on one run, of the report's JSON, or None; and the job's exit status."""
    command = [BUILD / "redline", *WAYS[way], folder, "--hang-after", f"{HANG_AFTER}s", "--",
               sys.executable, job.__file__, case.__name__, str(ranks)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True,
                          env={**os.environ, "OMP_NUM_THREADS": "1"}) as process:
        timer = signal.signal(signal.SIGALRM, lambda *_: os.killpg(process.pid, signal.SIGKILL))
        signal.alarm(patience)
        said = any(line.startswith(VERDICTS) for line in process.stderr)
        signal.alarm(0)
        signal.signal(signal.SIGALRM, timer)
        verdict = None
        if said:
            text = subprocess.run([BUILD / "redline", "report", "--format", "json", folder], capture_output=True,
                                  text=True).stdout
            verdict = json.loads(text)["hang"]
            with contextlib.suppress(ProcessLookupError):  # a job that failed has ended
                os.killpg(process.pid, signal.SIGKILL)
        return verdict, process.wait()


def is_right(case, ranks, verdict, status):
    if case in job.HEALTHY:
        return verdict is None and status == 0
    kind, function = FAULTS[case]
    if verdict is None or verdict["kind"] != kind:
        return False
    # Of two ranks nobody can say which is wrong.
    if case in (job.wrong_size, job.wrong_type):
        has_culprit = job.CULPRIT in verdict["ranks"]
        return has_culprit and (len(verdict["ranks"]) == 1 or ranks - len(verdict["waiting_ranks"]) <= 3)
    culprits = [0, 1] if kind in ("mismatch", "order") and ranks == 2 else [job.CULPRIT]
    has_line = function is None or ranks == 2 or verdict["stack"][:1] and verdict["stack"][0].endswith(" " + function)
    return verdict["ranks"] == culprits and bool(has_line)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=3, help="how often each case runs, on 3, 2, 4 and 8 ranks in turn")
    parser.add_argument("--cases", nargs="*", help="names of cases; default: all")
    parser.add_argument("--way", choices=WAYS, default="log", help="redline run --log, or redline record --ring")
    arguments = parser.parse_args()
    right, total = collections.Counter(), collections.Counter()
    for turn in range(arguments.times):
        for case in [*FAULTS, *job.HEALTHY]:
            if arguments.cases and case.__name__ not in arguments.cases:
                continue
            ranks = (3, 2, 4, 8)[turn % 4]
            with tempfile.TemporaryDirectory() as folder:
                verdict, status = one_run(arguments.way, case, ranks, folder, 180)
            good = is_right(case, ranks, verdict, status)
            total[case.__name__] += 1
            right[case.__name__] += good
            said = verdict and verdict["kind"]
            print(f"{'right' if good else 'WRONG'} {case.__name__}, {ranks} ranks, {said}", flush=True)
            if not good:
                print(f"  {verdict}, exit status {status}", flush=True)
    for case in [*FAULTS, *job.HEALTHY]:
        if total[case.__name__]:
            what = "no verdict" if case in job.HEALTHY else FAULTS[case][0]
            print(f"{case.__name__:24} {what:12} {right[case.__name__]:3} of {total[case.__name__]:3} right")
    print(f"{sum(right.values())} of {sum(total.values())} right")
    sys.exit(right != total)


if __name__ == "__main__":
    main()

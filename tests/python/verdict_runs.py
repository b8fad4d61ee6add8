"""Trainings with one planted fault and healthy ones, and whether the verdict on each is right.

scripts/verdicts runs all or those that are named, and prints a table of what the verdicts said.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from busy_cores import computing  # noqa: E402

BUILD = pathlib.Path(os.environ.get("REDLINE_BUILD", ROOT / "build" / "release"))
TRAINING = pathlib.Path(__file__).with_name("scripts") / "planted_training.py"
TRACEML = ROOT / "build/peers/traceml/bin/traceml"  # bench/README.md says how to install it
SILENCE_S = 3  # after which `redline report` calls a rank dead whose process is no more
SOME_CORES = 0.25  # that others had: a verdict may say so, too


@dataclasses.dataclass
class Case:
    """A run, and what its verdict must name first. Without a cause it must name none."""

    options: str = ""
    ranks: int = 1
    cause: str = None
    part: str = None
    on: tuple = ()  # ranks
    since: float = None  # as a share of all steps; the verdict may be off by a tenth of them
    each: int = None  # steps
    text: str = ""  # in the finding's detail
    others: int = 0  # processes beside it that only compute
    status: int = 0
    also: str = None  # a cause that is there, too


def case(options="", ranks=1, cause=None, part=None, **more):
    return Case(options, ranks, cause, part, **more)


PLANTED = {
    "slow_loader": case("--steps 160", cause="part", part="data_wait"),
    "loader_stalls": case("--workers 1", cause="part", part="data_wait", each=25),
    "slow_disk": case("--steps 160", cause="part", part="data_wait"),
    "loader_slower": case(cause="slower", part="data_wait", since=0.5),
    "late_rank": case(ranks=2, cause="slower", part="data_wait", on=(1,), since=0.5),
    "leak": case("--steps 900", cause="memory_growth"),
    "uneven_rank": case("--steps 160", ranks=2, cause="uneven_rank", part="forward", on=(1,)),
    "evaluation": case(cause="part", part="evaluation", each=5),
    "checkpoint": case(cause="part", part="checkpoint", each=10),
    "garbage": case(cause="part", part="garbage_collection"),
    "lengths": case("--model gru --steps 300", cause="varying_lengths"),
    "recompiles": case("--steps 300", cause="part", part="compile", also="warm_up"),  # the first compile is one
    "stolen": case(others=3, cause="other_processes"),
    "oversubscribed": case("--steps 600", cause="crowded_cores"),
    "killed": case("--steps 200", ranks=2, cause="died", on=(1,), status=1),
    "exception": case("--steps 200", ranks=2, cause="failed", on=(1,), text="ValueError: label 10", status=1),
    "oom": case(cause="out_of_memory"),
    "forward_slower": case(cause="slower", part="forward", since=0.5),
    "sleeps": case("--steps 400", cause="slow_steps"),
    "warm_up": case(cause="warm_up"),
}

HEALTHY = {
    "mlp": case(),
    "cnn": case("--model cnn"),
    "gru": case("--model gru --steps 400"),
    "transformer": case("--model transformer"),
    # An MLP takes a tenth of each step to take a batch from a worker, and is rightly told so.
    "transformer, 2 loader workers": case("--model transformer --workers 2"),
    "cnn, 2 loader workers": case("--model cnn --workers 2"),
    "gru, 2 loader workers": case("--model gru --workers 2 --steps 400"),
    "mlp, evaluation seldom": case("--evaluate-every 100"),
    "cnn, evaluation seldom": case("--model cnn --evaluate-every 100"),
    "mlp, checkpoint seldom": case("--save-every 80"),
    "transformer, checkpoint seldom": case("--model transformer --save-every 80"),
    "mlp, jitter": case("--jitter"),
    "cnn, jitter, 1 worker": case("--model cnn --jitter --workers 1"),
    "mlp, 2 batches a step": case("--accumulate 2 --steps 160"),
    "mlp, short": case("--steps 100"),
    "mlp, long": case("--steps 700 --jitter --evaluate-every 200"),
    "mlp, 2 ranks": case(ranks=2),
    "cnn, 2 ranks": case("--model cnn", ranks=2),
    "cnn, 2 ranks, checkpoint seldom": case("--model cnn --save-every 100", ranks=2),
    "transformer, 2 ranks, evaluation seldom": case("--model transformer --evaluate-every 100", ranks=2),
}


def busy_s():
    """Of all cores since the machine started, and of ended children of this process."""
    ticks = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = sum(int(tick) for column, tick in enumerate(ticks) if column not in (3, 4)) / os.sysconf("SC_CLK_TCK")
    return busy, children.ru_utime + children.ru_stime


def make_run(name, wanted, run, python, folder):
    """Runs the training with its log in `folder`. Gives the report, and how many cores other work had meanwhile."""
    command = [BUILD / "bin" / "redline", "run", "--log", folder / "logs", "--", python]
    if wanted.ranks > 1:
        command += ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(wanted.ranks)]
    command += [TRAINING, *training_words(name, wanted, folder)]
    begin, before = time.monotonic(), busy_s()
    with computing(wanted.others):
        done = run(command)
    after, wall_s = busy_s(), time.monotonic() - begin
    assert (done.returncode != 0) == (wanted.status != 0), done.stderr
    others = ((after[0] - before[0]) - (after[1] - before[1])) / wall_s
    if wanted.cause == "died":
        time.sleep(SILENCE_S)
    said = run([BUILD / "bin" / "redline", "report", folder / "logs", "--format", "json"])
    assert said.returncode == 0, said.stderr
    return json.loads(said.stdout)["run"], others, wall_s


def training_words(name, wanted, folder):
    """The command line of the training, from its script's options on."""
    planted = ["--plant", name] if name in PLANTED and not wanted.others else []
    return ["--folder", folder, *wanted.options.split(), *planted]


def ask_traceml(name, wanted, folder):
    """What TraceML says of the same training, which calls it in its loop. "" if it says nothing."""
    done = folder / "traceml" / "run" / "final_summary.json"
    command = [TRACEML, "run", "--logs-dir", folder / "traceml", "--run-name", "run", "--nproc-per-node",
               str(wanted.ranks), TRAINING, "--args", "--traceml"]
    with computing(wanted.others):
        subprocess.run([*command, *training_words(name, wanted, folder)], capture_output=True)
    if not done.exists():
        return ""
    summary = json.loads(done.read_text())
    said = [summary["primary_diagnosis"], *(summary[section]["diagnosis"] for section in ("system", "process"))]
    return "; ".join(f"{each['status']}: {each['summary']}" for each in said if each and each["status"] != "NORMAL")


def tells_of_others(finding):
    """Such a finding names other work on the processors, if only as one of the reasons that there may be."""
    is_alike = finding["cause"] == "slower" and finding["part"] is None
    return finding["cause"] == "other_processes" or finding["by_other_processes"] or is_alike


def complaints(wanted, report, others):
    """What is wrong with the verdict; empty if nothing is."""
    findings = [finding for finding in report["findings"] if finding["cause"] != wanted.also]
    if others >= SOME_CORES and wanted.cause != "other_processes":
        findings = [finding for finding in findings if not tells_of_others(finding)]
    if wanted.cause is None:
        return [f"not there: {finding['message']}" for finding in findings]
    if not findings:
        return ["not found"]
    first, *more = findings
    if wanted.cause == "other_processes":
        more = [finding for finding in more if not tells_of_others(finding)]
    return [f"not there: {finding['message']}" for finding in more] + mistakes(wanted, report, first)


def mistakes(wanted, report, finding):
    """In what the finding differs from what was planted."""
    wrong = []
    for key, value in [("cause", wanted.cause), ("part", wanted.part), ("period_steps", wanted.each)]:
        if value is not None and finding[key] != value:
            wrong.append(f"{key} is {finding[key]}")
    if tuple(finding["ranks"]) != wanted.on:
        wrong.append(f"ranks are {finding['ranks']}")
    if wanted.since is not None and abs(finding["from_step"] / report["steps"] - wanted.since) > 0.1:
        wrong.append(f"since step {finding['from_step']} of {report['steps']}")
    if wanted.text not in finding["detail"]:
        wrong.append(finding["detail"])
    return wrong


def main():
    parser = argparse.ArgumentParser(prog="scripts/verdicts", description="Runs trainings with planted faults and "
                                     "healthy ones, and prints what the verdict on each said.")
    parser.add_argument("names", nargs="*", help="of runs; without any, all")
    parser.add_argument("--keep", metavar="DIR", help="keep the logs here")
    parser.add_argument("--traceml", action="store_true", help="make each run once more under TraceML, and say what "
                        "that says of it")
    arguments = parser.parse_args()
    every = PLANTED | HEALTHY
    if unknown := [name for name in arguments.names if name not in every]:
        parser.error(f"no run is called {', '.join(unknown)}; there are: {'; '.join(every)}")
    scratch = tempfile.TemporaryDirectory()
    keep = pathlib.Path(arguments.keep or scratch.name)
    os.environ.update(XDG_RUNTIME_DIR=scratch.name, OMP_NUM_THREADS="1")
    wrong_count = 0
    if arguments.traceml and not TRACEML.exists():
        parser.error(f"{TRACEML} is not there; bench/README.md says how to install it")
    columns = ["run", "verdict", "s", "cores of others", *["TraceML"] * arguments.traceml]
    print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")
    for name in arguments.names or every:
        folder = keep / name.replace(", ", "-").replace(" ", "_")
        folder.mkdir(parents=True)
        report, others, wall_s = make_run(
            name, every[name], lambda command: subprocess.run(command, capture_output=True, text=True),
            os.environ.get("REDLINE_PYTHON", ROOT / ".venv" / "bin" / "python"), folder)
        wrong = complaints(every[name], report, others)
        said = "; ".join(finding["message"] for finding in report["findings"]) or "nothing"
        wrong_count += bool(wrong)
        row = [name, said + "".join(f" **{text}**" for text in wrong), f"{wall_s:.0f}", f"{others:.1f}"]
        if arguments.traceml:
            row.append(ask_traceml(name, every[name], folder) or "nothing")
        print(f"| {' | '.join(row)} |", flush=True)
    total = len(arguments.names or every)
    print(f"\n{total - wrong_count} of {total} verdicts are right")
    sys.exit(1 if wrong_count else 0)


if __name__ == "__main__":
    main()

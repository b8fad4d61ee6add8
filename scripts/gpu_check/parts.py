"""The checks, one function a part: each gives its figures, and in "wrong" what is not as it must be."""

import dataclasses
import itertools
import json
import pathlib
import shutil
import tempfile
import time
from collections.abc import Callable

from gpu_check import machine, trace_facts, tuning
from gpu_check.workplace import PROGRAMS, Failed, TooLong, Workplace

MOST_OUTSIDE_NS = 20_000  # of host stamps: CUPTI fits the GPU's clock to the host's
MOST_AFTER_THE_END = 1.05  # of a step's time before


def counts(place):
    """1, 1e3 and 1e6 launches, 8 streams, a graph of 10 nodes three times, copies of known bytes."""
    cases = {
        "launches_1": ("launches", 1), "launches_1e3": ("launches", 1000),
        "launches_1e6": ("launches", 1_000_000), "streams": ("streams", 125), "graph": ("graph", 3),
        "copies": ("copies", 4_194_304 + 123),
    }
    result = {"wrong": []}
    for name, (kind, amount) in cases.items():
        path = place.scratch / f"{name}.json.gz"
        done = place.run_program("gpu_work", kind, amount, path)
        found = trace_facts.gpu_counts(path)
        wrong = trace_facts.wrong_counts(done, found)
        result[name] = {"done": done, "found": found}
        result["wrong"] += [f"{name}: {line}" for line in wrong]
        path.unlink()
    return result


def clock(place):
    """Starts of kernels beside CUDA events, the GPU's timer and stamps of the host."""
    path = place.scratch / "clock.json.gz"
    done = place.run_program("gpu_work", "clock", 500, path)
    errors = trace_facts.clock_errors(done, trace_facts.load(path))
    outside = max(errors["before_the_host_ns"], errors["after_the_host_ns"])
    wrong = [f"{outside} ns outside the host's stamps"] if outside > MOST_OUTSIDE_NS else []
    return {**errors, "wrong": wrong}


def nesting(place):
    """Each kernel of a training has its call, which lies within its operator."""
    result = {"wrong": []}
    for model in ("resnet50", "gpt"):
        path = place.scratch / f"{model}.json.gz"
        place.run_python("record_steps.py", path, "--model", model)
        trace = trace_facts.load(path)
        found, wrong = trace_facts.nesting(trace)
        lost = trace_facts.lost_records(trace["redline"].get("gpu", {}))
        annotations = len(trace_facts.slices(trace, "gpu_user_annotation"))
        result[model] = {**found, "gpu_user_annotations": annotations}
        if found["kernels"] == 0:
            wrong.append("no kernel in the trace")
        wrong += [f"only {found[key]} kernels {key}" for key in ("with_call", "with_operator", "nested")
                  if found[key] != found["kernels"]]
        wrong += [f"lost: {lost}"] if lost else []
        result["wrong"] += [f"{model}: {line}" for line in wrong]
    return result


def golden(place):
    """A small trace to keep: golden.pt.trace.json.gz."""
    path = place.out / "golden.pt.trace.json.gz"
    place.run_python("record_steps.py", path, "--small")
    found, wrong = trace_facts.nesting(trace_facts.load(path))
    wrong += [] if found["kernels"] else ["no kernel in the trace"]
    return {"bytes": path.stat().st_size, **found, "wrong": wrong}


def raw(place):
    """CUPTI's buffers as they come, for tests on machines without a GPU: raw.cupti."""
    done = place.run_program("save_raw_buffers", place.out / "raw.cupti")
    return {**done, "wrong": [] if done["buffers"] > 0 else ["CUPTI gave no buffer"]}


def overhead(place):
    """What recording costs beside torch.profiler: loop, stop, export, and after the end. Run again, it
    goes on with what there was no time for."""
    not_run, wrong = [], []
    rows = list(place.earlier.get("rows", [])) if place.earlier.get("not_run") else []
    measured = {(row["mode"], row["dtype"], row["model"]) for row in rows}
    # The cheap ones first; each pair is measured right after one another.
    matrix = itertools.product(("eager", "graphs", "compiled"), ("fp32", "bf16"), ("resnet50", "gpt"))
    longest = 0
    for mode, dtype, model in matrix:
        if (mode, dtype, model) in measured:
            continue
        if place.seconds_left() < 1.5 * longest + 10:
            not_run.append(f"{model} {dtype} {mode}")
            continue
        begin = time.monotonic()
        words = ("--model", model, "--dtype", dtype, "--mode", mode)
        try:
            rows += [json.loads(place.run_python("measure.py", *words, "--profiler", name).splitlines()[-1])
                     for name in ("redline", "torch")]
        except TooLong:
            not_run.append(f"{model} {dtype} {mode}")
        except Failed as failure:
            wrong.append(f"{' '.join(words[1::2])}: {failure}")
        longest = max(longest, time.monotonic() - begin)
    wrong += [f"{row['model']} {row['dtype']} {row['mode']}: steps take {row['slow_down_after']:.2f} times "
              "as long after the end" for row in rows
              if row["profiler"] == "redline" and row["slow_down_after"] > MOST_AFTER_THE_END]
    return {"rows": rows, "not_run": not_run, "wrong": wrong}


def tune(place):
    """autotune of ResNet-50 over batch, workers, AMP, layout and cuDNN's search, to the OOM frontier."""
    study = place.out / "tune.study.db"
    budget = place.seconds_left() - 15
    place.run(tuning.command(place, "staged", study, budget))
    found = tuning.summary(tuning.trials(study))
    return {"budget_s": round(budget), **found, "wrong": [] if found["best"] else ["no trial ran"]}


def grid(place):
    """The same space as a grid; run again, it goes on. "complete" says whether it is whole."""
    study = place.out / "grid.study.db"
    spent = tuning.seconds_spent(study)
    more = ["--resume"] if study.exists() else []
    place.run(tuning.command(place, "grid", study, spent + place.seconds_left() - 15, *more))
    found = tuning.summary(tuning.trials(study))
    tuned = tuning.summary(tuning.trials(place.out / "tune.study.db"))
    wrong = [] if found["best"] else ["no trial ran"]
    return {**found, "of": tuning.grid_size(), "complete": found["trials"] >= tuning.grid_size(),
            "regret_of_tune": tuning.regret(tuned, found), "wrong": wrong}


@dataclasses.dataclass
class Part:
    run: Callable
    seconds: int  # when all run

    @property
    def about(self):
        return self.run.__doc__.splitlines()[0]


SECONDS_ALONE = 170
PARTS = {}
for _run, _seconds in ((counts, 75), (clock, 15), (nesting, 40), (golden, 20), (raw, 15), (overhead, 120),
                       (tune, 90), (grid, 75)):
    PARTS[_run.__name__] = Part(_run, _seconds)


def run(bundle, out, python, names):
    """Exit status; OUT/gpu-check.json grows with each part."""
    out.mkdir(parents=True, exist_ok=True)
    results = out / "gpu-check.json"
    report = {"schema": "redline.gpu_check/1", "gpu": machine.gpu_facts(), "parts": {}}
    if results.exists():
        report["parts"] = json.loads(results.read_text()).get("parts", {})
    with tempfile.TemporaryDirectory(prefix="gpu-check.") as scratch:
        place = Workplace(bundle, scratch, out, python)
        report["build_s"] = {program: place.build(program) for program in PROGRAMS}
        for name in names:
            place.earlier = report["parts"].get(name, {})
            place.set_seconds(PARTS[name].seconds if len(names) > 1 else SECONDS_ALONE)
            report["parts"][name] = result = run_part(PARTS[name], place)
            results.write_text(json.dumps(report, indent=1))
            print(f"{name:10}{result['seconds']:6.1f} s  {'; '.join(result['wrong']) or 'ok'}", flush=True)
    print(f"results: {results}")
    return 1 if any(report["parts"][name]["wrong"] for name in names) else 0


def run_part(part, place):
    begin = time.monotonic()
    try:
        result = part.run(place)
    except (Failed, OSError, ValueError, KeyError) as failure:
        result = {"wrong": [f"{type(failure).__name__}: {failure}"]}
    return {**result, "seconds": round(time.monotonic() - begin, 1)}


def dry_run(bundle, python):
    """Builds all, and runs what can be run without a GPU; exit status."""
    with tempfile.TemporaryDirectory(prefix="gpu-check.") as scratch:
        place = Workplace(bundle, scratch, pathlib.Path(scratch), python)
        try:
            _dry_run_programs(place)
            _dry_run_training(place)
        except Failed as failure:
            print(f"gpu-check: {failure}")
            return 1
    return 0


def _dry_run_programs(place):
    arguments = {"gpu_work": ("launches", 1, place.scratch / "trace.json.gz"),
                 "save_raw_buffers": (place.scratch / "raw.cupti",)}
    for program in PROGRAMS:
        seconds = place.build(program)
        done = place.start([place.scratch / program, *arguments[program]], with_cupti=True)
        said = (done.stderr or done.stdout).strip()
        if done.returncode not in (0, 3):
            raise Failed(f"{program}: status {done.returncode}: {said}")
        print(f"{program}: built in {seconds:.1f} s; up to CUDA's first call: {said}", flush=True)


def _dry_run_training(place):
    small = ("--device", "cpu", "--small")
    trace = place.scratch / "steps.json.gz"
    place.run_python("record_steps.py", trace, *small)
    operators = len(trace_facts.slices(trace_facts.load(trace), "cpu_op"))
    if operators == 0:
        raise Failed("record_steps.py recorded no operator")
    print(f"training: {operators} operators recorded on the CPU", flush=True)
    text = place.run_python("measure.py", "--model", "gpt", "--steps", "3", "--rounds", "1", *small)
    print(f"overhead: a loop of {json.loads(text.splitlines()[-1])['steps']} steps was measured", flush=True)
    place.run([*tuning.command(place, "staged", place.scratch / "study.db", 60, "--dry-run")])
    print(f"tune: the plan of a space of {tuning.grid_size()} configurations was made", flush=True)
    shutil.rmtree(place.scratch / "inductor", ignore_errors=True)

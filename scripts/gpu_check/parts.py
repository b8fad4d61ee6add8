"""The checks, one function for each part. Each returns its figures, and in "wrong" what is not as it must be."""

import contextlib
import dataclasses
import itertools
import json
import os
import pathlib
import shutil
import tempfile
import time
from collections.abc import Callable

from gpu_check import machine, trace_facts, tuning
from gpu_check.workplace import NO_GPU, Failed, NoGpu, TooLong, Workplace

MOST_OUTSIDE_NS = 20_000  # outside the host's stamps: CUPTI can only fit the GPU's clock to the host's
MOST_BESIDE_THE_TIMER_NS = 2000  # an H100's ticks each 33 ns, that of older GPUs each microsecond
MOST_AFTER_THE_END = 1.05  # times as long as a step took before the first window


def counts(place):
    """Counts 1, 1e3 and 1e6 launches, 8 streams, a graph of 10 nodes three times, and copies of known sizes."""
    return _counted(place, {
        "launches_1": ("launches", 1), "launches_1e3": ("launches", 1000),
        "launches_1e6": ("launches", 1_000_000), "streams": ("streams", 125), "graph": ("graph", 3),
        "copies": ("copies", 4_194_304 + 123),
    })


def graphs(place):
    """Runs graphs captured before the window, in it and between two windows, and five windows 15 s apart."""
    return _counted(place, {"captured": ("captured", 100), "in_the_window": ("graph", 100),
                            "between_windows": ("again", 100), "fifth_window": ("windows", 5)})


def pool(place):
    """Records two million kernels of graphs with eight device buffers in CUPTI: none may be lost unseen."""
    return _counted(place, {"graphs_2e6": ("pool", 200_000)})


def waits(place):
    """Records and awaits one CUDA event 100 times: each wait must name the record before it, and the trace the GPU."""
    result = _counted(place, {"waits": ("waits", 100)}, keep=True)
    path = place.scratch / "waits.json.gz"
    trace = trace_facts.load(path)
    awaited = trace_facts.awaited_records(trace)
    result["records"] = len(awaited)
    if sorted(set(awaited)) != sorted(awaited) or len(awaited) != 100:
        result["wrong"].append(f"{len(set(awaited))} different records in {len(awaited)} waits, not 100 in 100")
    result["wrong"] += trace_facts.wrong_gpus(trace, machine.gpu_uuids())
    return result


def capture(place):
    """Captures graphs in one thread while another ends windows: no capture may break."""
    done = place.run_program("gpu_work", "capture", 200, place.scratch / "none.json.gz")
    return {**done, "wrong": [f"{done['broken']} captures broke"] if done["broken"] else []}


def _counted(place, cases, keep=False):
    """Compares, by case, what the program did with what its trace has. A case that fails does not stop the others."""
    result = {"wrong": []}
    for name, (kind, amount) in cases.items():
        path = place.scratch / f"{name}.json.gz"
        try:
            done = place.run_program("gpu_work", kind, amount, path)
            found = trace_facts.gpu_counts(path)
        except NoGpu:
            raise
        except Exception as failure:  # a trace may be damaged in any way
            result["wrong"].append(f"{name}: {type(failure).__name__}: {failure}")
            continue
        wrong = trace_facts.wrong_counts(done, found)
        result[name] = {"done": done, "found": found}
        result["wrong"] += [f"{name}: {line}" for line in wrong]
        if wrong:
            place.keep(path)
        if not keep:
            path.unlink()
    return result


def clock(place):
    """Compares the starts of kernels with CUDA events, the GPU's timer and time stamps of the host."""
    path = place.scratch / "clock.json.gz"
    done = place.run_program("gpu_work", "clock", 500, path)
    errors = trace_facts.clock_errors(done, trace_facts.load(path))
    outside = max(errors["before_the_host_ns"], errors["after_the_host_ns"])
    wrong = [f"{outside} ns outside the host's stamps"] if outside > MOST_OUTSIDE_NS else []
    beside = errors["gpu_timer"]["p99_ns"]
    wrong += [f"{beside} ns from start to start beside the GPU's timer"] if beside > MOST_BESIDE_THE_TIMER_NS else []
    return {**errors, "wrong": wrong}


def nesting(place):
    """Checks that each kernel of a training has its call, and that the call lies within its operator."""
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
        if wrong:
            place.keep(path)
        result["wrong"] += [f"{model}: {line}" for line in wrong]
    return result


def peer(place):
    """Compares the work of three steps, and its operators, with what torch.profiler finds in the same steps."""
    result = {"wrong": []}
    for words in (("resnet50", "bf16", "eager"), ("gpt", "bf16", "eager"), ("gpt", "bf16", "graphs"),
                  ("gpt", "bf16", "compiled")):
        name = "_".join(words)
        traces = {profiler: place.scratch / f"{name}.{profiler}.json.gz" for profiler in ("redline", "torch")}
        for profiler, path in traces.items():
            place.run_python("record_steps.py", path, "--profiler", profiler, "--model", words[0],
                             "--dtype", words[1], "--mode", words[2])
        found, wrong = trace_facts.beside_the_peer(*(trace_facts.load(path) for path in traces.values()))
        if wrong:
            place.keep(*traces.values())
        result[name] = found
        result["wrong"] += [f"{name}: {line}" for line in wrong]
    return result


def golden(place):
    """Records a small trace to keep: golden.pt.trace.json.gz."""
    path = place.out / "golden.pt.trace.json.gz"
    place.run_python("record_steps.py", path, "--small")
    found, wrong = trace_facts.nesting(trace_facts.load(path))
    wrong += [] if found["kernels"] else ["no kernel in the trace"]
    return {"bytes": path.stat().st_size, **found, "wrong": wrong}


def raw(place):
    """Saves CUPTI's buffers as they come, for tests on machines without a GPU: raw.cupti."""
    done = place.run_program("save_raw_buffers", place.out / "raw.cupti")
    # Calls alone fill a buffer, too.
    return {**done, "wrong": [] if done["names"] > 0 else ["CUPTI gave no kernel"]}


def _measured(place, *words, **variables):
    row = place.run_python("measure.py", *words, **variables)
    if row["kernels"] == 0:
        raise Failed(f"measure.py {' '.join(words)}: no kernel in the trace, so nothing was measured")
    return row


def overhead(place):
    """Measures what recording costs beside torch.profiler: loop, stop, export, and after the end.

    If it is run again, it goes on with what there was no time for.
    """
    not_run, wrong = [], []
    rows = list(place.earlier.get("rows", [])) if place.earlier.get("not_run") else []
    measured = {(row["mode"], row["dtype"], row["model"]) for row in rows}
    # The cheap cases come first. The two profilers of a case are measured right after one another.
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
            rows += [_measured(place, *words, "--profiler", name) for name in ("redline", "torch")]
        except TooLong:
            not_run.append(f"{model} {dtype} {mode}")
        except Failed as failure:
            wrong.append(f"{' '.join(words[1::2])}: {failure}")
        longest = max(longest, time.monotonic() - begin)
    return {"rows": rows, "not_run": not_run, "wrong": wrong}


# Small images: the host cannot keep the GPU busy, so each microsecond of a call shows.
HOST_BOUND = ("--model", "resnet50", "--small", "--steps", "20", "--rounds", "3")


def after(place):
    """Times a loop before the first window, in windows and after them, to see whether training stays slower."""
    rows = {"gpu_bound": _measured(place, "--model", "gpt", "--rounds", "3", "--steps", "20"),
            "host_bound": _measured(place, *HOST_BOUND),
            "torch": _measured(place, *HOST_BOUND, "--profiler", "torch"),
            "teardown": _measured(place, *HOST_BOUND, REDLINE_GPU_TEARDOWN="on")}
    # CUPTI stays between the program and the driver, for all profilers alike, unless it is ended.
    wrong = [f"{name}: {rows[name]['slow_down_after']:.2f} times as long after the windows"
             for name in ("gpu_bound", "teardown") if rows[name]["slow_down_after"] > MOST_AFTER_THE_END]
    return {**rows, "wrong": wrong}


SETTINGS = {"default": {}, "without_waits": {"REDLINE_GPU_WAITS": "off"}, "flush_5_s": {"REDLINE_GPU_FLUSH_MS": "5000"}}


def settings(place):
    """Runs a loop in windows with and without waits and CUDA events, and with few questions for buffers."""
    rows = {name: _measured(place, *HOST_BOUND, **variables) for name, variables in SETTINGS.items()}
    return {**rows, "wrong": []}


def coexist(place):
    """Runs torch.profiler before, inside and after a window, to see which profile has the kernels."""
    found = {order: place.run_python("coexist.py", order, place.scratch)
             for order in ("before", "inside", "after")}
    # Inside a window, our trace lacks the kernels that torch.profiler has taken.
    wrong = [f"{order}: {name} has no kernel" for order, kernels in found.items() for name in ("torch", "redline")
             if not kernels[name] and (order, name) != ("inside", "redline")]
    return {**found, "wrong": wrong}


def fork(place):
    """Forks a child that uses CUDA from a recorded parent that never does."""
    done = place.run_python("fork.py")
    return {**done, "wrong": [] if done["child_status"] == 0 else [f"the child fails: {done['child_says']}"]}


def claims(place):
    """Compares pin_memory, AMP, channels_last, cuDNN's search, compile and a fused optimizer, on against off."""
    rows, not_run, wrong = [], [], []
    for name in ("pin_memory", "amp", "channels_last", "cudnn_benchmark", "fused_optimizer", "compile"):
        if place.seconds_left() < 10:
            not_run.append(name)
            continue
        try:
            rows += place.run_python("claims.py", name)
        except TooLong:
            not_run.append(name)
        except Failed as failure:
            wrong.append(f"{name}: {failure}")
    return {"rows": rows, "not_run": not_run, "wrong": wrong}


def tune(place):
    """Runs autotune on ResNet-50 over batch, workers, AMP, layout and cuDNN's search, up to where memory ends.

    If it is run again, it goes on with its study.
    """
    study = place.out / "tune.study.db"
    budget = place.seconds_left() - 15
    place.run(tuning.command(place, "model", study, budget))
    found = tuning.summary(tuning.trials(study))
    return {"budget_s": round(budget), **found, "wrong": [] if found["best"] else ["no trial ran"]}


def guide(place):
    """Measures the techniques of docs/guide in pairs of runs, into guide.json for scripts/guide-figures --gpu."""
    gains = place.out / "guide.json"
    folder = pathlib.Path(place.python).parent
    with contextlib.suppress(TooLong):  # if it is run again, it goes on
        place.run([place.python, place.package.parent / "scripts/guide-figures", "--pairs", 3, "--on-gpus", gains],
                  PATH=f"{folder}:{os.environ['PATH']}")
    found = json.loads(gains.read_text()) if gains.exists() else {}
    return {"gains": {name: [row["low"], row["gain"], row["high"]] for name, row in found.items()},
            "wrong": [] if found else ["no technique was measured"]}


def grid(place):
    """Measures the same space as a grid. If it is run again, it goes on; "complete" says whether the grid is whole."""
    study = place.out / "grid.study.db"
    place.run(tuning.command(place, "grid", study, place.seconds_left() - 15))
    found = tuning.summary(tuning.trials(study))
    tuned = tuning.summary(tuning.trials(place.out / "tune.study.db"))
    wrong = [] if found["best"] else ["no trial ran"]
    return {**found, "of": tuning.grid_size(), "complete": found["trials"] >= tuning.grid_size(),
            "regret_of_tune": tuning.regret(tuned, found), "wrong": wrong}


@dataclasses.dataclass
class Part:
    run: Callable
    seconds: int  # at most, for the whole part
    needs_torch: bool = True

    @property
    def about(self):
        return self.run.__doc__.splitlines()[0]


SECONDS_OF_ALL = 600
SECONDS_ALONE = 170
# In the order of their worth, because a GPU may be there for ten minutes only.
PARTS = {
    "counts": Part(counts, 75, False),
    "clock": Part(clock, 15, False),
    "raw": Part(raw, 15, False),
    "graphs": Part(graphs, 90, False),
    "pool": Part(pool, 60, False),
    "after": Part(after, 100),
    "capture": Part(capture, 45, False),
    "coexist": Part(coexist, 60),
    "fork": Part(fork, 20),
    "waits": Part(waits, 15, False),
    "settings": Part(settings, 60),
    "nesting": Part(nesting, 40),
    "peer": Part(peer, 120),
    "golden": Part(golden, 20),
    "overhead": Part(overhead, 120),
    "claims": Part(claims, 150),
    "tune": Part(tune, 90),
    "grid": Part(grid, 75),
    "guide": Part(guide, 150),
}


def run(bundle, out, python, names, seconds):
    """Runs the named parts (without names, those that have not run) and returns the exit status. Each part adds its
    result to OUT/gpu-check.json. No part begins that may end after `seconds` (None: as main.py says)."""
    out.mkdir(parents=True, exist_ok=True)
    results = out / "gpu-check.json"
    report = {"schema": "redline.gpu_check/1", "parts": {}}
    if results.exists():
        report["parts"] = json.loads(results.read_text()).get("parts", {})
    gpu = machine.gpu_facts()  # in each part, because OUT may have parts of another machine
    no_gpu = machine.why_no_gpu()
    no_torch = "" if machine.has_torch(python) else f"no torch in {python}: name another Python by --python"
    is_named = bool(names)
    names = names or [name for name in PARTS if "no_gpu" in report["parts"].get(name, {"no_gpu": ""})]
    left = []
    deadline = time.monotonic() + (seconds or SECONDS_OF_ALL)
    with tempfile.TemporaryDirectory(prefix="gpu-check.") as scratch:
        place = Workplace(bundle, scratch, out, python)
        for name in names:
            part = PARTS[name]
            if time.monotonic() + part.seconds > deadline:
                left.append(name)
                continue
            place.earlier = report["parts"].get(name, {})
            place.set_seconds(part.seconds if len(names) > 1 else seconds or SECONDS_ALONE)
            report["parts"][name] = result = {**run_part(part, place, no_gpu, no_torch), "gpu": gpu}
            results.write_text(json.dumps(report, indent=1))
            not_run = [f"not run: {', '.join(result['not_run'])}"] if result.get("not_run") else []
            print(f"{name:10}{result['seconds']:6.1f} s  {'; '.join([*result['wrong'], *not_run]) or 'ok'}", flush=True)
    print(f"results: {results}" + (f"; run it again for {', '.join(left)}" if left else ""))
    if no_gpu:
        return NO_GPU
    failed = [name for name, result in report["parts"].items() if result["wrong"] and "no_gpu" not in result]
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed or (is_named and left) else 0


def run_part(part, place, no_gpu="", no_torch=""):
    """The result of a part. A program says that there is no GPU at its first call of CUDA, so up to there everything
    works."""
    begin = time.monotonic()
    try:
        if part.needs_torch and (no_gpu or no_torch):
            raise NoGpu(f"no GPU: {no_gpu}") if no_gpu else Failed(no_torch)
        result = part.run(place)
    except NoGpu as failure:
        result = {"wrong": [str(failure)], "no_gpu": True}
    except Exception as failure:  # a trace may be damaged in any way
        result = {"wrong": [f"{type(failure).__name__}: {failure}"]}
    return {**result, "seconds": round(time.monotonic() - begin, 1)}


def dry_run(bundle, python):
    """Runs what can run without a GPU, and returns the exit status."""
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
    for program, arguments in (("gpu_work", ("launches", 1, place.scratch / "trace.json.gz")),
                               ("save_raw_buffers", (place.scratch / "raw.cupti",))):
        try:
            said = place.run_program(program, *arguments)
        except NoGpu as failure:
            said = failure
        print(f"{program}: up to CUDA's first call: {said}", flush=True)


def _dry_run_training(place):
    small = ("--device", "cpu", "--small")
    trace = place.scratch / "steps.json.gz"
    place.run_python("record_steps.py", trace, *small)
    operators = len(trace_facts.slices(trace_facts.load(trace), "cpu_op"))
    if operators == 0:
        raise Failed("record_steps.py recorded no operator")
    print(f"training: {operators} operators recorded on the CPU", flush=True)
    row = place.run_python("measure.py", "--model", "gpt", "--steps", "3", "--rounds", "1", *small)
    print(f"overhead: a loop of {row['steps']} steps was measured", flush=True)
    for claim in ("pin_memory", "fused_optimizer"):
        row = place.run_python("claims.py", claim, *small)[0]
        print(f"claims: {claim} {row['faster']:.2f} x on the CPU", flush=True)
    place.run([*tuning.command(place, "model", place.scratch / "study.db", 60, "--dry-run")])
    print(f"tune: the plan of a space of {tuning.grid_size()} configurations was made", flush=True)
    guide_figures = place.package.parent / "scripts/guide-figures"
    print(f"guide: {len(place.run([place.python, guide_figures, '--list']).split())} techniques", flush=True)
    shutil.rmtree(place.scratch / "inductor", ignore_errors=True)

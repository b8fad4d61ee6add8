"""Measures what one event of each source costs, by tight loops of almost no work under each observer.

The best of many short loops counts, less the best without an observer. Caches are warm here, so an event
costs more in a training loop. The difference between two rows is the cost of a source.
"""

import ctypes
import time

import torch
from places import BUILD

import redline

_ROUNDS = 30
_COUNT = 5000

_library = ctypes.CDLL(str(BUILD / "lib" / "libbare_observer.so"))


class BareObserver:
    """Observes all operators and does nothing, which shows what LibTorch itself takes for an observer."""

    def __init__(self, with_inputs=False):
        self._with_inputs = with_inputs

    def start(self):
        _library.redline_bench_observe(self._with_inputs)

    def stop(self):
        _library.redline_bench_observe_no_more()


def _call_python(count):
    def function():
        pass

    for _ in range(count):
        function()


# Title, work, number of events in one unit of work, options.
_SOURCES = (
    ("operator", _library.redline_bench_operators, 1, {}),
    ("operator with shapes", _library.redline_bench_operators, 1, {"record_shapes": True}),
    ("annotation", _library.redline_bench_annotations, 1, {}),
    ("allocation or release", _library.redline_bench_allocations, 2, {"profile_memory": True}),
    ("Python call (with_stack)", _call_python, 1, {"with_stack": True}),
)


def _observers(options):
    activities = [torch.profiler.ProfilerActivity.CPU]
    return {
        "bare observer": lambda: BareObserver(options.get("record_shapes", False)),
        "redline": lambda: redline.profile(activities=activities, **options),
        "torch.profiler": lambda: torch.profiler.profile(activities=activities, **options),
    }


def _nanoseconds(work):
    begin = time.perf_counter_ns()
    work(_COUNT)
    return (time.perf_counter_ns() - begin) / _COUNT


def _measure(work, events, options):
    plain, observed = [], {name: [] for name in _observers(options)}
    for _ in range(_ROUNDS):
        plain.append(_nanoseconds(work))
        for name, make in _observers(options).items():
            observer = make()
            observer.start()
            work(100)
            observed[name].append(_nanoseconds(work))
            observer.stop()
    return {name: (min(times) - min(plain)) / events for name, times in observed.items()}


def measure_sources():
    return {title: _measure(*source) for title, *source in _SOURCES}


def show_sources(sources):
    print(f"{'ns an event by source':32}{'torch.profiler':>16}{'redline':>12}{'ratio':>10}"
          f"{'bare observer':>16}")
    for title, ns in sources.items():
        ratio = f"1/{ns['torch.profiler'] / ns['redline']:.1f}" if ns["redline"] > 0 else "-"
        print(f"{title:32}{ns['torch.profiler']:>13.0f} ns{ns['redline']:>9.0f} ns{ratio:>10}"
              f"{ns['bare observer']:>13.0f} ns")

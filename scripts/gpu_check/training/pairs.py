"""Times two ways to do the same in turns, and tells how many times as fast the second is."""

import math
import statistics

PAIRS = 8
T_OF_95 = 2.365  # Student's t for PAIRS - 1


def interval(off, on):
    """The ratio off / on of paired times, by the mean of the logarithms, with its 95 % interval."""
    logs = [math.log(before / after) for before, after in zip(off, on)]
    half = T_OF_95 * statistics.stdev(logs) / math.sqrt(len(logs))
    middle = statistics.fmean(logs)
    return {"faster": math.exp(middle), "low": math.exp(middle - half), "high": math.exp(middle + half)}


def compare(time_off, time_on):
    """The milliseconds of both ways. They run one after the other, in an order that changes from pair to pair."""
    off, on = [], []
    for _ in range(2):  # compiles, tunes, fills caches
        time_off(), time_on()
    for pair in range(PAIRS):
        for row, measure in ((off, time_off), (on, time_on))[:: 1 if pair % 2 else -1]:
            row.append(measure())
    return {"off_ms": statistics.median(off), "on_ms": statistics.median(on), **interval(off, on)}

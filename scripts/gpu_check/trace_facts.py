"""Reads what a trace says about the GPU, and finds what is wrong with it. It needs only traces, neither torch nor a
GPU.

Traces of a million launches do not fit into memory as objects, so events are counted line by line. Redline writes one
event on each line.
"""

import collections
import gzip
import json
import statistics

CALLS = ("cuda_runtime", "cuda_driver")
LAUNCHES = ("cudaLaunchKernel", "cuLaunchKernel", "cudaGraphLaunch", "cuGraphLaunch")
WORK = ("kernel", "gpu_memcpy", "gpu_memset")
_MARKS = tuple(f'"cat": "{category}"'.encode() for category in (*CALLS, *WORK))
_SLACK_NS = 1000  # calls have time stamps of CUPTI, operators those of the recorder


def load(path):
    with gzip.open(path, "rb") as file:
        return json.load(file)


def slices(trace, *categories):
    return [event for event in trace["traceEvents"] if event.get("cat") in categories]


def begin_ns(event):
    """Converts "ts" to nanoseconds. A double is exact to the nanosecond, because times count from the trace's base
    time."""
    return round(event["ts"] * 1000)


def end_ns(event):
    return begin_ns(event) + round(event["dur"] * 1000)


def gpu_counts(path):
    """Counts the work and the calls in one of our traces."""
    work, streams, launches, copied = (collections.Counter() for _ in range(4))
    nodes, called, worked = set(), set(), set()
    lost = {}
    with gzip.open(path, "rb") as file:
        for line in file:
            if line.startswith(b'"redline"'):
                lost = json.loads(b"{" + line.strip().rstrip(b",") + b"}")["redline"].get("gpu", {})
            if not any(mark in line for mark in _MARKS):
                continue
            event = json.loads(line.strip().rstrip(b","))
            arguments = event["args"]
            if event["cat"] in CALLS:
                called.add(arguments["correlation"])
                work["launches"] += event["name"].startswith(LAUNCHES)
                continue
            work[event["cat"]] += 1
            worked.add(arguments["correlation"])
            if event["cat"] == "kernel":
                streams[event["tid"]] += 1
                launches[arguments["correlation"]] += 1
                nodes.add(arguments.get("graph node id"))
            else:
                copied[event["name"]] += arguments["bytes"]
    return {
        "kernels": work["kernel"],
        "launches": work["launches"],
        "kernels_of_a_launch": sorted(set(launches.values())),
        "launches_with_kernels": len(launches),
        "streams": {str(stream): count for stream, count in sorted(streams.items())},
        "graph_nodes": len(nodes - {None}),
        "bytes": dict(copied),
        "work_without_call": len(worked - called),
        "lost": lost,
    }


def lost_records(lost):
    """One line that says what was lost according to `redline.gpu` of a trace; "" if nothing was."""
    if "off" in lost or not lost:
        return lost.get("off", "the trace says nothing about GPUs")
    names = ("dropped", "buffers_refused", "unknown", "truncated", "incomplete", "other_clock",
             "graph_launches_without_work")
    told = [f"{lost[name]} {name}" for name in names if lost.get(name)]
    return ", ".join(filter(None, [*told, lost.get("failed_flush")]))


def wrong_counts(done, found):
    """Lines that say where `done`, the program's own counts, and `found`, of gpu_counts(), do not agree."""
    wrong = []

    def expect(what, expected, got):
        if expected != got:
            wrong.append(f"{what}: {got}, not {expected}")

    expect("lost", "", lost_records(found["lost"]))
    expect("work without its call", done.get("without_call", 0), found["work_without_call"])
    if "kernels" in done:
        expect("kernels", done["kernels"], found["kernels"])
    if "graph_launches" in done:
        expect("graph launches", done["graph_launches"], found["launches_with_kernels"])
        expect("kernels of each", [done["nodes"]], found["kernels_of_a_launch"])
        expect("graph nodes", done["nodes"], found["graph_nodes"])
    elif "kernels" in done:
        expect("launch calls", done["kernels"], found["launches"])
        expect("kernels of each", [1], found["kernels_of_a_launch"])
    if "streams" in done:
        expect("kernels by stream", [done["each"]] * done["streams"], list(found["streams"].values()))
    if "bytes" in done:
        expect("bytes", done["bytes"], found["bytes"])
    return wrong


def nesting(trace):
    """Whether each kernel has its call, and that call lies within the operator that both name."""
    calls = {event["args"]["correlation"]: event for event in slices(trace, *CALLS)}
    operators = {event["args"].get("External id"): event for event in slices(trace, "cpu_op")}
    found = {"kernels": 0, "with_call": 0, "with_operator": 0, "nested": 0, "begin_before_call": 0}
    wrong = []
    for kernel in slices(trace, "kernel"):
        found["kernels"] += 1
        call = calls.get(kernel["args"]["correlation"])
        operator = operators.get(kernel["args"].get("External id"))
        found["with_call"] += call is not None
        found["with_operator"] += operator is not None
        if call is None or operator is None:
            continue
        found["begin_before_call"] += begin_ns(kernel) < begin_ns(call)
        is_nested = (
            call["tid"] == operator["tid"]
            and begin_ns(operator) - _SLACK_NS <= begin_ns(call)
            and end_ns(call) <= end_ns(operator) + _SLACK_NS
        )
        found["nested"] += is_nested
        if not is_nested and len(wrong) < 5:
            wrong.append(f"{kernel['name'][:60]} is not within {operator['name']}")
    return found, wrong


def wrong_gpus(trace, uuids):
    """What is wrong in "deviceProperties", by the ids of the machine's GPUs (without any: nothing can be told)."""
    gpus = trace["deviceProperties"]
    wrong = [f"GPU {gpu['id']}: {gpu['uuid']} is no GPU of nvidia-smi" for gpu in gpus
             if uuids and gpu["uuid"].removeprefix("GPU-") not in uuids]
    return wrong if any(gpu["hasContext"] for gpu in gpus) else [*wrong, "no GPU has a context"]


def awaited_records(trace):
    """For each wait of a stream for an event, the call that recorded the event."""
    key = "wait_on_cuda_event_record_corr_id"
    return [event["args"][key] for event in slices(trace, "cuda_sync")
            if event["name"] == "Stream Wait Event" and key in event["args"]]


def clock_errors(done, trace):
    """Compares the kernels of the trace with the time stamps of the host, of events and of the GPU's timer. Events and
    timer have their own clocks, so only the times from one start to the next are compared with them."""
    base = int(trace["baseTimeNanoseconds"])
    kernels = sorted(slices(trace, "kernel"), key=begin_ns)
    if len(kernels) != len(done["before_ns"]):
        raise ValueError(f"{len(kernels)} kernels, not {len(done['before_ns'])}")
    starts = [base + begin_ns(kernel) for kernel in kernels]
    ends = [base + end_ns(kernel) for kernel in kernels]
    early = [before - start for before, start in zip(done["before_ns"], starts)]
    late = [end - after for after, end in zip(done["after_ns"], ends)]
    return {
        "kernels": len(kernels),
        "before_the_host_ns": max(0, *early),
        "after_the_host_ns": max(0, *late),
        "outside_the_host": sum(value > 0 for value in (*early, *late)),
        "events": start_to_start([ms * 1e6 for ms in done["events_ms"]], starts),
        "gpu_timer": start_to_start(done["timer_ns"], starts),
    }


def start_to_start(stamps_ns, starts_ns):
    """Errors in ns of the time from each start to the next."""
    errors = sorted(
        abs((starts_ns[i] - starts_ns[i - 1]) - (stamps_ns[i] - stamps_ns[i - 1]))
        for i in range(1, len(starts_ns))
    )
    return {
        "median_ns": statistics.median(errors),
        "p99_ns": errors[int(0.99 * (len(errors) - 1))],
        "most_ns": errors[-1],
    }


_OF_A_KERNEL = ("grid", "block", "registers per thread", "shared memory", "blocks per SM", "warps per SM")


def work_by_operator(trace):
    """How often each operator launched each kernel, copy and memset, with what the trace says of it."""
    operators = {event["args"].get("External id"): event["name"] for event in slices(trace, "cpu_op")}
    counts = collections.Counter()
    for event in slices(trace, *WORK):
        arguments = event["args"]
        facts = [f"{key} {arguments[key]}" for key in (*_OF_A_KERNEL, "bytes") if key in arguments]
        counts[(operators.get(arguments.get("External id"), "no operator"), event["name"], *facts)] += 1
    return counts


def nanoseconds_by_kernel(trace):
    """The sum of the durations of the kernels of each name."""
    times = collections.Counter()
    for event in slices(trace, "kernel"):
        times[event["name"]] += end_ns(event) - begin_ns(event)
    return times


def beside_the_peer(ours, theirs):
    """Compares traces of the same steps by Redline and by torch.profiler. The same work must be in both, launched by
    the same operators; times are another run's, so they are only reported."""
    mine, peers = work_by_operator(ours), work_by_operator(theirs)
    wrong = [f"{count} of ({', '.join(work)[:160]}) only in {whose}"
             for whose, more in (("redline's", mine - peers), ("torch.profiler's", peers - mine))
             for work, count in more.most_common(5)]
    wrong += [] if mine or peers else ["no work in either trace"]
    times, peer_times = nanoseconds_by_kernel(ours), nanoseconds_by_kernel(theirs)
    ratios = sorted(times[name] / peer_times[name] for name in times.keys() & peer_times.keys() if peer_times[name])
    calls, peer_calls = (collections.Counter(event["name"] for event in slices(trace, *CALLS))
                         for trace in (ours, theirs))
    found = {
        "work": mine.total(), "work_of_peer": peers.total(), "kinds_of_work": len(mine),
        "kernel_ns": times.total(), "kernel_ns_of_peer": peer_times.total(),
        "ratio_by_name": [ratios[0], statistics.median(ratios), ratios[-1]] if ratios else None,
        "calls_only_here": dict(calls - peer_calls), "calls_only_there": dict(peer_calls - calls),
    }
    return found, wrong

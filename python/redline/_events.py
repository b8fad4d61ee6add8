"""Makes torch's EventList from our trace, so that events() of a window are what torch.profiler gives.

The tables are therefore the same to the letter where no GPU is recorded. There are three differences: memory is counted
for the operators of the thread that allocated it, stacks need with_stack only, and neither what GPUs do nor the calls
of their driver are events, so operators have no GPU time.
"""

import ast
import bisect
import collections
import itertools
import json

from torch.autograd.profiler_util import EventList, FunctionEvent, _filter_stack_entry

_OPERATORS = ("cpu_op", "user_annotation")
_LEFT_OUT = (
    "profiler::_record_function_enter", "profiler::_record_function_enter_new",
    "profiler::_record_function_exit", "aten::is_leaf", "aten::output_nr", "aten::_version",
)
# at::RecordScope
_FUNCTION, _BACKWARD_FUNCTION, _USER_SCOPE = 0, 1, 7


def load_trace(path):
    """Reads a trace. Numbers with a fraction stay text, because a float would lose their nanoseconds."""
    with open(path, "rb") as file:
        return json.loads(file.read(), parse_float=str)


def event_list(trace, *, profile_memory, with_flops):
    """All operators of a trace from load_trace(), ordered by begin."""
    events = trace["traceEvents"]
    window = next(event for event in events if event.get("cat") == "Trace" and event["ph"] == "X")
    memory = _Memory(events)
    stacks = _Stacks(events)
    threads = _forward_threads(events)
    listed = EventList(use_device=None, profile_memory=profile_memory, with_flops=with_flops)
    begin_of_window = _nanoseconds(window["ts"])
    for event in events:
        if _is_operator(event):
            listed.append(_function_event(event, begin_of_window, memory, stacks, threads))
    listed.extend(memory.outside_of_operators(begin_of_window))
    listed.sort(key=lambda event: (event.time_range.start, -event.time_range.end))
    listed._build_tree()
    return listed


def no_events():
    """The list of a profile that has no complete window yet."""
    listed = EventList(use_device=None)
    listed._build_tree()
    return listed


def _is_operator(event):
    """NVTX ranges have no "External id", and are left out, because torch.profiler does not know them."""
    return (
        event.get("cat") in _OPERATORS
        and event["name"] not in _LEFT_OUT
        and "External id" in event["args"]
    )


def _function_event(event, begin_of_window, memory, stacks, threads):
    begin, end = _times(event)
    arguments = event["args"]
    of_cpu, of_device = memory.change(event["tid"], begin, end)
    name, forward = event["name"], int(arguments.get("Fwd thread id", 0))
    return FunctionEvent(
        id=int(arguments["External id"]),
        name="ProfilerStep*" if name.startswith("ProfilerStep#") else name,
        trace_name=name,
        thread=event["tid"],
        fwd_thread=threads.get(forward, forward),
        start_us=(begin - begin_of_window) / 1000,
        end_us=(end - begin_of_window) / 1000,
        input_shapes=_shapes(arguments),
        concrete_inputs=[_value(text) for text in arguments.get("Concrete Inputs", [])],
        kwinputs={},
        stack=stacks.around(event["tid"], begin, end),
        scope=_scope(event, forward),
        sequence_nr=int(arguments.get("Sequence number", -1)),
        cpu_memory_usage=of_cpu,
        device_memory_usage=of_device,
        flops=int(arguments.get("flops", 0)),
        is_user_annotation=event["cat"] == "user_annotation",
    )


def _scope(event, forward_thread):
    if event["cat"] == "user_annotation":
        return _USER_SCOPE
    name = event["name"]
    if name.startswith("autograd::engine::evaluate_function"):
        return _FUNCTION
    is_backward = forward_thread > 0 or name == "torch::autograd::AccumulateGrad"
    return _BACKWARD_FUNCTION if is_backward else _FUNCTION


def _shapes(arguments):
    """The input shapes; empty for a list of tensors, as in torch.profiler."""
    pairs = zip(arguments.get("Input Dims", []), arguments.get("Input type", []))
    return [[] if type_name == "TensorList" else dims for dims, type_name in pairs]


def _value(text):
    """The value of a concrete input."""
    if not text:
        return None
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        pass
    try:
        return float(text)  # inf, nan
    except ValueError:
        return text


def _nanoseconds(microseconds):
    """Converts a time in microseconds, which our writer always gives with three decimals."""
    return int(microseconds.replace(".", ""))


def _times(event):
    begin = _nanoseconds(event["ts"])
    return begin, begin + _nanoseconds(event["dur"])


def _forward_threads(events):
    """Thread ids of the threads that ran forward operators, by LibTorch's numbers for them. An arrow of the trace
    begins on such a thread and ends at a backward operator, whose arguments have the number."""
    number_at = {
        (event["tid"], event["ts"]): int(event["args"]["Fwd thread id"])
        for event in events
        if event.get("cat") == "cpu_op" and int(event["args"].get("Fwd thread id", 0)) > 0
    }
    begins = {event["id"]: event["tid"] for event in events if event["ph"] == "s"}
    ends = (event for event in events if event["ph"] == "f")
    return {
        number_at[event["tid"], event["ts"]]: begins[event["id"]]
        for event in ends
        if (event["tid"], event["ts"]) in number_at and event["id"] in begins
    }


class _Memory:
    """Memory events by thread, in order of time, with running sums."""

    def __init__(self, events):
        self._events = collections.defaultdict(list)
        for event in events:
            if event["name"] in ("[memory]", "[OutOfMemory]"):
                self._events[event["tid"]].append((_nanoseconds(event["ts"]), event))
        self._times, self._sums, self._is_inside = {}, {}, {}
        for thread, of_thread in self._events.items():
            of_thread.sort(key=lambda entry: entry[0])
            self._times[thread] = [time for time, _ in of_thread]
            self._is_inside[thread] = [0] * (len(of_thread) + 1)
            self._sums[thread] = [
                [0, *itertools.accumulate(_bytes(event, on_cpu) for _, event in of_thread)]
                for on_cpu in (True, False)
            ]

    def change(self, thread, begin, end):
        """By how many bytes this thread's allocations on the CPU and on devices grew between `begin` and `end`."""
        times = self._times.get(thread, ())
        first, last = bisect.bisect_left(times, begin), bisect.bisect_right(times, end)
        if first == last:
            return 0, 0
        self._is_inside[thread][first] += 1
        self._is_inside[thread][last] -= 1
        of_cpu, of_device = self._sums[thread]
        return of_cpu[last] - of_cpu[first], of_device[last] - of_device[first]

    def outside_of_operators(self, begin_of_window):
        """Makes an event of each allocation or release that lies in no interval given to change(), and of each
        allocation that failed."""
        for thread, of_thread in self._events.items():
            depths = itertools.accumulate(self._is_inside[thread])
            for (time, event), depth in zip(of_thread, depths):
                if depth > 0 and event["name"] == "[memory]":
                    continue
                at_us = (time - begin_of_window) / 1000
                yield FunctionEvent(
                    id=0, name=event["name"], thread=thread, fwd_thread=thread, start_us=at_us,
                    end_us=at_us, input_shapes=[], stack=[],
                    cpu_memory_usage=event["args"]["Bytes"] if _is_of_cpu(event) else 0,
                    device_memory_usage=0 if _is_of_cpu(event) else event["args"]["Bytes"],
                )


def _is_of_cpu(event):
    return event["args"]["Device Type"] == 0


def _bytes(event, on_cpu):
    counts = event["name"] == "[memory]" and _is_of_cpu(event) == on_cpu
    return event["args"]["Bytes"] if counts else 0


class _Stacks:
    """The Python functions around an operator, innermost first, as torch.profiler lists them."""

    def __init__(self, events):
        self._functions = collections.defaultdict(list)
        for event in events:
            if event.get("cat") == "python_function":
                self._functions[event["tid"]].append((*_times(event), event["name"]))
        self._begins, self._parents = {}, {}
        for thread, functions in self._functions.items():
            functions.sort(key=lambda function: (function[0], -function[1]))
            self._begins[thread] = [begin for begin, _, _ in functions]
            self._parents[thread] = _parents(functions)

    def around(self, thread, begin, end):
        functions = self._functions.get(thread)
        if not functions:
            return []
        index = bisect.bisect_right(self._begins[thread], begin) - 1
        names = []
        while index is not None and index >= 0:
            _, end_of_function, name = functions[index]
            if end_of_function >= end and _filter_stack_entry(name):
                names.append(name)
            index = self._parents[thread][index]
        return names


def _parents(functions):
    """The index of the function around each, None for the outermost; `functions` are sorted."""
    parents, open_functions = [], []
    for index, (begin, _, _) in enumerate(functions):
        while open_functions and functions[open_functions[-1]][1] <= begin:
            open_functions.pop()
        parents.append(open_functions[-1] if open_functions else None)
        open_functions.append(index)
    return parents

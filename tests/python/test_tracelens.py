"""Operations, times and rates by operator and shape beside those of TraceLens 1.0, on traces of H100 and MI300X.

Where the two count differently on purpose, `as_we_count` says how; docs/analysis.md says why.
"""

import ast
import collections
import csv
import gzip
import json
import pathlib

import pytest

ORACLES = pathlib.Path(__file__).resolve().parents[3] / "shared" / "oracles" / "tracelens"
NAMES = sorted(path.name for path in ORACLES.glob("*"))
# Of operators inside each other TraceLens and we take different ones: ours, and its number of inputs.
OUR_NAMES = {
    "aten::layer_norm": ("aten::native_layer_norm", 5),
    "aten::batch_norm": ("aten::native_batch_norm", 8),
    "aten::clamp_min_": ("aten::relu_", 1),
}
LAUNCHES = ("cuda_runtime", "cuda_driver")
Sums = collections.namedtuple("Sums", "count flops device_ns")

csv.field_size_limit(1 << 24)
pytestmark = pytest.mark.skipif(not NAMES, reason=f"no figures of TraceLens in {ORACLES}")


@pytest.fixture(scope="module", params=NAMES)
def name(request):
    return request.param


@pytest.fixture
def ours(name, shared, succeed, program):
    trace = shared / "traces" / f"{name}.pt.trace.json.gz"
    done = succeed([program("redline"), "report", "--format", "json", trace])
    return json.loads(done.stdout)["traces"][0]


def as_lists(value):
    return [as_lists(each) for each in value] if isinstance(value, (list, tuple)) else value


def product(sizes):
    result = 1
    for size in sizes:
        result *= size
    return result


def as_we_count(row, flops):
    """TraceLens' operations of one call, counted our way."""
    sizes, values = ast.literal_eval(row["Input Dims"]), ast.literal_eval(row["Concrete Inputs"])
    if row["name"] == "aten::copy_":
        return 0  # an operation for each element that is copied
    if row["name"] == "aten::addmm":
        return flops - sizes[1][0] * sizes[2][1]  # the sum with the bias, which flop_counter leaves out
    if row["name"] == "aten::_scaled_dot_product_flash_attention" and values[4] == "True":
        return 2 * flops  # half of the causal scores
    if row["name"] == "aten::convolution_backward" and values[10].startswith("[False"):
        return flops / 2  # both gradients, though only that of the weights was asked for
    return flops


def theirs_by_shape(name):
    """By name, sizes and types: calls, operations of all calls, time in kernels and copies."""
    found = collections.defaultdict(lambda: [0, 0, 0])
    with (ORACLES / name / "unified_perf_summary.csv").open() as file:
        for row in csv.DictReader(file):
            if row["has_perf_model"] != "True":
                continue
            sizes, types = as_lists(ast.literal_eval(row["Input Dims"])), ast.literal_eval(row["Input type"])
            our_name, inputs = OUR_NAMES.get(row["name"], (row["name"], len(sizes)))
            key = our_name, json.dumps(sizes[:inputs]), json.dumps(types[:inputs])
            count = int(row["operation_count"])
            found[key][0] += count
            found[key][1] += count * as_we_count(row, float(row["GFLOPS"]) * 1e9)
            found[key][2] += float(row["Kernel Time (µs)_sum"]) * 1000
    return {key: Sums(*sums) for key, sums in found.items()}


def ours_by_shape(trace, left_out):
    found = collections.defaultdict(lambda: [0, 0, 0])
    for row in trace["operators_by_shape"]:
        key = row["name"], json.dumps(row["input_dims"]), json.dumps(row["input_types"])
        found[key][0] += row["count"]
        found[key][1] += row["count"] * (row["flops"] or 0)
        found[key][2] += sum(each["total_ns"] for each in row["kernels"] if each["name"] not in left_out)
    return {key: Sums(*sums) for key, sums in found.items()}


def test_operations_and_rates_of_what_both_model(name, ours):
    # Of AMD's GPUs TraceLens leaves out memsets inside operators.
    found = ours_by_shape(ours, {"Memset (Device)"} if "mi300x" in name else set())
    theirs = theirs_by_shape(name)
    assert len(theirs) >= 5
    for key, expected in theirs.items():
        assert key in found, key
        assert found[key].count == expected.count, key
        assert found[key].flops == pytest.approx(expected.flops, rel=0.01), key
        assert found[key].device_ns == pytest.approx(expected.device_ns, rel=0.01), key


def without_launch_ns(path):
    """The computation whose launch is not in the trace, of which TraceLens knows nothing."""
    with gzip.open(path) as file:
        events = json.load(file)["traceEvents"]
    launches = {event["args"].get("correlation") for event in events if event.get("cat") in LAUNCHES}
    return 1000 * sum(event["dur"] for event in events
                      if event.get("cat") == "kernel" and "nccl" not in event["name"].lower()
               and event["args"].get("correlation") not in launches)


def test_time_in_kernels(name, ours, shared):
    times = collections.Counter()
    with (ORACLES / name / "gpu_timeline.csv").open() as file:
        for row in csv.DictReader(file):
            times[row["type"]] += float(row["time ms"]) * 1e6
    left_out = without_launch_ns(shared / "traces" / f"{name}.pt.trace.json.gz")
    assert ours["gpus"][0]["compute_ns"] == pytest.approx(times["computation_time"] + left_out, rel=0.01)

"""What the recorder's tests share: importing the package, and reading a trace as strict JSON."""

import collections
import gzip
import json
import os
import sys
import zlib

from conftest import BUILD, ROOT, need, stub

# The name of a range, for "SingleProcess" or "MultiProcessing".
FETCH = "enumerate(DataLoader)#_{}DataLoaderIter.__next__".format

CURE = "build it with `cmake --build --preset release`"


def inflate(path):
    """The text of a gzip file that may lack its end."""
    return zlib.decompressobj(wbits=31).decompress(path.read_bytes()).decode()


def built_libraries():
    """The environment in which the package takes the libraries of the tested build."""
    names = {"REDLINE_LIBRARY": "libredline.so", "REDLINE_TORCH_LIBRARY": "libredline_torch.so"}
    return {variable: str(need(BUILD / "lib" / name, CURE)) for variable, name in names.items()}


def stubbed_environment():
    """The environment in which Python has the package of this source tree, and stubs as the GPU's driver and CUPTI."""
    stubs = f"{stub('libcuda.so.1')}:{stub('libcupti.so.13')}"
    return {"LD_PRELOAD": stubs, "PYTHONPATH": str(ROOT / "python"), **built_libraries()}


def import_redline():
    """Imports the package of this source tree with the libraries of the tested build."""
    os.environ.update(built_libraries())
    if str(ROOT / "python") not in sys.path:
        sys.path.insert(0, str(ROOT / "python"))
    import redline

    return redline


def load(path):
    """Reads a trace as strict JSON: without NaN, and no key twice in the outermost object."""
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rb") as file:
        return json.loads(file.read().decode("utf-8"), parse_constant=refuse)


def refuse(constant):
    raise ValueError(f"{constant} is not JSON")


def traces(folder):
    """All traces of a folder, sorted by rank if they have one."""
    loaded = [load(path) for path in sorted(folder.glob("*.pt.trace.json.gz"))]
    return sorted(loaded, key=lambda trace: trace.get("distributedInfo", {}).get("rank", 0))


def slices(trace, category=None):
    """The duration events of one category, or of all."""
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    return [event for event in events if category in (None, event["cat"])]


def names(trace, category):
    return collections.Counter(event["name"] for event in slices(trace, category))


def step_numbers(trace):
    """The n of all ProfilerStep#n, in order of time."""
    steps = [event for event in slices(trace) if event["name"].startswith("ProfilerStep#")]
    steps.sort(key=lambda event: event["ts"])
    return [int(event["name"].partition("#")[2]) for event in steps]


# A process that computes something itself and starts two ranks that train six steps.
SPAWNED_RANKS = """
import os, torch, torch.distributed as dist
def train(rank):
    store = dist.FileStore("store", 2)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(6):
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
    dist.destroy_process_group()
if __name__ == "__main__":
    torch.ones(3).sum()
    torch.multiprocessing.spawn(train, nprocs=2)
"""


def without_speed(stdout):
    """The sample's output without the only figure that differs from run to run."""
    return stdout.partition("samples/s")[0]

"""What a trial reports about the memory of its GPUs, with made-up figures of torch's allocator."""

import json

GIB = 1 << 30
REPORT = """
import json, sys, torch
from redline._device_memory import DeviceMemory

def report(reserved, capacity, allocated=None, retries=None):
    asked = []

    def mem_get_info(device=None):
        asked.append(device)
        return 0, capacity[device]

    torch.cuda.device_count = lambda: len(reserved)
    torch.cuda.mem_get_info = mem_get_info
    held = allocated or [[0] * len(reserved)] * len(retries or [0])
    memory, said = DeviceMemory(), []
    for check, count in zip(held, retries or [0] * len(held), strict=True):
        torch.cuda.memory_stats = lambda device: {
            "reserved_bytes.all.peak": reserved[device], "num_alloc_retries": count,
            "allocated_bytes.all.current": check[device]}
        said.append(memory.thrashing())
    return [memory.fields(), said if retries else asked]

torch.cuda.is_available = torch.cuda.is_initialized = lambda: True
torch.cuda.current_device = lambda: 0
print(json.dumps([report(*case) for case in json.loads(sys.argv[1])]))
"""


def test_the_fullest_gpu_of_those_in_use_counts(succeed, python, repo_root):
    """Each case has the bytes that the process's allocator holds of each GPU, and what each GPU has."""
    cases = [[[10 * GIB, 30 * GIB, 0, 20 * GIB], [80 * GIB, 80 * GIB, 80 * GIB, 24 * GIB]],
             [[0, 5 * GIB], [80 * GIB, 80 * GIB]], [[0, 0], [80 * GIB, 80 * GIB]]]
    done = succeed([python, "-c", REPORT, json.dumps(cases)],
                   environment={"PYTHONPATH": str(repo_root / "python")})
    (spread, asked), (second, _), (empty, asked_first) = json.loads(done.stdout)
    assert (spread["memory"], spread["capacity"]) == (20 * GIB, 24 * GIB)
    assert (spread["device"], spread["devices"]) == (3, 3)
    assert asked == [0, 1, 3], "a question would begin a context on a GPU that the job does not use"
    assert (second["memory"], second["device"], second["devices"]) == (5 * GIB, 1, 1)
    assert (empty["memory"], empty["capacity"], empty["device"]) == (0, 80 * GIB, 0)
    assert asked_first == [0]


def test_what_is_held_between_steps_is_the_least_that_a_check_saw(succeed, python, repo_root):
    """On the fullest GPU alone."""
    cases = [[[10 * GIB, 30 * GIB], [80 * GIB, 80 * GIB], [[GIB, 9 * GIB], [0, 3 * GIB], [0, 5 * GIB]]]]
    done = succeed([python, "-c", REPORT, json.dumps(cases)],
                   environment={"PYTHONPATH": str(repo_root / "python")})
    ((sent, _),) = json.loads(done.stdout)
    assert (sent["device"], sent["memory"], sent["resting"]) == (1, 30 * GIB, 3 * GIB)


def test_an_allocator_that_flushes_from_check_to_check_thrashes(succeed, python, repo_root):
    """By its count of retries, which it never sets back. Once may be a warm-up."""
    cases = [[[GIB], [2 * GIB], None, retries] for retries in ([0, 7, 7, 8], [0, 7, 8, 9])]
    done = succeed([python, "-c", REPORT, json.dumps(cases)], environment={"PYTHONPATH": str(repo_root / "python")})
    (_, now_and_then), (_, each_time) = json.loads(done.stdout)
    assert now_and_then == [None] * 4
    assert each_time == [None, None, *(f"the allocator flushed its cache {count} times" for count in (8, 9))]


LIMIT = """
import json, types, torch
from redline._knobs import _limit_device_memory

def limit(moves):
    state = {"current": 1, "fractions": [], "set": []}

    def fraction(share, device):
        state["fractions"].append([device, share])
        state["current"] = device if moves else state["current"]

    def set_device(device):
        state["set"].append(device)
        state["current"] = device

    torch.cuda.device_count = lambda: 4
    torch.cuda.current_device = lambda: state["current"]
    torch.cuda.set_device = set_device
    torch.cuda.get_device_properties = lambda device: types.SimpleNamespace(total_memory=80)
    torch.cuda.set_per_process_memory_fraction = fraction
    _limit_device_memory(20)
    return state

print(json.dumps([limit(moves) for moves in (True, False)]))
"""


def test_a_memory_limit_leaves_the_current_gpu(succeed, python, repo_root):
    """In older torch, setting the fraction of a GPU makes it the current one."""
    done = succeed([python, "-c", LIMIT], environment={"PYTHONPATH": str(repo_root / "python")})
    older, newer = json.loads(done.stdout)
    for state in (older, newer):
        assert state["current"] == 1
        assert state["fractions"] == [[device, 0.25] for device in range(4)]
    assert newer["set"] == [], "this would begin a context"

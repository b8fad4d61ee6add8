"""The recorder promises that a job ends as without it, leaves what was recorded, and pays nothing afterwards."""

import signal
import subprocess
import sys

import pytest
from conftest import ROOT
from knob_runs import run_with_knobs
from recording import inflate, load, names

pytestmark = pytest.mark.usefixtures("no_process_left")


@pytest.mark.parametrize(
    "end", ["return", "exit", "quick_exit", "abort", "throw", "SIGTERM", "SIGSEGV", "_exit", "SIGINT"]
)
def test_a_program_ends_as_ever_and_its_trace_is_readable(run, program, tmp_path, end):
    plain = run([program("fault_endings"), end])
    recorded = run([program("fault_endings"), end, tmp_path])
    assert recorded.returncode == plain.returncode
    assert recorded.stderr == plain.stderr
    (path,) = tmp_path.iterdir()
    if end == "_exit":  # no handler sees this end, so only what had reached the disk is left
        assert path.name.endswith(".partial")
        assert inflate(path).count('"work"') > 0
    else:
        assert names(load(path), "user_annotation") == {"work": 1000}


FORKS = """
import os, sys, torch
from torch.utils.data import DataLoader

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def train():
    for batch in DataLoader(torch.randn(64, 4), batch_size=4):
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()

if "profile" in sys.argv:
    import redline
    with redline.profile():
        train()
else:
    train()
child = os.fork()
if child == 0:
    os._exit(torch.cuda._is_in_bad_fork())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.parametrize("how", ["profile", "record", "log", "trial"])
def test_a_child_that_the_job_forks_may_use_cuda(succeed, program, python, tmp_path, monkeypatch, how):
    """torch refuses CUDA to a forked child if its parent has asked for GPUs, even if only for their number."""
    (tmp_path / "forks.py").write_text(FORKS)
    job = [python, tmp_path / "forks.py", how]
    if how == "trial":
        monkeypatch.setenv("REDLINE_MEMORY_LIMIT", "1000000000")
        run_with_knobs(python, ROOT / "python/redline/startup", tmp_path, {}, job[1:], trial=True, check=True)
    else:
        redline = {"record": ["record", "-o", tmp_path / "traces", "--"], "log": ["run", "--log", tmp_path, "--"]}
        command = [program("redline"), *redline[how], *job] if how in redline else job
        succeed(command, environment={"PYTHONPATH": str(ROOT / "python")})


PACED = """
import glob, os, random, time, torch

optimizer = torch.optim.SGD(torch.nn.Linear(2, 2).parameters(), lr=0.1)
begin = time.monotonic()
for step in range(40):
    for _ in range(3000):
        with torch.profiler.record_function("%0128x" % random.getrandbits(512)):
            pass
    optimizer.step()
size = sum(map(os.path.getsize, glob.glob("traces/*.partial")))
print(size, time.monotonic() - begin, flush=True)
input()
"""


def test_a_write_rate_bounds_the_file_while_it_grows_and_keeps_every_event(start, program, python, tmp_path):
    """The trace has some 10 MB. At 64 kB a second it would take two minutes and a half, for which SIGTERM must not
    wait."""
    (tmp_path / "paced.py").write_text(PACED)
    command = [program("redline"), "record", "-o", "traces", "--schedule", "wait=0,warmup=0,active=1000000",
               "--max-write-rate", "64kB", "--memory-budget", "256MB", "--", python, "paced.py"]
    with start(command, stdin=subprocess.PIPE, cwd=tmp_path) as process:
        size, seconds = map(float, process.stdout.readline().split())
        assert 0 < size <= 65_536 * (seconds + 1)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    (path,) = (tmp_path / "traces").glob("*.json.gz")
    assert path.stat().st_size > 8_000_000
    trace = load(path)
    assert trace["redline"]["dropped"] == 0
    assert sum(event.get("cat") == "user_annotation" and len(event["name"]) == 128
               for event in trace["traceEvents"]) == 120_000


CLOSES = """
import contextlib, fcntl, os, signal, sys, torch

optimizer = torch.optim.SGD(torch.nn.Linear(2, 2).parameters(), lr=0.1)
for step in range(12):
    optimizer.step()
for number in range(3, 256):  # as in a child that knows no fork handlers, so that no thread sees a pipe end
    with contextlib.suppress(OSError):
        fcntl.fcntl(number, fcntl.F_DUPFD, 300)
os.closerange(3, 256)
files = [open(f"{sys.argv[1]}/model{number}", "w+b", buffering=0) for number in range(253)]
print("closed", flush=True)
os.kill(os.getpid(), signal.SIGTERM)
signal.pause()
"""


def test_a_job_that_closes_what_it_did_not_open_ends_by_sigterm(start, program, python, tmp_path):
    job = [python, "-c", CLOSES, tmp_path]
    with start([program("redline"), "record", "-o", tmp_path / "traces", "--", *job]) as process:
        assert process.stdout.readline() == "closed\n"
        assert process.wait(60) == 128 + signal.SIGTERM
    models = list(tmp_path.glob("model*"))
    assert len(models) == 253
    assert {model.read_bytes() for model in models} == {b""}


def test_a_signal_handler_that_ends_the_program_within_a_call_of_the_recorder_does_not_wait(run, program, tmp_path):
    """exit() runs the recorder's exit handler on the thread of that call."""
    done = run([program("fault_endings"), "exit in a call", tmp_path])
    assert done.returncode == 7
    assert done.stderr == "redline: recording is off: this thread is within another call of the recorder\n"
    (path,) = tmp_path.iterdir()
    assert path.name.endswith(".partial")
    assert inflate(path).count('"work"') > 0


def test_killed_jobs_leave_readable_traces(succeed, library):
    done = succeed([sys.executable, ROOT / "tests/fault/kill_nine.py", library("libredline.so"),
                    "--kills", "10"])
    assert done.stdout.startswith("10 kills: ")


def test_a_thousand_windows_leave_no_memory_and_no_file_behind(ctypes_job):
    done, folder = ctypes_job("""
def resident():
    (line,) = [line for line in open("/proc/self/smaps_rollup") if line.startswith("Rss:")]
    return int(line.split()[1])  # in KiB; statm only has it approximately
def window(number):
    begin()
    record(20, b"name %d" % number)
    call("redline_stop")
    if number % 10 == 0:  # each is synchronised to the disk
        call("redline_export", (folder + "/%d.json.gz" % number).encode())
for number in range(1101):
    window(number)
    if number == 100:  # exported: the writer thread has closed its file
        before, files = resident(), len(os.listdir("/proc/self/fd"))
assert len(os.listdir("/proc/self/fd")) == files
print(resident() - before)
window(1101)
""")
    assert int(done.stdout) < 1024  # KiB
    assert len(list(folder.iterdir())) == 112  # exit() completes the last window
    for path in folder.iterdir():
        (count,) = names(load(path), "user_annotation").values()
        assert count == 20


LIMITS = {
    "no file is left": ("resource.RLIMIT_NOFILE", "len(os.listdir('/proc/self/fd'))"),
    "no memory is left": ("resource.RLIMIT_AS", "8 << 20"),
}


@pytest.mark.parametrize("what", LIMITS)
def test_a_job_without_resources_goes_on_without_its_trace(ctypes_job, what):
    limit, value = LIMITS[what]
    done, _ = ctypes_job(f"""
library.redline_version()
resource.setrlimit({limit}, ({value}, resource.getrlimit({limit})[1]))
prepared = library.redline_prepare(b'{{"directory": "%s", "host_samples_hz": 0}}' % folder.encode())
started = library.redline_start()
record(200000)
library.redline_stop()
exported = library.redline_export((folder + "/trace.json").encode())
assert exported == -1, (prepared, started)
assert library.redline_last_error()
print("the job goes on")
""")
    assert done.stdout == "the job goes on\n"


def test_programs_that_a_recorded_job_starts_know_nothing_of_it(ctypes_job):
    ctypes_job("""
import subprocess
begin()
call("redline_listen", None, 1)
record()
files = subprocess.run(["ls", "/proc/self/fd"], capture_output=True, text=True).stdout.split()
assert len(files) == 4, files  # the standard ones, and the folder that ls reads
child = os.posix_spawn("/bin/true", ["true"], {})
assert os.waitpid(child, 0)[1] == 0
call("redline_stop")
""")

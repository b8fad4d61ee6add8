"""A job must not notice the recorder, even if it ends badly, forks, or has no disk.

Each job is a small Python program without torch that calls libredline.so through ctypes, so that a test takes a
fraction of a second.
"""

import json
import os
import signal
import tempfile

import pytest
from recording import inflate, load


def ranges(trace):
    return [event for event in trace["traceEvents"] if event.get("cat") == "user_annotation"]


@pytest.mark.parametrize("ending", ["sys.exit(3)", "raise SystemExit(3)", "exit(3)"])
def test_exit_in_a_window_completes_the_file(ctypes_job, ending):
    done, folder = ctypes_job(f"begin()\nrecord()\n{ending}\n", check=False)
    assert done.returncode == 3, done.stderr
    (path,) = folder.iterdir()
    assert path.name.endswith(".pt.trace.json.gz")
    assert len(ranges(load(path))) == 1000


@pytest.mark.parametrize(
    "ending, status",
    [
        ("os._exit(4)", 4),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("os.abort()", -signal.SIGABRT),
        ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
    ],
)
def test_sudden_death_leaves_a_readable_partial_file(ctypes_job, ending, status):
    done, folder = ctypes_job(f"begin()\nrecord(5000)\nwait_for_partial(10000)\n{ending}\n", check=False)
    assert done.returncode == status, done.stderr
    (path,) = folder.iterdir()
    assert path.name.endswith(".pt.trace.json.gz.partial")
    text = inflate(path)
    whole_events = text[: text.rindex("\n")].rstrip(",")
    assert len(json.loads(whole_events + "]}")["traceEvents"]) >= 1000


def test_a_window_that_nobody_wants_leaves_nothing(ctypes_job):
    _, folder = ctypes_job("call('redline_prepare', b'{\"directory\": \"%s\"}' % folder.encode())\n")
    assert list(folder.iterdir()) == []


def test_a_forked_child_is_silent(ctypes_job):
    _, folder = ctypes_job(
        """
begin()
record(500)
child = os.fork()
if child == 0:
    record(500, b"in the child")
    assert library.redline_stop() == -1
    assert library.redline_prepare(None) == -1
    assert b"forked" in library.redline_last_error()
    sys.exit(7)  # runs the exit handlers
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
record(500)
sys.exit(0)
"""
    )
    (path,) = folder.iterdir()
    trace = load(path)
    assert {event["name"] for event in ranges(trace)} == {"work"}
    assert len(ranges(trace)) == 1000


def test_the_file_size_limit_ends_the_recording_and_not_the_job(ctypes_job):
    done, folder = ctypes_job(
        """
limit_file_size(20000)
begin()
for number in range(40000):
    record(1, b"name %d" % number)
call("redline_stop")
assert library.redline_export((folder + "/trace.json.gz").encode()) == -1
print(library.redline_last_error().decode())
print("the job goes on")
"""
    )
    assert "File too large" in done.stdout
    assert done.stdout.endswith("the job goes on\n")
    assert [path.name.rpartition(".")[2] for path in folder.iterdir()] == ["partial"]


def test_what_is_discarded_leaves_nothing_although_the_disk_was_full(ctypes_job):
    _, folder = ctypes_job(
        """
limit_file_size(20000)
begin()
number = 0
while not any(entry.stat().st_size == 20000 for entry in os.scandir(folder)):
    record(1, b"name %d" % number)
    number += 1
call("redline_discard")
"""
    )
    assert list(folder.iterdir()) == []


def test_without_a_temporary_folder_a_window_is_recorded(ctypes_job):
    _, folder = ctypes_job(
        """
os.environ["TMPDIR"] = "/nonexistent"
call("redline_prepare", b"{}")
call("redline_start")
record()
call("redline_stop")
call("redline_export", folder.encode() + b"/trace.json.gz")
"""
    )
    assert len(ranges(load(folder / "trace.json.gz"))) == 1000


def test_a_file_of_the_job_that_got_the_traces_number_is_left_alone(ctypes_job):
    done, folder = ctypes_job(
        """
begin()
record(5000)
wait_for_partial(10000)
os.closerange(3, 64)
files = [open(f"{folder}/model{number}", "wb") for number in range(8)]
for file in files:
    file.write(b"weights")
    file.flush()
record(5000, b"later")
call("redline_stop")
assert library.redline_export((folder + "/trace.json").encode()) == -1
print(library.redline_last_error().decode())
"""
    )
    assert done.stdout.startswith("cannot write ")
    assert done.stdout.endswith(": the program has closed this file\n")
    assert {path.read_bytes() for path in folder.glob("model*")} == {b"weights"}


def test_an_export_beyond_the_limit_fails_and_not_the_job(ctypes_job):
    done, folder = ctypes_job(
        """
begin()
for number in range(5000):
    record(1, b"name %d" % number)
call("redline_stop")
limit_file_size(20000)
assert library.redline_export(folder.encode() + b"/plain.json") == -1
print(library.redline_last_error().decode())
"""
    )
    assert "File too large" in done.stdout
    assert not list(folder.glob("plain.json*"))


def test_a_folder_that_cannot_be_made_is_an_error(ctypes_job):
    done, _ = ctypes_job("open(folder + '/file', 'w'); folder += '/file/below'; begin()", check=False)
    assert done.returncode == 1
    assert "cannot create" in done.stderr


def test_a_folder_that_may_only_be_read_ends_the_recording_and_not_the_job(ctypes_job):
    with tempfile.TemporaryDirectory() as place:  # a folder that other users can enter, unlike tmp_path
        done, _ = ctypes_job(f"""
folder = {place!r} + "/traces"
os.mkdir(folder)
os.chmod({place!r}, 0o755)
os.chmod(folder, 0o555)
if os.geteuid() == 0:  # whom no mode stops
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
begin()
record(5000)
call("redline_stop")
assert library.redline_export((folder + "/trace.json").encode()) == -1
print(library.redline_last_error().decode())
assert os.listdir(folder) == []
print("the job goes on")
""")
    assert "Permission denied" in done.stdout
    assert done.stdout.endswith("the job goes on\n")


def test_a_full_file_system_drops_and_counts(ctypes_job, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small tmpfs")
    done, _ = ctypes_job(
        """
import subprocess
small = folder + "/small"
os.mkdir(small)
if subprocess.call(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small]) != 0:
    print("no mount")
    sys.exit(0)
folder = small
try:
    begin()
    for number in range(100000):
        record(1, b"name %d" % number)
    call("redline_stop")
    assert library.redline_export((folder + "/trace.json.gz").encode()) == -1
    print(library.redline_last_error().decode())
    stats = (ctypes.c_uint64 * 5)(40)
    call("redline_get_stats", stats)
    print("recorded", stats[1], "dropped", stats[2])
finally:
    subprocess.call(["umount", "-l", small])
"""
    )
    if "no mount" in done.stdout:
        pytest.skip("this machine does not let us mount a tmpfs")
    assert "No space left on device" in done.stdout
    counts = done.stdout.split()
    recorded, dropped = int(counts[-3]), int(counts[-1])
    assert dropped > 0
    assert recorded + dropped == 100000


def test_without_a_thread_for_the_next_window_there_is_nothing_to_export(ctypes_job):
    """The last window is given up, and an export must not look for it."""
    done, _ = ctypes_job("""
begin()
call("redline_stop")
call("redline_export", (folder + "/first.json").encode())
for _ in range(4):  # they take what the recorder's thread has left
    threading.Thread(target=signal.pause, daemon=True).start()
size = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
resource.setrlimit(resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))
assert library.redline_prepare(b'{"host_samples_hz": 0}') == -1
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(library.redline_export((folder + "/second.json").encode()), flush=True)
print(library.redline_last_error().decode(), flush=True)
""")
    assert done.stdout == "-1\nexport: no stopped window\n"


def test_a_window_of_the_programs_own_is_written_though_nothing_happened_in_it(ctypes_job):
    _, folder = ctypes_job("begin()")  # exit() completes it
    [path] = folder.iterdir()
    assert load(path)["redline"]["dropped"] == 0


def test_a_request_for_which_no_descriptor_is_left_waits_asleep(ctypes_job):
    done, _ = ctypes_job(
        """
import contextlib, socket, tempfile
with tempfile.TemporaryDirectory() as runtime:
    os.environ["XDG_RUNTIME_DIR"] = runtime
    call("redline_listen", None, 1)
    (thread,) = set(os.listdir("/proc/self/task")) - {str(os.getpid())}
    state = os.open(f"/proc/self/task/{thread}/stat", os.O_RDONLY)
    (name,) = os.listdir(runtime + "/redline")
    client = socket.socket(socket.AF_UNIX)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    files = []
    with contextlib.suppress(OSError):
        while True:
            files.append(os.open("/dev/null", os.O_RDONLY))
    client.connect(f"{runtime}/redline/{name}")
    while b") S " not in os.pread(state, 1000, 0):
        pass
    for file in files:
        os.close(file)
    client.sendall(b"{}\\n")
    print(client.makefile().readline())
"""
    )
    assert json.loads(done.stdout) == {"progress": "waiting for the next step"}


def test_a_job_that_closes_all_descriptors_costs_no_processor(ctypes_job):
    done, _ = ctypes_job(
        """
call("redline_finish_on_termination")
os.closerange(3, 64)
before = time.process_time()
time.sleep(0.5)
print(time.process_time() - before)
"""
    )
    assert float(done.stdout) < 0.2

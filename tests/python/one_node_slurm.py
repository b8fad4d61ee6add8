"""Runs a Slurm cluster on this machine during a test: munged, slurmctld and a slurmd for each node, with all of their
files in one folder."""

import contextlib
import os
import random
import socket
import subprocess
import time

import pytest
from conftest import DAEMONS_PATH, need_programs

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sinfo")

_CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
SlurmUser=root
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
MessageTimeout=100
BatchStartTimeout=100
SlurmdTimeout=0
{nodes}
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def need():
    """Skips the test where a cluster cannot run: its programs are missing, or this user may not start them."""
    need_programs(*PROGRAMS)
    if os.geteuid() != 0:
        pytest.skip("only root can start Slurm's daemons")


@contextlib.contextmanager
def running(folder, nodes=1):
    """Runs a cluster, and gives the environment in which `srun` finds it."""
    host = socket.gethostname().partition(".")[0]
    names = [host] if nodes == 1 else [f"node{number}" for number in range(1, nodes + 1)]
    lines = [
        f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()} CPUs={os.cpu_count()} State=UNKNOWN"
        for name in names
    ]
    for name in ("state", *(f"spool/{name}" for name in names)):
        (folder / name).mkdir(parents=True)
    folder.chmod(0o755)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    configuration = folder / "slurm.conf"
    configuration.write_text(
        _CONFIGURATION.format(
            host=host,
            folder=folder,
            control_port=free_port(),
            nodes="\n".join(lines),
        )
    )
    environment = {**os.environ, "PATH": DAEMONS_PATH, "SLURM_CONF": str(configuration)}
    munged = ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge.sock",
              f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log",
              f"--seed-file={folder}/munge.seed"]
    with contextlib.ExitStack() as daemons:
        for command in (munged, ["slurmctld", "-D"], *(["slurmd", "-D", "-N", name] for name in names)):
            daemons.enter_context(_daemon(command, folder, environment))
        _wait_until_idle(environment, folder)
        yield environment


@contextlib.contextmanager
def _daemon(command, folder, environment):
    with open(folder / f"{command[0]}.{command[-1].rpartition('/')[2]}.out", "wb") as output:
        process = subprocess.Popen(
            command, env=environment, stdout=output, stderr=output, start_new_session=True
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=120)


def _wait_until_idle(environment, folder, seconds=180):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        asked = subprocess.run(
            ["sinfo", "-h", "-o", "%t"], env=environment, capture_output=True, text=True
        )
        if set(asked.stdout.split()) == {"idle"}:
            return
        time.sleep(0.2)
    logs = "\n".join(path.read_text(errors="replace")[-800:] for path in folder.glob("*.out"))
    raise RuntimeError(f"Slurm did not start in {seconds} s:\n{logs}")


def free_port():
    """One that stays free until it is used: below those that the kernel gives to whoever asks for any."""
    while True:
        port = random.randrange(10_000, 32_768)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port

"""redline record with the launchers that people use: each rank leaves a trace that has its rank."""

import os
import re

import one_node_slurm
import pytest
from conftest import need_programs
from recording import step_numbers, traces

pytestmark = pytest.mark.usefixtures("no_process_left")

TRAIN = """
import torch
def train():
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(5):
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
if __name__ == "__main__":
    train()
"""


@pytest.fixture
def places(succeed, program, tmp_path):
    """places(command…) returns (rank, world size) of each trace that `redline record -- command` leaves."""
    (tmp_path / "training_job.py").write_text(TRAIN)

    def recorded(*command, environment=None):
        record = [program("redline"), "record", "-o", tmp_path / "traces", "--"]
        succeed([*record, *command], environment=environment, cwd=tmp_path)
        found = traces(tmp_path / "traces")
        assert all(step_numbers(trace) == [2, 3, 4] for trace in found)
        infos = [trace.get("distributedInfo", {}) for trace in found]
        return [(info.get("rank"), info.get("world_size")) for info in infos]

    return recorded


def test_a_module_and_a_shell_start_one_process_of_no_rank(places, python):
    assert places("sh", "-c", f"cd . && {python} -m training_job | cat") == [(None, None)]


def test_torchrun(places, torchrun):
    assert places(*torchrun, "--nproc_per_node", "2", "training_job.py") == [(0, 2), (1, 2)]


def test_mpirun(places, python):
    need_programs("mpirun")
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    command = ["mpirun", "--oversubscribe", "-np", "2", python, "training_job.py"]
    assert places(*command, environment=allowed) == [(0, 2), (1, 2)]


def test_srun(places, python, tmp_path):
    one_node_slurm.need()
    with one_node_slurm.running(tmp_path / "slurm") as environment:
        ranks = places("srun", "-n", min(2, os.cpu_count()), python, "training_job.py", environment=environment)
    assert ranks == [(0, 2), (1, 2)]


def test_the_hook_and_the_programs_know_the_same_launchers(repo_root):
    def pairs(path, begin, end):
        listed = (repo_root / path).read_text().partition(begin)[2].partition(end)[0]
        return re.findall(r'"(\w+)", "(\w+)"', listed)

    known = pairs("base/launched_rank.h", "kRankVariables[] = {", "\n};")
    assert known and pairs("python/redline/_rank.py", "_VARIABLES = (", "\n)\n") == known

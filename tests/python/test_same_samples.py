"""Ranks that read the same samples: tensor parallel ones count them once, copies of a model should not."""

import json

import pytest
import torch

TRAINING = """
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

way, steps = sys.argv[1], int(sys.argv[2])
torch.manual_seed(0)
mesh = init_device_mesh("cpu", (2,))
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
if way == "tensor parallel":
    model = parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
elif way == "fully_shard":
    fully_shard(model)
elif way == "FullyShardedDataParallel":
    model = FullyShardedDataParallel(model, device_id=torch.device("cpu"))
elif way != "nothing averages":
    model = torch.nn.parallel.DistributedDataParallel(model)
made_up = torch.ones if way == "ones" else torch.randn
data = TensorDataset(made_up(16 * steps, 32), torch.zeros(16 * steps, dtype=torch.int64))
sampler = DistributedSampler(data) if way == "sampler" else None
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(2):
    for inputs, labels in DataLoader(data, batch_size=16, shuffle=sampler is None, sampler=sampler):
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
        optimizer.zero_grad()
dist.destroy_process_group()
"""


@pytest.mark.parametrize(("way", "samples", "names_them"), [
    ("tensor parallel", 16, False),
    pytest.param("nothing averages", 16, False, marks=pytest.mark.long),
    ("forgotten sampler", 32, True),
    pytest.param("fully_shard", 32, True, marks=pytest.mark.long),
    pytest.param("FullyShardedDataParallel", 32, True, marks=pytest.mark.long),
    ("sampler", 32, False),
    pytest.param("ones", 32, False, marks=pytest.mark.long),  # data that never change tell nothing
])
def test_samples_count_once_unless_ranks_average_gradients(
    run, succeed, program, torchrun, tmp_path, way, samples, names_them
):
    (tmp_path / "train.py").write_text(TRAINING)
    command = [*torchrun, "--nproc_per_node", "2", tmp_path / "train.py", way, "20"]
    succeed([program("redline"), "record", "-o", tmp_path / "out", "--", *command])
    report = json.loads(run([program("redline"), "report", "--format", "json", tmp_path / "out"]).stdout)
    assert [trace["samples_per_step"] for trace in report["traces"]] == [samples] * 2
    assert report["run"]["shares_samples"] == (samples == 16)
    named = [each["ranks"] for each in report["run"]["findings"] if each["cause"] == "same_samples"]
    assert named == ([[0, 1]] if names_them else [])


def test_steps_whose_batch_is_not_in_the_hosts_memory_tell_nothing(monkeypatch):
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    from redline._read_batches import ReadBatches

    decided = []
    batches = ReadBatches(decided.append)
    for batch in (torch.ones(2), torch.ones(2, device="meta"), torch.zeros(2)):
        assert decided == []
        batches(batch)
        knows_all = batches()
    assert knows_all and decided == [batches.digest]

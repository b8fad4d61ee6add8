"""A trace has its command, its machine, the variables that matter, and torch's settings."""

import pytest
import torch
from recording import traces

pytestmark = pytest.mark.usefixtures("no_process_left")

AUTOCAST = """
import sys, torch
torch.backends.cudnn.benchmark = True
torch.set_float32_matmul_precision("high")
torch.set_num_threads(1)
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(torch.ones(3, 4)).sum()
    loss.backward()
    optimizer.step()
"""


def test_of_a_python_job(succeed, program, python, tmp_path):
    (tmp_path / "job.py").write_text(AUTOCAST)
    record = [program("redline"), "record", "--schedule", "wait=0,warmup=1,active=1", "-o", "traces"]
    succeed(
        [*record, "--", python, "job.py", "--api-key", "hush", "--lr", "0.1"],
        environment={"OMP_NUM_THREADS": "2", "MY_SECRET": "hush"},
        cwd=tmp_path,
    )
    (trace,) = traces(tmp_path / "traces")
    assert trace["run"]["argv"] == [str(python), "job.py", "--api-key", "***", "--lr", "0.1"]
    assert trace["run"]["environment"]["OMP_NUM_THREADS"] == "2"
    assert trace["run"]["environment_not_shown"] > 1
    assert trace["run"]["machine"]["memory_bytes"] > 0
    assert "hush" not in str(trace) and "MY_SECRET" not in str(trace)
    settings = trace["torch"]
    expected = {
        "version": torch.__version__,
        "cuda": torch.version.cuda,
        "cudnn_benchmark": True,
        "cudnn_deterministic": False,
        "float32_matmul_precision": "high",
        "autocast": {"cpu": "bfloat16"},
        "parameters": {"float32": 10},
        "num_threads": 1,
    }
    assert {key: settings[key] for key in expected} == expected


WITHIN_THE_FORWARD = """
import torch
model = torch.nn.Linear(4, 2)
model.forward = torch.autocast("cpu", dtype=torch.bfloat16)(model.forward)  # as accelerate does
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    model(torch.ones(3, 4)).sum().backward()
    optimizer.step()
"""
PROFILED = """
import redline
profiler = redline.profile()
JOB
with profiler:
    model(torch.ones(3, 4)).sum().backward()
profiler.export_chrome_trace("a.pt.trace.json.gz")
"""


@pytest.mark.parametrize("how", ["record", "library"])
def test_of_a_job_whose_model_begins_autocast_itself(succeed, program, python, tmp_path, how):
    command, source = [python, "job.py"], WITHIN_THE_FORWARD
    if how == "record":
        command = [program("redline"), "record", "--schedule", "wait=1,warmup=0,active=1", "-o", ".", "--", *command]
    else:
        source = PROFILED.replace("JOB", source)
    (tmp_path / "job.py").write_text(source)
    succeed(command, cwd=tmp_path)
    (trace,) = traces(tmp_path)
    assert trace["torch"]["autocast"] == {"cpu": "bfloat16"}


UNNAMED_BACKEND = """
import torch
torch.distributed.init_process_group(init_method="file://{folder}/store", rank=0, world_size=1)  # as DeviceMesh does
assert torch.distributed.get_backend() == "undefined"
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    model(torch.ones(3, 4)).sum().backward()
    optimizer.step()
"""


def test_the_backend_is_named_where_each_type_of_device_has_its_own(succeed, program, python, tmp_path):
    succeed([program("redline"), "record", "-o", tmp_path / "traces", "--schedule", "wait=0,warmup=0,active=1", "--",
             python, "-c", UNNAMED_BACKEND.format(folder=tmp_path)])
    (trace,) = traces(tmp_path / "traces")
    assert trace["distributedInfo"]["backend"] == "gloo"


def test_of_a_libtorch_program(succeed, program, tmp_path):
    mnist = program("mnist")
    succeed([program("redline"), "record", "-o", tmp_path, "--", mnist, "--steps", "3"])
    (trace,) = traces(tmp_path)
    assert trace["run"]["argv"] == [str(mnist), "--steps", "3"]
    version = torch.__version__.partition("+")[0]
    assert (trace["torch_version"], trace["torch"]) == (version, {"version": version})

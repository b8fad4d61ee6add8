"""Our traces load in the tools that people have: HolisticTraceAnalysis and TensorBoard's plugin."""

import json
import os

import pytest
from recording import names, traces

# Options that put all kinds of events that we write into one trace.
EVERYTHING = ["--shapes", "--memory", "--flops", "--stacks", "--modules", "--host-samples", "100"]

TWO_RANKS = """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
work = torch.ones(600, 600)
for step in range(5):
    for _ in range(10):
        work @ work
    with torch.cuda.nvtx.range("forward"):
        loss = model(torch.ones(2, 4)).sum()
    torch.cuda.nvtx.mark("here")
    torch.cuda.nvtx.range_end(torch.cuda.nvtx.range_start("anywhere"))
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
"""


def test_both_read_ranks_steps_and_operators(run, succeed, program, torchrun, repo_root, tmp_path):
    (tmp_path / "job.py").write_text(TWO_RANKS)
    folder = tmp_path / "traces"
    command = [*torchrun, "--nproc_per_node", "2", tmp_path / "job.py"]
    record = [program("redline"), "record", *EVERYTHING, "-o", folder]
    succeed([*record, "--", *command])
    checked = run([repo_root / "scripts/check-peers", folder])
    if "cannot be installed" in checked.stderr and not os.environ.get("CI"):
        pytest.skip("scripts/check-peers needs a network the first time")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    found = json.loads(checked.stdout)
    ours = traces(folder)
    for trace in ours:
        kinds = {(event["ph"], event.get("cat")) for event in trace["traceEvents"]}
        assert kinds >= {
            ("X", "cpu_op"), ("X", "user_annotation"), ("X", "python_function"), ("s", "fwdbwd"),
            ("i", "cpu_instant_event"), ("i", "user_annotation"), ("C", "counter"), ("b", "nvtx"),
        }

    # HolisticTraceAnalysis always drops the last step.
    by_rank = found["holistic_trace_analysis"]
    assert {rank: by_rank[rank]["steps"] for rank in by_rank} == {"0": [2, 3], "1": [2, 3]}

    by_worker = found["tensorboard_plugin"]
    assert len(by_worker) == 2
    for trace in ours:
        worker = trace["traceName"].rpartition("/")[2].partition(".")[0]
        assert by_worker[worker]["steps"] == ["2", "3", "4"]
        operators = names(trace, "cpu_op")
        # aten::sum calls aten::sum; the plugin counts the two as one call.
        assert by_worker[worker]["operators"].pop("aten::sum") < operators.pop("aten::sum")
        assert by_worker[worker]["operators"] == operators

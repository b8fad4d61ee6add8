"""The operations that a report counts equal those of torch.utils.flop_counter, to the last one."""

import collections
import json

import pytest

pytest.importorskip("torch")

import torch  # noqa: E402

import flop_models  # noqa: E402
from recording import import_redline  # noqa: E402

MODELS = ["two_layer_cnn", "resnet18", "vit", "gpt_flash", "gpt_plain", "lstm", "unet", "moe", "depthwise_cnn",
          "one_and_three_dimensions"]  # fmt: skip


def counted(step, folder, succeed, program):
    """Operations by operator, as the report on a recording of one step has them."""
    redline = import_redline()
    step()
    with redline.profile(record_shapes=True) as recording:
        step()
    path = folder / "trace.json"
    recording.export_chrome_trace(path)
    done = succeed([program("redline"), "report", "--format", "json", path])
    operations = collections.Counter()
    for row in json.loads(done.stdout)["traces"][0]["operators_by_shape"]:
        operations[row["name"]] += row["count"] * (row["flops"] or 0)
    return operations


@pytest.mark.parametrize("name", MODELS)
def test_every_operator_equals_flop_counter(name, tmp_path, succeed, program):
    torch.manual_seed(0)
    step = getattr(flop_models, name)()
    theirs = flop_models.torchs_count(step)
    ours = counted(step, tmp_path, succeed, program)
    assert theirs
    assert {operator: ours[operator] for operator in theirs} == theirs

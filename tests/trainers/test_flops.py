"""The operations of a model of transformers equal those of torch.utils.flop_counter (tests/python/test_flops.py)."""

import collections
import json
import subprocess

import flop_models
import pytest
from conftest import BUILD, ROOT


@pytest.mark.fast
def test_bert_equals_flop_counter(tmp_path, monkeypatch):
    monkeypatch.setenv("REDLINE_LIBRARY", str(BUILD.parent / "lib" / "libredline.so"))
    monkeypatch.setenv("REDLINE_TORCH_LIBRARY", str(BUILD.parent / "lib" / "libredline_torch.so"))
    monkeypatch.syspath_prepend(str(ROOT / "python"))
    import redline

    step = flop_models.bert()
    theirs = flop_models.torchs_count(step)
    with redline.profile(record_shapes=True) as recording:
        step()
    recording.export_chrome_trace(tmp_path / "trace.json")
    said = subprocess.run([BUILD / "redline", "report", "--format", "json", tmp_path / "trace.json"],
                          capture_output=True, text=True, check=True)
    ours = collections.Counter()
    for row in json.loads(said.stdout)["traces"][0]["operators_by_shape"]:
        ours[row["name"]] += row["count"] * (row["flops"] or 0)
    assert theirs
    assert {operator: ours[operator] for operator in theirs} == theirs

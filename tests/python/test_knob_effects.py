"""Each knob of the start-up hook shows on the object that it changes, in a script that knows nothing of it, and the
hook reports the same."""

import json
import pathlib

import pytest
from knob_runs import of_type, seen_knobs

FACTS = pathlib.Path(__file__).with_name("scripts") / "knob_facts.py"
# What the script sees of its own objects, without knobs and with each knob.
DEFAULTS = {
    "batch_size": 8,
    "batches": 16,
    "updates": 16,
    "gradients": "none",
    "num_workers": 0,
    "pin_memory": False,
    "prefetch_factor": None,
    "persistent_workers": False,
    "optimizer": "default",
    "amp": "torch.float32",
    "channels_last": False,
    "checkpointing": False,
    "num_threads": 1,
    "malloc": "default",
    "cudnn_benchmark": False,
    "bucket_cap_mb": 25,
    "gradient_as_bucket_view": False,
    "static_graph": False,
    "find_unused_parameters": False,
}
EFFECTS = [
    ({"batch_size": 16}, {"batch_size": 16, "batches": 8, "updates": 8}),
    ({"num_workers": 1, "prefetch_factor": 3, "persistent_workers": "on"},
     {"num_workers": 1, "prefetch_factor": 3, "persistent_workers": True}),
    ({"pin_memory": "on"}, {"pin_memory": True}),
    ({"amp": "bf16"}, {"amp": "torch.bfloat16"}),
    ({"amp": "fp16"}, {"amp": "torch.float16", "updates": 15}),  # the first step only finds the scale
    ({"channels_last": "on"}, {"channels_last": True}),
    ({"compile": "reduce-overhead"}, {"compile": "reduce-overhead"}),
    ({"checkpointing": "on", "compile": "default"}, {"checkpointing": True, "compile": "default", "compilations": 1}),
    ({"cudnn_benchmark": "on", "tf32": "on"}, {"cudnn_benchmark": True, "tf32": True}),
    ({"accumulation": 2}, {"updates": 8, "gradients": "none"}),
    ({"num_threads": 2}, {"num_threads": 2}),
    ({"malloc": "keep"}, {"malloc": "keep"}),
    ({"bucket_cap_mb": 7}, {"bucket_cap_mb": 7}),
    ({"gradient_as_bucket_view": "on"}, {"gradient_as_bucket_view": True}),
    ({"static_graph": "on"}, {"static_graph": True}),
    ({"find_unused_parameters": "on"}, {"find_unused_parameters": True}),
    ({"optimizer": "foreach"}, {"optimizer": "foreach"}),
    ({"optimizer": "fused"}, {"optimizer": "fused"}),
    ({"zero_grad": "zero"}, {"gradients": "zero"}),
]


@pytest.mark.parametrize(("knobs", "effects"), EFFECTS, ids=lambda value: "-".join(map(str, value)))
def test_a_knob_takes_effect(with_knobs, knobs, effects):
    done = with_knobs(knobs, FACTS, trial=True)
    facts = json.loads(done.stdout.splitlines()[-1])
    assert {name: facts.get(name) for name in {**DEFAULTS, **effects}} == {**DEFAULTS, **effects}
    seen = seen_knobs(done)
    assert {name: seen[name] for name in knobs} == {name: str(value) for name, value in knobs.items()}
    unused = {knob for report in of_type(done, "unused") for knob in report["knobs"]}
    assert not unused & set(knobs) and not of_type(done, "failure")


def test_the_table_names_every_knob(repo_root):
    tested = {name for knobs, _ in EFFECTS for name in knobs}
    known = repo_root / "tuner" / "space" / "hook_knobs.cc"
    named = {line.split('"')[1] for line in known.read_text().splitlines() if ".name = " in line}
    assert tested == named


def test_what_no_optimizer_has_is_told(with_knobs):
    done = with_knobs({"optimizer": "fused"}, FACTS.with_name("plain_loop.py"), "--rprop", trial=True)
    whys = {report["why"] for report in of_type(done, "unused") if "optimizer" in report["knobs"]}
    assert whys == {"Rprop has no fused implementation"}

"""with_modules records the calls of a model's modules, by their names, forward and backward."""

import json
import subprocess
import warnings

import pytest
import torch
from conftest import BUILD, need
from flop_models import TOKENS, WIDTH, Block
from recording import CURE, import_redline, load, slices
from torch.profiler import ProfilerActivity
from torch.utils.checkpoint import checkpoint

redline = import_redline()
CPU = [ProfilerActivity.CPU]


class GPT(torch.nn.Module):
    def __init__(self, checkpointed=False):
        super().__init__()
        self.checkpointed = checkpointed
        self.embedding = torch.nn.Embedding(50, WIDTH)
        self.layers = torch.nn.ModuleList(Block(causal=True) for _ in range(3))
        self.head = torch.nn.Linear(WIDTH, 50)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if self.checkpointed else layer(x)
        return self.head(x)


def trains(model):
    tokens = torch.randint(50, (4, TOKENS))
    torch.nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten()).backward()


def record(path, body, profile=redline.profile, **arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of cycles
        with profile(activities=CPU, **arguments) as recorder:
            body()
    recorder.export_chrome_trace(str(path))
    return load(path)


def modules(path):
    """traces[0].modules of the report, without the first, which stands for the whole process."""
    command = [need(BUILD / "bin/redline", CURE), "report", "--format", "json", path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    process, *rest = json.loads(done.stdout)["traces"][0]["modules"]
    for module in rest:
        module["path"] = (*(rest[module["parent"] - 1]["path"] if module["parent"] else ()), module["type"])
    return rest


def called_modules(model):
    """What is no mere container."""
    return {name: module for name, module in model.named_modules() if not isinstance(module, torch.nn.ModuleList)}


@pytest.mark.parametrize("calls", ["with_modules", "with_stack"])
def test_modules_have_the_models_names_forward_and_backward(tmp_path, calls):
    model = GPT()
    trace = record(tmp_path / "trace.json", lambda: trains(model), **{calls: True})
    found = modules(tmp_path / "trace.json")
    expected = called_modules(model)
    assert {module["name"]: module["type"] for module in found} == {
        name: type(module).__name__ for name, module in expected.items()
    }
    assert len(found) == len(expected)
    for module in found:
        assert module["forward"]["calls"] == 1
        assert module["backward"]["host_ns"] > 0, module["name"]
        assert module["recomputation"]["calls"] == 0
    # The embedding has one node of autograd and one that adds up its weight's gradient.
    embedding = next(module for module in found if module["name"] == "embedding")
    assert embedding["backward"]["calls"] == 2
    kinds = {event["name"].partition(" ")[0] for event in slices(trace, "python_function")}
    assert kinds == {"nn.Module:"} if calls == "with_modules" else len(kinds) > 20


def test_classes_and_their_order_are_those_of_torchs_trace(tmp_path):
    model = GPT()
    record(tmp_path / "ours.json", lambda: trains(model), with_modules=True)
    record(tmp_path / "torchs.json", lambda: trains(model), torch.profiler.profile, with_stack=True)
    ours, torchs = (modules(tmp_path / name) for name in ("ours.json", "torchs.json"))
    assert [module["path"] for module in ours] == [module["path"] for module in torchs]
    assert torchs[0]["name"] is None
    for own, other in zip(ours, torchs):
        assert own["forward"]["calls"] == other["forward"]["calls"]
        assert own["backward"]["calls"] == other["backward"]["calls"]


def test_checkpointed_modules_are_computed_again(tmp_path):
    record(tmp_path / "trace.json", lambda: trains(GPT(checkpointed=True)), with_modules=True)
    found = {module["name"]: module for module in modules(tmp_path / "trace.json")}
    assert found["layers.1"]["recomputation"]["calls"] == 1
    assert found["layers.1.attention.out"]["recomputation"]["calls"] == 1
    assert found["layers.1.attention.out"]["backward"]["host_ns"] > 0
    assert found["head"]["recomputation"]["calls"] == 0


def test_names_follow_the_largest_model_and_its_modules_may_go_away(tmp_path):
    model = GPT()
    tokens = torch.randint(50, (4, TOKENS))

    def body():
        model.layers[1](model.embedding(tokens))  # at first as if these two were models
        trains(model)
        for _ in range(3):
            torch.nn.Softmax(dim=-1)(torch.ones(2))

    record(tmp_path / "trace.json", body, with_modules=True)
    found = modules(tmp_path / "trace.json")
    assert [module["label"] for module in found[:2]] == ["Embedding_0", "Block_0"]
    assert {module["name"] for module in found if "GPT" in module["path"]} == set(called_modules(model))
    assert [module["label"] for module in found if module["type"] == "Softmax"] == ["Softmax_0", "Softmax_1", "Softmax_2"]


def test_calls_that_raise_or_outlast_the_window_do_no_harm(tmp_path):
    class Stops(torch.nn.Module):
        def forward(self, recorder):
            recorder.stop()
            raise ValueError("inside")

    recorder = redline.profile(activities=CPU, with_modules=True)
    recorder.start()
    torch.nn.Linear(2, 2)(torch.ones(1, 2))
    with pytest.raises(ValueError):
        Stops()(recorder)
    recorder.export_chrome_trace(str(tmp_path / "trace.json"))
    names = [event["name"] for event in slices(load(tmp_path / "trace.json"), "python_function")]
    assert names == ["nn.Module: Linear_0"]
    with redline.profile(activities=CPU, with_modules=True) as again:
        torch.nn.Linear(2, 2)(torch.ones(1, 2))
        with pytest.raises(TypeError):
            torch.nn.Linear(2, 2)()
    again.export_chrome_trace(str(tmp_path / "again.json"))
    names = [event["name"] for event in slices(load(tmp_path / "again.json"), "python_function")]
    assert names == ["nn.Module: Linear_0", "nn.Module: Linear_1"]

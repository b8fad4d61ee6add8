"""docs/guide agrees with the samples and the measurements: its code is in the samples, its figures are those of
docs/guide/figures, and its rules, knobs and pages exist."""

import importlib.machinery
import importlib.util
import json
import re
import textwrap

import pytest
from conftest import ROOT

GUIDE = ROOT / "docs" / "guide"
PAGES = sorted(path.stem for path in GUIDE.glob("*.md"))


@pytest.fixture(scope="module")
def guide():
    loader = importlib.machinery.SourceFileLoader("guide_figures", str(ROOT / "scripts" / "guide-figures"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("guide_figures", loader))
    loader.exec_module(module)
    return module


def test_the_pictures_are_of_the_measurements(guide):
    for name, colours in guide.PICTURES.items():
        assert (guide.FIGURES / name).read_text() == guide.gains_picture(colours), "scripts/guide-figures --pages"
        assert f"figures/{name}" in (GUIDE / "README.md").read_text()


def test_gains_of_a_gpu_fill_the_column(guide, monkeypatch, tmp_path):
    figures = guide.figures_of("fused")
    (tmp_path / "on-gpus.json").write_text(json.dumps({"fused": {**figures, "gain": 7.0}}))
    monkeypatch.setattr(guide, "ON_GPUS", tmp_path / "on-gpus.json")
    assert "| 7.00 x (" in guide.table_block() and "| 7.00 x (" in guide.gain_block("foreach", "fused")


def samples_of(page):
    return re.findall(r"\(\.\./\.\./samples/python/(\w+\.py)\)", page)


@pytest.mark.parametrize("name", PAGES)
def test_code_is_quoted_from_a_sample_of_the_page(name):
    page = (GUIDE / f"{name}.md").read_text()
    sources = ["\n".join(map(str.rstrip, (ROOT / "samples/python" / sample).read_text().splitlines()))
               for sample in samples_of(page)]
    for block in re.findall(r"```python\n(.*?)\n```", page, re.DOTALL):
        indented = [textwrap.indent(block, " " * width) for width in range(0, 24, 4)]
        assert any(f"\n{quote}\n" in source for quote in indented for source in sources), block


@pytest.mark.parametrize("name", PAGES)
def test_figures_are_those_that_were_measured(guide, name):
    page = (GUIDE / f"{name}.md").read_text()
    assert page == guide.with_figures(page), "scripts/guide-figures --pages"


def test_each_technique_has_page_sample_and_today_s_commands(guide):
    rules = (ROOT / "docs" / "advice.md").read_text()
    for technique in guide.TECHNIQUES:
        page = (GUIDE / f"{technique.page}.md").read_text()
        assert f"{technique.page}.py" in samples_of(page)
        assert technique.name in re.search(r"<!-- figures: gain ([\w -]+) -->", page).group(1).split()
        assert all(f"- `{rule}`" in rules for rule in technique.advice.split(", ") if rule)
        if figures := guide.figures_of(technique.name):
            assert (figures["before"], figures["after"]) == (technique.before, technique.after), technique.name


def test_a_gain_follows_from_its_rates(guide):
    measured = [json.loads(path.read_text()) for path in (GUIDE / "figures").glob("*.json") if path != guide.ON_GPUS]
    assert measured
    if guide.ON_GPUS.exists():
        measured += json.loads(guide.ON_GPUS.read_text()).values()
    for figures in measured:
        assert len(figures["rates"]["before"]) == len(figures["rates"]["after"]) == figures["pairs"]
        product = 1.0
        for before, after in zip(figures["rates"]["before"], figures["rates"]["after"], strict=True):
            product *= after / before
        assert product ** (1 / figures["pairs"]) == pytest.approx(figures["gain"], abs=1e-3)
        assert figures["low"] < figures["gain"] < figures["high"]


def test_the_packages_of_the_trainers_are_those_that_are_tested():
    page = (GUIDE / "trainers.md").read_text()
    tested = (ROOT / "scripts" / "test-trainers").read_text()
    asked = re.search(r"pip install (.+)", page)[1].split()
    assert asked and all(f"{package} " in tested or f"({package} " in tested for package in asked)
    for name, version in re.findall(r"(transformers|accelerate|lightning) (\d+\.\d+)", page):
        assert f"{name}=={version}." in tested

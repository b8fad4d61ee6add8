"""Goes through record, report, diff and a picture on real training. Each works on the results before it."""

import collections
import json
import struct
import zlib

import pytest

from conftest import need

SCHEDULE = "wait=1,warmup=1,active=3"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, succeed, program, torchrun, train_cifar):
    """recorded("before") and recorded("after") are folders of traces of two ranks, recorded once."""
    folder = tmp_path_factory.mktemp("recorded")
    flags = {
        "before": ["--batch-size", "16"],
        "after": ["--batch-size", "48", "--num-workers", "1"],
    }

    def record(name):
        if not (folder / name).exists():
            command = [program("redline"), "record", "--schedule", SCHEDULE, "-o", folder / name]
            train = [*torchrun, "--nproc_per_node", "2", train_cifar, "--steps", "6"]
            stdout = succeed([*command, "--", *train, *flags[name]]).stdout
            assert stdout.startswith("loss "), "the job's own output is as it is without a recorder"
        return folder / name

    return record


@pytest.fixture
def answer(succeed, program):
    """answer("report", …) returns the JSON that a subcommand prints."""

    def run_json(*words):
        completed = succeed([program("redline"), *words, "--format", "json"])
        return json.loads(completed.stdout)

    return run_json


def pixels(path):
    """Width, height and pixels (3 or 4 bytes each) of an 8-bit PNG without interlacing."""
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    position, body = 8, b""
    while position < len(data):
        size, kind = struct.unpack_from(">I4s", data, position)
        content = data[position + 8 : position + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", content)
            assert (depth, interlaced) == (8, 0) and colour in (2, 6)
        elif kind == b"IDAT":
            body += content
        position += size + 12
    step = {2: 3, 6: 4}[colour]
    rows = unfiltered(zlib.decompress(body), width * step, height, step)
    return width, height, [row[i : i + step] for row in rows for i in range(0, len(row), step)]


def unfiltered(body, stride, height, step):
    """Undoes the filters of a PNG's image data. Each row begins with the filter that made it (RFC 2083, 6)."""
    above = bytearray(stride)
    for start in range(0, height * (stride + 1), stride + 1):
        filter_type, row = body[start], bytearray(body[start + 1 : start + 1 + stride])
        for i in range(stride):
            left = row[i - step] if i >= step else 0
            up, corner = above[i], above[i - step] if i >= step else 0
            if filter_type == 4:
                estimate = left + up - corner
                nearest = sorted((left, up, corner), key=lambda value: abs(value - estimate))
                predicted = nearest[0]
            else:
                predicted = (0, left, up, (left + up) // 2)[filter_type]
            row[i] = (row[i] + predicted) & 255
        yield bytes(row)
        above = row


def test_the_report_has_both_ranks_and_says_where_a_step_goes(recorded, answer):
    report = answer("report", recorded("before"))
    assert report["schema"] == "redline.report/1"
    assert [trace["rank"] for trace in report["traces"]] == [0, 1]
    for trace in report["traces"]:
        assert trace["world_size"] == 2
        assert trace["steps"]["count"] == 3
        assert trace["dropped"] == 0 and not trace["skipped"]
        assert trace["samples_per_step"] == 32
        breakdown = trace["step_breakdown_ns"]
        assert sum(breakdown.values()) == pytest.approx(trace["steps"]["mean_ns"], rel=0.01)
        assert breakdown["dataloader"] > 0 and breakdown["cpu"] > 0
        assert "aten::convolution_backward" in {row["name"] for row in trace["operators"]}
        assert any("all_reduce" in row["name"] for row in trace["collectives"])
    assert len(report["advice"] or report["traces"][0]["advice"]) >= 1


def test_the_text_report_and_its_page_are_made_of_the_same_traces(recorded, succeed, program, tmp_path):
    completed = succeed([program("redline"), "report", recorded("before")])
    assert "2 ranks" in completed.stdout and "WHAT HOLDS IT BACK" in completed.stdout
    page = tmp_path / "report.html"
    words = ["report", recorded("before"), "--format", "html", "-o", page]
    succeed([program("redline"), *words])
    assert "convolution_backward" in page.read_text()


def test_diff_compares_equal_samples_where_the_batch_changed(recorded, answer):
    difference = answer("diff", recorded("before"), recorded("after"))
    assert difference["schema"] == "redline.diff/1"
    before, after = difference["before"], difference["after"]
    assert (before["ranks"], after["ranks"]) == (2, 2)
    assert (before["samples_per_step"], after["samples_per_step"]) == (32, 96)
    rates = after["samples_per_s"] / before["samples_per_s"]
    assert difference["speedup"] == pytest.approx(rates, rel=0.01)


def test_the_viewer_draws_the_traces_without_a_display(recorded, succeed, program, tmp_path):
    viewer = need(program("redline").parent / "redline-viewer", "build with -DREDLINE_VIEWER=ON")
    picture = tmp_path / "timeline.png"
    # The picture is large enough for all panes and small enough to decode in Python.
    words = ["--size", "800x500", "--screenshot", picture, recorded("after")]
    succeed([viewer, *words], environment={"DISPLAY": "", "WAYLAND_DISPLAY": ""})
    width, height, colours = pixels(picture)
    assert (width, height) == (800, 500)
    counts = collections.Counter(colours)
    assert len(counts) > 50, "lanes, labels and panes have many colours"
    assert counts.most_common(1)[0][1] < 0.9 * width * height, "mostly one colour: nothing drawn"

"""The viewer as a window on a real X server, driven by key presses and clicks."""

import contextlib
import json
import os
import sqlite3
import struct
import subprocess
import time
import zlib

import pytest
from conftest import need_programs

WIDTH, HEIGHT = 900, 600
EVERY = 7  # rows that are compared: Python is slow
LIMIT_S = 60


def trace_text():
    events = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1,
               "ts": 1e6 + step * 100, "dur": 99} for step in range(4)]
    for step in range(4):
        at = 1e6 + step * 100
        events += [{"ph": "X", "cat": "cpu_op", "name": f"aten::op{i}", "pid": 1, "tid": 1,
                    "ts": at + 10 + 20 * i, "dur": 15} for i in range(4)]
        events.append({"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": at + 30, "dur": 60,
                       "args": {"device": 0, "stream": 7}})
    return json.dumps({"distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": events})


def wait_for(what, sentence):
    """Polls, because the other process does not tell when it is done."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        value = what()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(sentence)


@pytest.fixture
def display(tmp_path):
    need_programs("Xvfb", "xdotool")
    read_end, write_end = os.pipe()
    # Without -noreset the server starts afresh whenever its last client leaves, and turns away who connects just then:
    # each xdotool is such a client.
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write_end), "-screen", "0", f"{WIDTH}x{HEIGHT}x24", "-fbdir", str(tmp_path),
         "-nolisten", "tcp", "-noreset"], pass_fds=[write_end], stderr=subprocess.DEVNULL)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        number = pipe.readline().strip()
    yield f":{number}"
    server.terminate()
    server.wait(LIMIT_S)


def screen_rows(folder):
    """The pixels of the X server's screen, as rows of 0xRRGGBB. The server keeps them in an XWD file."""
    data = (folder / "Xvfb_screen0").read_bytes()
    header = struct.unpack(">25I", data[:100])
    offset = header[0] + header[19] * 12
    stride = header[12]
    rows = []
    for y in range(HEIGHT):
        row = data[offset + y * stride:offset + y * stride + 4 * WIDTH]
        rows.append([pixel & 0xFFFFFF for pixel in struct.unpack(f"<{WIDTH}I", row)] if y % EVERY == 0 else [])
    return rows


def picture_rows(path):
    """The pixels of a PNG with eight bits a channel, as Qt writes it."""
    data, at, packed, channels = path.read_bytes(), 8, b"", 0
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            channels = {2: 3, 6: 4}[data[at + 17]]
        if kind == b"IDAT":
            packed += data[at + 8:at + 8 + size]
        at += 12 + size
    raw, stride = zlib.decompress(packed), channels * WIDTH
    above, rows = bytearray(stride), []
    for y in range(HEIGHT):
        start = y * (stride + 1)
        line = bytearray(raw[start + 1:start + 1 + stride])
        undo_filter(raw[start], line, above, channels)
        rows.append([line[x] << 16 | line[x + 1] << 8 | line[x + 2] for x in range(0, stride, channels)])
        above = line
    return rows


def undo_filter(kind, line, above, channels):
    if kind == 2:
        line[:] = bytes((a + b) & 255 for a, b in zip(line, above))
        return
    for x in range(len(line) if kind else 0):
        left, corner = (line[x - channels], above[x - channels]) if x >= channels else (0, 0)
        up = above[x]
        if kind == 1:
            guess = left
        elif kind == 3:
            guess = (left + up) // 2
        else:
            to_left, to_up, to_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
            guess = left if to_left <= to_up and to_left <= to_corner else up if to_up <= to_corner else corner
        line[x] = (line[x] + guess) & 255


def equal_share(left, right):
    # The status line is left out, because it has the loading time, which differs from run to run.
    pairs = [(a, b) for one, other in zip(left[:-30:EVERY], right[:-30:EVERY]) for a, b in zip(one, other)]
    return sum(a == b for a, b in pairs) / len(pairs)


def test_without_a_display_a_picture_is_proposed(program, tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("QT_")}
    environment["DISPLAY"] = f"{tmp_path}:1"
    environment["WAYLAND_DISPLAY"] = ""
    for command in ([program("redline-viewer")], [program("redline"), "view"]):
        end = subprocess.run([*command, tmp_path], env=environment, capture_output=True, text=True, timeout=LIMIT_S)
        assert end.returncode == 1, end.stderr
        last = end.stderr.splitlines()[-1]
        assert "redline-viewer --screenshot out.png PATH" in last
        assert last.endswith("redline report --format html -o report.html PATH")
        assert "reinstall" not in end.stderr.lower()


def test_a_picture_of_a_study_and_traces_is_refused(program, tmp_path):
    trace, study = tmp_path / "rank0.pt.trace.json", tmp_path / "study.db"
    trace.write_text(trace_text())
    with contextlib.closing(sqlite3.connect(study)) as database:
        database.execute("CREATE TABLE t (x)")
    picture = ["--screenshot", tmp_path / "out.png"]
    for paths in ([study, trace], [trace, study], [study, study]):
        end = subprocess.run([program("redline-viewer"), *picture, *paths], capture_output=True, text=True,
                             env={**os.environ, "QT_QPA_PLATFORM": "offscreen"}, timeout=LIMIT_S)
        error = "redline-viewer: A study is opened alone, without traces or other studies.\n"
        assert (end.returncode, end.stderr) == (1, error)
    assert not (tmp_path / "out.png").exists()


def test_a_real_window_follows_keys_and_clicks(program, tmp_path, display):
    trace = tmp_path / "rank0.pt.trace.json"
    trace.write_text(trace_text())
    viewer = str(program("redline-viewer"))
    quiet = {name: value for name, value in os.environ.items() if not name.startswith("QT_")}
    picture = tmp_path / "picture.png"
    subprocess.run([viewer, "--size", f"{WIDTH}x{HEIGHT}", "--screenshot", str(picture), str(trace)], check=True,
                   env={**quiet, "QT_QPA_PLATFORM": "offscreen"}, timeout=LIMIT_S)
    environment = {**quiet, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb", "XDG_CONFIG_HOME": str(tmp_path / "config")}

    def xdotool(*words):
        return subprocess.run(["xdotool", *words], env=environment, check=False, capture_output=True, text=True,
                              timeout=LIMIT_S).stdout.strip()

    window = subprocess.Popen([viewer, "--size", f"{WIDTH}x{HEIGHT}", str(trace)], env=environment,
                              stderr=subprocess.PIPE, text=True)
    try:
        shown = wait_for(lambda: window.poll() is not None or xdotool("search", "--name", "rank0.*Redline"),
                         "no window has the trace's name")
        assert window.poll() is None, window.stderr.read()
        xdotool("windowmove", "--sync", str(shown), "0", "0")
        expected = picture_rows(picture)
        wait_for(lambda: equal_share(screen_rows(tmp_path), expected) > 0.97,
                 "the window does not look like its picture")

        view = tmp_path / "rank0.pt.trace.json.view"

        def saved():
            view.unlink(missing_ok=True)
            xdotool("key", "ctrl+s")
            return json.loads(wait_for(lambda: view.exists() and view.read_text(), "Ctrl + S saves nothing"))

        xdotool("windowfocus", str(shown))
        before = saved()
        xdotool("mousemove", "600", "300", "key", "w", "key", "w")
        zoomed = saved()
        assert zoomed["end_ns"] - zoomed["begin_ns"] < before["end_ns"] - before["begin_ns"]
        xdotool("key", "slash", "type", "gemm")
        xdotool("key", "Return", "key", "Escape")
        xdotool("key", "Home")
        assert saved()["end_ns"] - saved()["begin_ns"] > before["end_ns"] - before["begin_ns"] - 1
        assert window.poll() is None
    finally:
        window.terminate()
        window.wait(LIMIT_S)


def test_frames_are_measured_on_a_display_too(program, tmp_path, display):
    trace, figures = tmp_path / "rank0.pt.trace.json", tmp_path / "frames.json"
    trace.write_text(trace_text())
    quiet = {name: value for name, value in os.environ.items() if not name.startswith("QT_")}
    end = subprocess.run([program("redline-viewer"), "--size", f"{WIDTH}x{HEIGHT}", "--bench-frames", figures, trace],
                         env={**quiet, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb"}, capture_output=True, text=True,
                         timeout=LIMIT_S)
    assert end.returncode == 0, end.stderr
    assert json.loads(figures.read_text())["frames"] > 100, "each frame is painted"

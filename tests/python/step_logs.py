"""Reads step logs for tests, by the format's description alone (trace/emit/step_log_blocks.h)."""

import dataclasses
import struct
import time
import zlib

PARTS = ("data_wait", "forward", "backward", "optimizer", "communication_wait", "evaluation", "checkpoint",
         "garbage_collection", "compile", "batch_hand_over")
MARKS = ("epoch", "window", "out_of_memory", "compile", "evaluation", "checkpoint", "exception", "note", "batches",
         "training")
COLUMNS = ("step_gap", "steps", "begin_gap", "length", "samples", "tokens", "shortest", "longest", "deviation", *PARTS)


@dataclasses.dataclass
class Log:
    run: str = ""
    rank: int = -1
    world_size: int = 0
    command: str = ""
    steps: list = dataclasses.field(default_factory=list)  # dictionaries; times in microseconds, None is unseen
    marks: list = dataclasses.field(default_factory=list)  # (kind, text)
    memory: list = dataclasses.field(default_factory=list)  # (host, device)
    lost_steps: int = 0
    ended: bool = False
    status: int = None
    last_sign: int = 0
    last_part: str = None
    damaged: int = 0


class _Numbers:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed(self):
        value = self.take()
        return (value >> 1) ^ -(value & 1)

    def text(self):
        size = self.take()
        self.at += size
        return self.data[self.at - size : self.at]


def read(path):
    log, data, at = Log(), path.read_bytes(), 0
    while at < len(data):
        is_frame = data[at : at + 4] == b"RSL1" and at + 12 <= len(data)
        size, checksum = struct.unpack_from("<II", data, at + 4) if is_frame else (0, -1)
        payload = data[at + 12 : at + 12 + size]
        if len(payload) == size and zlib.crc32(payload) == checksum:
            _take_block(log, payload)
            at += 12 + size
        else:
            at += 1
            log.damaged += 1
    return log


def _take_block(log, payload):
    numbers = _Numbers(payload)
    log.last_sign = numbers.signed()
    part = numbers.take()
    log.last_part = PARTS[part - 1] if part else None
    if part:
        numbers.signed()
    while numbers.at < len(payload):
        section, content = numbers.take(), _Numbers(numbers.text())
        if section == 1:
            log.run = content.text().decode()
            log.rank, log.world_size = content.signed(), content.signed()
            content.text()
            log.command = content.text().decode()
        elif section == 2:
            _take_steps(log, content)
        elif section == 3:
            content.signed()
            log.memory.append((content.signed(), content.signed()))
        elif section == 4:
            content.signed(), content.signed()
            log.marks.append((MARKS[content.take()], content.text().decode()))
        elif section == 5:
            log.lost_steps = content.signed()
        elif section == 7:
            log.ended = True
            log.status = content.signed() if content.data else None


def _take_steps(log, numbers):
    count, columns = numbers.take(), numbers.take()
    table = []
    for _ in range(columns):
        form = numbers.take()
        value = numbers.signed() if form == 1 else -1 if form == 0 else 0
        column = []
        for _ in range(count):
            value += numbers.signed() if form == 2 else 0
            column.append(value)
        table.append(column)
    number = end = 0
    for row in zip(*table):
        step = {name: None if value == -1 and name not in ("step_gap", "begin_gap") else value
                for name, value in zip(COLUMNS, row)}
        step["step"], step["begin"] = number + step["step_gap"], end + step["begin_gap"]
        number, end = step["step"] + step["steps"], step["begin"] + step["length"]
        log.steps.append(step)


def wait_for_steps(process, path, is_enough):
    """Waits until the log of the running process has steps of which `is_enough` is true."""
    while not path.exists() or not is_enough(read(path).steps):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)

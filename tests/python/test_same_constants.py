"""What C++ and Python both say is the same in both."""

import re

import pytest

HANG = ("profiler/session/hang_report.cc", "_hang_table.py")
NUMBERS = [  # the file in C++ and what stands before its number, the file in Python and the constant's name
    (HANG[0], "kTableInterval = std::chrono::seconds(", HANG[1], "_WRITE_SECONDS"),
    (HANG[0], "kOverdue_ns = ", HANG[1], "_OVERDUE_SECONDS"),
    (HANG[0], "kOverdueSteps = ", HANG[1], "_OVERDUE_STEPS"),
    (HANG[0], "kFewestSteps = ", HANG[1], "_FEWEST_STEPS"),
    (HANG[0], "kStart_ns = ", HANG[1], "_START_SECONDS"),
    (HANG[0], "kMostCollectives = ", HANG[1], "_MOST_COLLECTIVES"),
    (HANG[0], "kMostOpenCollectives = ", HANG[1], "_MOST_PENDING"),
    (HANG[0], "kBusyShare = ", HANG[1], "_BUSY_SHARE"),
    (HANG[0], "kStarved_ns = ", HANG[1], "_STARVED_SECONDS"),
    ("profiler/python/training_loop.cc", "kBackwardsWithoutStep = ", "_training_signs.py", "BACKWARDS_WITHOUT_STEP"),
    ("profiler/schedule.h", "kMost = ", "_schedule.py", "_MOST"),
]


@pytest.fixture(scope="module")
def product(repo_root):
    """The texts of the product's C++ files."""
    folders = ("base", "machine", "profiler", "trace", "tuner", "watch")
    files = [path for folder in folders for path in (repo_root / folder).rglob("*.*")]
    return [path.read_text() for path in files if path.suffix in (".cc", ".h") and not path.stem.endswith("_test")]


def python_text(repo_root, name):
    return (repo_root / "python" / "redline" / name).read_text()


@pytest.mark.parametrize(("file", "before", "python_file", "name"), NUMBERS, ids=[row[3] for row in NUMBERS])
def test_a_number_is_the_same(repo_root, file, before, python_file, name):
    said = re.search(rf"{re.escape(before)}([\d.']*)", (repo_root / file).read_text())[1].replace("'", "")
    python_said = re.search(rf"^{name} = ([\d.*]+)", python_text(repo_root, python_file), re.MULTILINE)[1]
    assert float(said or 1) == eval(python_said)  # nothing stands before a single kOneSecond_ns


def test_the_kinds_of_a_step_log_have_the_same_order(repo_root):
    python_names = re.findall(r"^\(?([A-Z_,\s]+)\)? = range\((?:9|10)\)", python_text(repo_root, "_step_log.py"), re.MULTILINE)
    text = (repo_root / "trace" / "emit" / "step_log_terms.h").read_text()
    for kind, names in zip(("LogPart", "LogMarkKind"), python_names, strict=True):
        body = re.search(rf"enum class {kind} : uint8_t {{(.*?)}};", text, re.DOTALL)[1]
        in_cpp = re.findall(r"^ *k(\w+)", body, re.MULTILINE)
        in_python = [name.strip().replace("_", "") for name in names.split(",")]
        # A mark and a part of one thing have two names in Python, such as COMPILED and COMPILE.
        assert [name[:4].upper() for name in in_cpp] == [name[:4] for name in in_python], kind


def test_all_know_the_same_launchers(repo_root, product):
    lists = [re.findall(r'\{"(\w*RANK|\w*PROCID)", "(\w+)"\}', text) for text in product]
    lists = [pairs for pairs in lists if pairs]
    assert lists
    in_python = re.findall(r'^    \("(\w+)", "(\w+)"\),', python_text(repo_root, "_rank.py"), re.MULTILINE)
    assert all(pairs == in_python for pairs in lists), (lists, in_python)


def test_all_ask_for_stacks_by_the_same_signal(repo_root, product):
    files = (repo_root / "python" / "redline").glob("*.py")
    for texts in (product, [path.read_text() for path in files]):
        found = [re.findall(r"(?:SIGRTMIN \+ |kAskedBy = )(\d+)", text) for text in texts]
        assert {number for numbers in found for number in numbers} == {"13"}

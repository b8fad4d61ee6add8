"""What C++ and Python both say is the same in both."""

import importlib.util
import re

import pytest

HANG = ("profiler/session/hang_report.cc", "_hang_table.py")
NUMBERS = [  # the file in C++ and what stands before its number, the file in Python and the constant's name
    (HANG[0], "kTableInterval = std::chrono::seconds(", HANG[1], "_WRITE_SECONDS"),
    (HANG[0], "kOverdueNs = ", HANG[1], "_OVERDUE_SECONDS"),
    (HANG[0], "kOverdueSteps = ", HANG[1], "_OVERDUE_STEPS"),
    (HANG[0], "kFewestSteps = ", HANG[1], "_FEWEST_STEPS"),
    (HANG[0], "kStartNs = ", HANG[1], "_START_SECONDS"),
    (HANG[0], "kMostCollectives = ", HANG[1], "_MOST_COLLECTIVES"),
    (HANG[0], "kMostOpenCollectives = ", HANG[1], "_MOST_PENDING"),
    (HANG[0], "kBusyShare = ", HANG[1], "_BUSY_SHARE"),
    (HANG[0], "kStarvedNs = ", HANG[1], "_STARVED_SECONDS"),
    ("profiler/python/training_loop.cc", "kBackwardsWithoutStep = ", "_training_signs.py", "BACKWARDS_WITHOUT_STEP"),
    ("profiler/python/training_loop.cc", "kBackwardsWithinStep = ", "_training_signs.py", "BACKWARDS_WITHIN_STEP"),
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
    assert float(said or 1) == eval(python_said)  # nothing stands before a single kOneSecondNs


def test_the_end_of_a_process_has_the_same_words(repo_root):
    words = re.search(r'^_PROCESS_ENDS = (".*?")', python_text(repo_root, "_library.py"), re.MULTILINE)[1]
    assert f"misuse({words})" in (repo_root / "profiler" / "session" / "recorder.cc").read_text()


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


def test_the_page_the_viewer_and_pictures_have_the_same_colours(repo_root):
    """Only those of less important classes differ: they were chosen for the background that they stand on."""
    theme = (repo_root / "viewer/widgets/theme.cc").read_text()
    page = (repo_root / "trace/report/page/page.css").read_text()
    of_classes = re.findall(r"\{((?:\"#\w{6}\",?\s*){11})\},\s*\{", theme)
    of_page = re.findall(r":root \{(.*?)\}", page, re.DOTALL)
    names = ("operator", "annotation", "kernel", "communication", "memcpy", "dataloader", "runtime")
    viewer = [dict(zip(names, re.findall(r"#\w{6}", found), strict=False)) for found in of_classes]
    for name, ours in (("accent", "accent"), ("ink", "text"), ("idle", "idle")):
        for of_theme, colour in zip(viewer, re.findall(rf'theme\.{ours} = QColor\("(#\w+)"\)', theme), strict=True):
            of_theme[name] = colour
    for of_theme, of_css in zip(viewer, of_page[:2], strict=True):  # the third is for paper
        css = dict(re.findall(r"--(\w+): (#\w{6})", of_css))
        for name in ("annotation", "kernel", "communication", "memcpy", "dataloader", "accent", "ink", "idle"):
            assert css[name] == of_theme[name], name

    spec = importlib.util.spec_from_file_location("drawing", repo_root / "scripts/drawing.py")
    drawing = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(drawing)
    assert list(drawing.FILL.values()) == [viewer[0][name] for name in (*names, "idle")]
    assert (drawing.LIGHT["text"], drawing.LIGHT["accent"]) == (viewer[0]["ink"], viewer[0]["accent"])


def test_an_exception_and_its_line_on_stderr_are_the_same_lack_of_memory(repo_root):
    texts = (repo_root / "tuner/trial/outcome_test.cc").read_text().split("kTexts[] = {")[1].split("\n};")[0]
    python = python_text(repo_root, "_memory_errors.py")
    pattern_of = {name: eval(f"({re.search(rf'^{name} = re.compile.(.*?).$(?=.^_)', python, re.MULTILINE | re.DOTALL)[1]})")
                  for name in ("_DEVICE", "_HOST")}
    seen = {"_DEVICE": 0, "_HOST": 0}
    for literals, outcome in re.findall(r'\{((?:\s*".*")+),\s*Outcome::(\w+)\}', texts):
        text = "".join(re.findall(r'"((?:\\.|[^"\\])*)"', literals)).replace(r"\n", "\n")
        raised = re.match(r"(?:\[rank1\]: )?[\w.]+Error: (.*)", text, re.DOTALL)
        if raised is None:
            continue
        found = {name for name, pattern in pattern_of.items() if re.search(pattern, raised[1])}
        # What else tells of the host's memory, such as a dead worker, is no exception or one of another type.
        is_of_host = outcome == "kHostOom" and re.search("CPUAllocator|primitive", text)
        assert found == ({"_DEVICE"} if outcome == "kGpuOom" else {"_HOST"} if is_of_host else set()), text
        for name in found:
            seen[name] += 1
    assert seen["_DEVICE"] > 10 and seen["_HOST"] == 3

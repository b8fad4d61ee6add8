"""In the pages links lead somewhere, lines fit, commands work, and shown outputs are what programs print today."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from conftest import BUILD, ROOT
from pages import blocks, clone_in, outputs, session, shape, tracked_pages

LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")
PAGES = tracked_pages()
IDS = [str(page.relative_to(ROOT)) for page in PAGES]
# Rows of tables may be longer, because they cannot be broken.
WIDTH = 120


def prose(page):
    """The lines of a page without code blocks, as [(number, line)]."""
    lines, inside = [], False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            inside = not inside
        elif not inside and not line.startswith("    "):
            lines.append((number, line))
    return lines


def anchor(title):
    """The anchor that GitHub makes of a heading."""
    text = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", title).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(page):
    found, seen = set(), {}
    for _, line in prose(page):
        if heading := re.match(r"#+ (.*)", line):
            name = anchor(heading[1])
            count = seen[name] = seen.get(name, -1) + 1
            found.add(f"{name}-{count}" if count else name)
    return found


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_local_links_lead_somewhere(page):
    dead = []
    for number, line in prose(page):
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            path, _, name = target.partition("#")
            if re.match(r"[a-z]+:", path):
                continue
            file = (page.parent / path).resolve() if path else page
            if not file.exists() or (name and file.suffix == ".md" and name not in anchors(file)):
                dead.append(f"{number}: {target}")
    assert dead == []


def test_a_dead_link_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A title, `with` code\n[x](#a-title-with-code) [y](#nowhere) [z](gone.md)\n")
    assert anchors(page) == {"a-title-with-code"}
    with pytest.raises(AssertionError, match="nowhere.*gone"):
        test_local_links_lead_somewhere(page)


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_lines_fit(page):
    long = [number for number, line in enumerate(page.read_text().splitlines(), 1)
            if len(line) > WIDTH and not line.startswith("|")]
    assert long == []


BARE_PROSE = re.compile(r"    (?:\$ )?(?:redline|redline-viewer|autotune|kill|pip|(?:\./)?scripts/\S+|gpu-bundle/\S+)"
                        r"(?: \S+)*? {2,}(?!#)\S")


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_what_explains_a_command_is_a_comment_of_the_shell(page):
    assert [line for line in page.read_text().splitlines() if BARE_PROSE.match(line)] == []


def test_the_readme_is_short_and_the_same_in_chinese():
    english, chinese = ((ROOT / name).read_text() for name in ("README.md", "README.zh-CN.md"))
    assert len(english.splitlines()) <= 120 and len(chinese.splitlines()) <= 120
    assert [(block.kind, block.lines) for block in blocks(english)] == [
        (block.kind, block.lines) for block in blocks(chinese)]
    indented = re.compile(r"^    (\S+(?: \S+)*?)(?:  +.*)?$", re.M)
    assert indented.findall(english) == indented.findall(chinese) != []
    assert {*LINK.findall(english)} - {"README.zh-CN.md"} == {*LINK.findall(chinese)} - {"README.md"}


# It is chance which operators and findings are listed, and how often a search tries something. So only half of these
# lines, and of those about the machine, must have the words that the page has.
SAME = 0.5
# Below these headings each line has the same words whatever was measured.
FIXED = re.compile(r"STEP|SAMPLES|TIME OF")
HEADING = re.compile(r"[A-Z]{4,}")


def parts(lines):
    """[(heading, [shape of each line below it])] of an output. Lines above the first heading have the heading ""."""
    found = [("", [])]
    for line in lines:
        if HEADING.match(line):
            found.append((shape(line).split(" #")[0], []))
        if line.strip():
            found[-1][1].append(shape(line))
    return found


def assert_same_shape(command, shown, printed):
    is_cut = bool(shown) and shown[-1].strip() == "…"
    expected, found = parts(shown[: len(shown) - is_cut]), parts(printed)
    if is_cut:
        found = found[: len(expected)]
    assert [heading for heading, _ in expected] == [heading for heading, _ in found], command
    for (heading, wanted), (_, had) in zip(expected, found, strict=True):
        missing = [line for line in wanted if line not in had]
        allowed = 0 if FIXED.match(heading) else (1 - SAME) * len(wanted)
        if command.startswith("redline compare"):  # whether it can tell, and what it names, depends on other work
            allowed = len(wanted)
        assert len(missing) <= allowed, (command, heading, missing, had)


def with_less_of_the_same(command):
    """The command with a smaller search and fewer runs, so that the test takes one minute instead of four."""
    return command.replace("--budget 90s", "--budget 30s").replace("compare -n 4", "compare -n 2")


@pytest.mark.long  # the demo and the quick commands of all pages are shorter
@pytest.mark.parametrize("page", ["README.md", "docs/getting-started.md"])
def test_pasted_into_a_shell_it_works(page, program, python, tmp_path):
    program("redline-viewer")
    steps = [(block, *step) for block in blocks((ROOT / page).read_text()) if block.kind in ("sh", "console")
             for step in session(block)]
    assert len(steps) > 5
    clone_in(tmp_path, BUILD / "bin")
    printed, status = outputs([with_less_of_the_same(command) for _, command, _ in steps], tmp_path)
    assert status == 0, printed[-1]
    for (block, command, shown), lines in zip(steps, printed, strict=True):
        if block.kind == "console":
            assert_same_shape(command, shown, lines)
    assert (tmp_path / "best.json").exists() and (tmp_path / "after.png").read_bytes().startswith(b"\x89PNG")


def test_a_changed_output_is_noticed():
    shown = ["file", "", "STEP  67.3 ms ± 12.6     where it goes", "  cpu    33.5 ms  49.9 %  ████", "",
             "OPERATORS   calls", "  aten::mm   3  9.0 us", "  aten::add  5  1.0 us"]
    now = ["file", "", "STEP  1.2 s ± 0.1 where it goes", "  cpu  9 us 1.0 % █", "", "OPERATORS calls", "  aten::mm 1 2 us",
           "  aten::mul  5  1.0 us", "", "MEMORY"]
    assert_same_shape("x", shown, now[:-1])
    assert_same_shape("x", [*shown, "…"], now)
    for changed in (now, now[:5], [*now[:3], *now[5:-1]], [*now[:3], "  host  9 us 1.0 % █", *now[4:-1]], now[1:-1],
                    [*now[:6], "  aten::div  3  9.0 us", *now[7:-1]]):
        with pytest.raises(AssertionError):
            assert_same_shape("x", shown, changed)


def test_trials_of_another_search_have_the_same_shape():
    rows = (" 1   off    0    32          360 ± 6   890.0 MiB  default, disturbed",
            "12  bf16    2   312        1,693 ± 38     1.1 GiB",
            " 3   off    2   312         693 ± 38     1.1 GiB  best so far",
            " 4   off    2    96         440 ± 20   961.1 MiB  stopped early, disturbed")
    assert len({shape(row) for row in rows}) == 1
    assert shape(rows[0]) != shape("recording the default: batch_size 32")


def test_an_operator_of_another_comparison_has_the_same_shape():
    rows = ("  aten::div                                62→3.5    5.0 ms  162.1 us    -4.8 ms",
            "  aten::div                                    62    5.0 ms    6.1 ms   ~+1.1 ms",
            "  aten::div                              <0.1→312    5.0 ms    6.1 ms    +1.1 ms")
    assert len({shape(row) for row in rows}) == 1
    assert shape(rows[0]) != shape(rows[0].replace("div", "mul"))


def help_of(program):
    """{subcommand: help} of a program; the program's own help is under ""."""

    def ask(*words):
        return subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True).stdout

    top = ask()
    listed = re.search(r"\nSubcommands:\n(.*?)\n\n", top, re.S)
    names = re.findall(r"^  ([\w-]+) ", listed[1], re.M) if listed else []
    if program.name == "autotune":
        names = ["show", "export", "apply"]
    return {"": top, **{name: ask(name) for name in names}}


@pytest.fixture(scope="session")
def helps(program):
    return {name: help_of(program(name)) for name in ("redline", "autotune", "redline-viewer")}


# Commands in the pages. A command with a placeholder is none: redline record …, redline X.
SHOWN = re.compile(r"(?:^|[`$]\s*|-- |\s{4}|&& )((?:redline-viewer|redline|autotune)(?: [^`|&;#]*)?)", re.M)


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_option_shown_exists(page, helps):
    wrong = []
    for command in SHOWN.findall(page.read_text().replace("\\\n", " ")):
        own = re.split(r" -- |\s{2,}|\n|'|\)", command)[0].split()
        name, words = own[0], own[1:]
        known = helps[name]
        subcommand = words[0] if words and words[0] in known else ""
        if name == "redline" and words and re.fullmatch(r"[a-z-]+", words[0]) and not subcommand:
            wrong.append(command)
        for word in words:
            option = re.match(r"(--[a-z][a-z-]*|-[a-z]\b)", word)
            if option and option[1] not in known[subcommand] and option[1] not in known[""]:
                wrong.append(f"{command}: {option[1]}")
    assert wrong == []


def test_reference_and_troubleshooting_are_up_to_date(succeed, program, python):
    """docs/troubleshooting.md has every message that the sources can print, docs/reference every option."""
    program("redline-viewer")
    succeed([python, ROOT / "scripts/refresh-reference", "--check"], environment={"REDLINE_BUILD": str(BUILD)})


def test_messages_are_found_as_programs_print_them():
    """Looks for a few messages that tests in other files see printed."""
    sys.path.insert(0, str(ROOT / "scripts"))
    from messages import all_messages

    texts = [message.text for message in all_messages()]
    assert len(texts) > 150
    for words in ("no process of yours is recorded", "another autotune is using it", "cannot be less than",
                  "nothing was recorded: the command made", "Choose another file with -o", "only root may read GPU",
                  "profile.step() outside the running profile records nothing", "stopped early: slower than the best",
                  "Give a trace file", "no slice has this name", "is no change. Give loader=free"):
        assert any(words in text for text in texts), words
    assert "mean_kernel_ns" not in texts, "a key of the advice"


def test_pictures_of_concepts_are_up_to_date(succeed, python, tmp_path):
    succeed([python, ROOT / "scripts/concept-pictures", tmp_path])
    kept = {path.name: path.read_text() for path in (ROOT / "docs/concepts").iterdir()}
    assert kept == {path.name: path.read_text() for path in tmp_path.iterdir()}
    page = (ROOT / "docs/concepts.md").read_text()
    assert [name for name in kept if f"concepts/{name})" not in page] == []


@pytest.mark.parametrize("script", ["concept-pictures", "install-peers", "recording-picture", "refresh-pages",
                                    "refresh-reference", "sanitizers", "viewer-pictures"])
def test_a_script_that_is_asked_for_help_makes_nothing(run, succeed, tmp_path, script):
    # A copy, because it would write into the folders around it.
    (tmp_path / "scripts").mkdir()
    for name in (script, "drawing.py", "messages.py"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts")
    done = succeed([tmp_path / "scripts" / script, "--help"], cwd=tmp_path)
    assert done.stdout.startswith("usage: "), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["scripts"]
    assert run([tmp_path / "scripts" / script, "--hlep"], cwd=tmp_path).returncode == 2


# Commands that need no training and end by themselves.
QUICK = re.compile(r"(?:redline (?:report|diff|merge|export|doctor|monitor --once)|autotune (?:show|export|apply)) [^|]*$")
PLACEHOLDER = re.compile(r"\b[A-Z]{3,}\b|…|\[")


def quick_commands(page):
    """The commands in a page's code that can run in a folder with traces/, before/, after/ and a study."""
    lines = [line for block in blocks(page.read_text()) if block.kind in ("", "sh", "console", "text")
             for line in block.lines] if "reference" not in page.parts else []
    text = page.read_text()
    lines += [line.strip() for line in text.splitlines() if line.startswith("    ")]
    lines += [re.sub(r"\s+", " ", code) for code in re.findall(r"`((?:redline|autotune) [^`]*)`", text)]
    found = []
    for line in dict.fromkeys(lines):
        command = re.split(r"\s{2,}| \| | > ", line.removeprefix("$ "))[0].strip()
        if QUICK.match(command + " ") and not PLACEHOLDER.search(command):
            found.append(command)
    return found


@pytest.fixture(scope="module")
def workplace(program, python, torchrun, train_cifar, tmp_path_factory):
    folder = tmp_path_factory.mktemp("workplace")
    subprocess.run([program("redline"), "record", "-o", folder / "traces", "--", *torchrun, "--nproc_per_node", "2",
                    train_cifar, "--steps", "12"], check=True, capture_output=True, timeout=300)
    for name in ("before", "after"):
        (folder / name).symlink_to("traces")
    search = [program("autotune"), "--knob", "x=1,2,3,4,5", "--metric", "rate ([0-9.]+)", "--max-trials", "6", "--", "sh",
              "-c", "echo rate {x}"]
    subprocess.run(search, cwd=folder, check=True, capture_output=True, timeout=300)
    return folder


def operands(command):
    """The words of a command that name its input."""
    words = re.sub(r" (?:-o \S+|--(?:format|sqlite|trial|top) \S+)", "", command).split()[2:]
    return [word for word in words if not word.startswith("-")]


def test_quick_commands_of_all_pages_work(succeed, program, python, workplace):
    """Only commands whose files exist run, because a page may show a trace that this folder does not have."""
    environment = {"PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}", "REDLINE_PYTHON": str(python)}
    everywhere = {command for page in PAGES for command in quick_commands(page)}
    ran = []
    for command in sorted(everywhere):
        reads = operands(command)
        alone = re.match(r"redline (?:doctor|monitor)", command)
        if not alone and (not reads or not all((workplace / word).exists() for word in reads)):
            continue
        succeed(["bash", "-c", command], environment=environment, cwd=workplace)
        ran.append(command)
    print("\n".join(ran))
    assert len(ran) >= 8

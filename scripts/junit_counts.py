"""Counts the tests in JUnit XML files. For each file it prints "RAN BAD": how many ran (without skipped ones) and how
many failed. With --skipped it prints one line for all files: how many were skipped, and why."""

import collections
import re
import sys
import xml.etree.ElementTree as ElementTree

MOST_REASONS = 6


def cases(path):
    return ElementTree.parse(path).getroot().iter("testcase")


def is_skipped(case):
    return case.find("skipped") is not None or case.get("status") in ("notrun", "disabled")


def counts(path):
    ran = bad = 0
    for case in cases(path):
        if is_skipped(case):
            continue
        ran += 1
        bad += case.find("failure") is not None or case.find("error") is not None
    return ran, bad


def reason(case):
    """Why a test was skipped. pytest has it in an attribute; of GoogleTest's skips CTest keeps what the test
    printed."""
    skipped = case.find("skipped")
    said = skipped.get("message", "") if skipped is not None else ""
    printed = re.search(r"Skipped\n(.+)", case.findtext("system-out") or "")
    if printed:
        said = printed[1]
    # Reasons that name a file become one reason.
    return re.sub(r"^\S+ is absent: ", "", said.removeprefix("Skipped: ").strip()) or "no reason given"


def skipped(paths):
    """"12 skipped (9: no shared traces here; 3: needs nvcc)"; "0 skipped" where none was."""
    reasons = collections.Counter(reason(case) for path in paths for case in cases(path) if is_skipped(case))
    told = [f"{count}: {why}" for why, count in reasons.most_common(MOST_REASONS)]
    if len(reasons) > MOST_REASONS:
        told.append(f"{reasons.total() - sum(n for _, n in reasons.most_common(MOST_REASONS))}: others")
    return f"{reasons.total()} skipped" + (f" ({'; '.join(told)})" if told else "")


if __name__ == "__main__":
    if sys.argv[1] == "--skipped":
        print(skipped(sys.argv[2:]))
    else:
        for name in sys.argv[1:]:
            print(*counts(name))

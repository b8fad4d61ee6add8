"""Prints "RAN BAD" for a JUnit XML file: the tests that ran (skipped ones left out) and that failed."""

import sys
import xml.etree.ElementTree as ElementTree


def counts(path):
    ran = bad = 0
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            continue
        ran += 1
        bad += case.find("failure") is not None or case.find("error") is not None
    return ran, bad


if __name__ == "__main__":
    print(*counts(sys.argv[1]))

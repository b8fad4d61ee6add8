"""Tests scripts/junit_counts.py, which makes the last line of scripts/test, on files that CTest and pytest write."""

import subprocess
import sys

from conftest import ROOT

CTEST = """<testsuite>
<testcase name="Ran" status="run"/>
<testcase name="Bad" status="fail"><failure message="Failed"/></testcase>
<testcase name="Shared" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
<system-out>[ RUN      ] Shared
x_test.cc:9: Skipped
no shared traces here
[  SKIPPED ] Shared (0 ms)</system-out></testcase>
</testsuite>"""
PYTEST = "import pytest\ndef test_a(): pytest.skip('/x/shared is absent: these read shared data')\ndef test_b(): pass\n"


def counted(*arguments):
    command = [sys.executable, ROOT / "scripts/junit_counts.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_skipped_tests_are_counted_by_reason(tmp_path):
    ctest, pytest_xml, script = (tmp_path / name for name in ("ctest.xml", "pytest.xml", "test_x.py"))
    ctest.write_text(CTEST)
    script.write_text(PYTEST)
    ran = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", script, "--junitxml", pytest_xml]
    subprocess.run(ran, check=True, capture_output=True, cwd=tmp_path)
    assert counted(ctest) == "2 1"
    assert counted(pytest_xml) == "1 0"
    told = counted("--skipped", ctest, pytest_xml)
    assert told == "2 skipped (1: no shared traces here; 1: these read shared data)"

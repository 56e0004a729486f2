"""The runner counts what ran, and takes a program that dies for a failure."""

import os
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "lib", "suite"))

import programs  # noqa: E402

_XML = """<testsuites><testsuite name="A">
<testcase name="good" status="run" classname="A"/>
<testcase name="bad" status="run" classname="A"><failure message="x">a.cc:3 boom</failure></testcase>
<testcase name="off" status="notrun" classname="A"/>
</testsuite></testsuites>"""


def test_a_report_is_counted_case_by_case(tmp_path):
    xml = tmp_path / "r.xml"
    xml.write_text(_XML)
    outcome = programs.count("p", 1, "[ RUN      ] A.bad\nthe words\n[  FAILED  ] A.bad (0 ms)\n", str(xml))
    assert outcome.passed == 1
    assert outcome.failures == [("p: A.bad", "the words"), ("p: A.off did not run", "")]


@pytest.mark.parametrize("code, output, passed, failed", [
    (0, "whatever", 1, 0),
    (0, "Ran 12 tests in 0.1s\n\nOK", 12, 0),
    (1, "Ran 12 tests in 0.1s\n\nFAILED (failures=1, errors=2)", 9, 3),
    (1, "5 passed, 2 failed", 5, 2),
    (-11, "[       OK ] A.one (0 ms)\n[ RUN      ] A.two\n", 1, 1),
    ("no end within 900 s", "", 0, 1),
])
def test_programs_without_a_report(tmp_path, code, output, passed, failed):
    outcome = programs.count("p", code, output, str(tmp_path / "none.xml"))
    assert (outcome.passed, len(outcome.failures)) == (passed, failed)


def test_a_good_report_of_a_program_that_failed_is_a_failure(tmp_path):
    xml = tmp_path / "r.xml"
    xml.write_text(_XML.replace("<failure", "<other").replace("</failure", "</other").replace("notrun", "run"))
    outcome = programs.count("p", 66, "ThreadSanitizer: data race", str(xml))
    assert (outcome.passed, [name for name, _ in outcome.failures]) == (3, ["p (exit code 66)"])

"""Tests of what a JUnit file says of tests that gave no result: each by the name under which
pytest-benchmark knows it.
"""

from __future__ import annotations

from pathlib import Path

from harness.gate.pytest_outcomes import troubles

XML = """\
<testsuites><testsuite>
<testcase classname="deep.test_it" name="test_it[a]" />
<testcase classname="deep.test_it" name="test_it[::b]"><failure message="&#10; it is b &#10;more">text</failure></testcase>
<testcase classname="deep.test_it" name="test_it[skip]"><skipped message="not here" /></testcase>
<testcase classname="deep.test_it.TestMore.TestInner" name="test_broken"><error message="" /><failure message="no" /></testcase>
<testcase classname="deep.test_it" name="test_loud"><system-out>noise</system-out></testcase>
<testcase classname="test_top" name="test_other"><failure message="other" /></testcase>
</testsuite></testsuites>
"""
ASKED = {
    "deep/test_it.py::test_it[a]",
    "deep/test_it.py::test_it[::b]",
    "deep/test_it.py::test_it[skip]",
    "deep/test_it.py::TestMore::TestInner::test_broken",
    "deep/test_it.py::test_loud",
    "deep/test_it.py::test_gone",
    "deep",
}


def test_only_tests_that_were_asked_for_and_gave_no_result_are_told_with_the_first_line_of_the_reason(
    tmp_path: Path,
) -> None:
    (tmp_path / "junit.xml").write_text(XML, encoding="utf-8")
    assert troubles(tmp_path / "junit.xml", ASKED) == {
        "deep/test_it.py::test_it[::b]": "its test failed: it is b",
        "deep/test_it.py::test_it[skip]": "its test was skipped: not here",
        "deep/test_it.py::TestMore::TestInner::test_broken": "its test failed",
    }


def test_without_a_file_that_can_be_read_nothing_is_told(tmp_path: Path) -> None:
    assert troubles(tmp_path / "none.xml", ASKED) == {}
    (tmp_path / "cut.xml").write_text(XML[:200], encoding="utf-8")
    assert troubles(tmp_path / "cut.xml", ASKED) == {}

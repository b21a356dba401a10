"""Tests of a pytest process that failed or were skipped, and the reasons, from its JUnit file
(`--junitxml`, family xunit2).

pytest-benchmark keeps the times of a test that failed after its rounds, and reports nothing about a
test that failed before or was skipped.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

KINDS = {
    "failure": "its test failed",
    "error": "its test failed",
    "skipped": "its test was skipped",
}


def troubles(junit: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the tests without a result and the reason, out of tests by full names
    (`tests/test_a.py::TestX::test_b[1]`).

    Empty if the file is missing or cannot be read: then pytest did not get that far.
    """
    try:
        cases = ElementTree.parse(junit).iter("testcase")
    except (OSError, ElementTree.ParseError):
        return {}
    found: dict[tuple[str, str], str] = {}
    for case in cases:
        for outcome in case:
            if outcome.tag in KINDS:
                place = (case.get("classname", ""), case.get("name", ""))
                found.setdefault(place, _reason(KINDS[outcome.tag], outcome.get("message", "")))
    return {name: found[_place(name)] for name in names if _place(name) in found}


def _reason(kind: str, message: str) -> str:
    first = next((line.strip() for line in message.splitlines() if line.strip()), "")
    return f"{kind}: {first}" if first else kind


def _place(name: str) -> tuple[str, str]:
    """Return a test's dotted class, and its own name with its parameters, which may contain any
    character."""
    before, bracket, parameters = name.partition("[")
    file, *names = before.split("::")
    *classes, own = names or [""]
    return ".".join(
        [file.removesuffix(".py").replace("/", "."), *classes]
    ), own + bracket + parameters

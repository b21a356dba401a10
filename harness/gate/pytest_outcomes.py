"""Which tests of a pytest process failed or were skipped, and why, by its JUnit file (`--junitxml`, family xunit2).

pytest-benchmark keeps the times of a test that failed after its rounds, and says nothing of one that failed before, or was
skipped.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

KINDS = {"failure": "its test failed", "error": "its test failed", "skipped": "its test was skipped"}


def troubles(junit: Path, names: Iterable[str]) -> dict[str, str]:
    """Of tests by their full names (`tests/test_a.py::TestX::test_b[1]`) those that gave no result, with the reason.

    Nothing if there is no such file, or it cannot be read: then pytest did not come so far.
    """
    try:
        cases = ElementTree.parse(junit).iter("testcase")
    except (OSError, ElementTree.ParseError):
        return {}
    found: dict[tuple[str, str], str] = {}
    for case in cases:
        for told in case:
            if told.tag in KINDS:
                place = (case.get("classname", ""), case.get("name", ""))
                found.setdefault(place, _reason(KINDS[told.tag], told.get("message", "")))
    return {name: found[_place(name)] for name in names if _place(name) in found}


def _reason(kind: str, message: str) -> str:
    first = next((line.strip() for line in message.splitlines() if line.strip()), "")
    return f"{kind}: {first}" if first else kind


def _place(name: str) -> tuple[str, str]:
    """Its class, dotted, and its own name with its parameters, which may hold anything."""
    before, bracket, parameters = name.partition("[")
    file, *names = before.split("::")
    *classes, own = names or [""]
    return ".".join([file.removesuffix(".py").replace("/", "."), *classes]), own + bracket + parameters

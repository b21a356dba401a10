"""The report as SARIF 2.1.0 (OASIS, 2020), which code hosts show beside the code: a result for each
cell that needs attention.

A cell is shown at the function of its program that grew most, if that was explained, else at the
file that the caller names: GitHub shows no result without a place.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from harness.gate.report.annotations import KINDS, grown_most, place_of, said_of
from harness.gate.report.rows import one_line, worst_first
from harness.gate.report.words import conclusion
from harness.gate.verdict import CellResult, Comparison, Exit, Verdict

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
VERSION = "2.1.0"
RULES: Mapping[Verdict, str] = {
    Verdict.REGRESSED: "the program is slower than base by more than the factor",
    Verdict.WRONG: "the program's results are wrong",
    Verdict.FAILED: "the program gave no number, and base did",
    Verdict.FIXED: "base gave no number, and the program did",
    Verdict.UNMEASURED: "the program was not measured",
    Verdict.INCONCLUSIVE: "the measurements do not tell whether the program is slower",
}
"""Rules by verdict: the kinds of results."""


def sarif(
    comparison: Comparison,
    explained: Sequence[Mapping[str, Any]] = (),
    place: str = "",
    inconclusive: Exit = Exit.INCONCLUSIVE,
    finished: bool = True,
) -> str:
    """Return the SARIF log. `explained` are explanations as in a verdict's file; `place` is the
    file at which a result without an explanation is shown, if not empty."""
    rules = list(RULES)
    results = [
        _result(result, rules.index(result.verdict), explained, place)
        for result in worst_first(comparison)
        if result.verdict in RULES
    ]
    driver = {
        "name": "millrace gate",
        "rules": [
            {
                "id": _name(verdict),
                "shortDescription": {"text": meaning},
                "defaultConfiguration": {"level": KINDS[verdict]},
            }
            for verdict, meaning in RULES.items()
        ],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [
            {
                "executionSuccessful": finished,
                "startTimeUtc": comparison.started_at.replace("+00:00", "Z"),
                "toolExecutionNotifications": [
                    {"level": "note", "message": {"text": one_line(note)}}
                    for note in (*comparison.notes, conclusion(comparison, inconclusive, finished))
                    if one_line(note)
                ],
            }
        ],
        "results": results,
    }
    log = {"$schema": SCHEMA, "version": VERSION, "runs": [run]}
    return json.dumps(log, allow_nan=False, indent=1) + "\n"


def _result(
    result: CellResult, rule: int, explained: Sequence[Mapping[str, Any]], default: str
) -> dict[str, Any]:
    name = one_line(result.cell.name)
    grown = grown_most(result, explained)
    found = place_of(grown) or ((default, 1) if default else None)
    shown: dict[str, Any] = {
        "ruleId": _name(result.verdict),
        "ruleIndex": rule,
        "level": KINDS[result.verdict],
        "message": {"text": f"{name} {result.verdict}: {said_of(result, grown)}"},
        # the same cell in another call is the same result
        "partialFingerprints": {"cell/v1": hashlib.sha256(name.encode()).hexdigest()},
    }
    if found:
        file, line = found
        shown["locations"] = [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(file)},
                    "region": {"startLine": line},
                }
            }
        ]
    return shown


def _name(verdict: Verdict) -> str:
    return str(verdict).replace(" ", "-")

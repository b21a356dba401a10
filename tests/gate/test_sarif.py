"""SARIF logs: they hold to the rules of SARIF 2.1.0 that consumers check, and name what needs
attention."""

from __future__ import annotations

import json

import jsonschema
import pytest
from hypothesis import given

from harness.gate.report.sarif import sarif
from harness.gate.verdict import Verdict
from tests.gate.made_comparisons import CALM, COMPARISONS, comparison, result

TEXT = {
    "type": "object",
    "required": ["text"],
    "properties": {"text": {"type": "string", "minLength": 1}},
}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
PLACE = {
    "type": "object",
    "required": ["physicalLocation"],
    "properties": {
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation"],
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "required": ["uri"],
                    "properties": {"uri": {"type": "string", "pattern": r"^[^\s\\]+$"}},
                },
                "region": {
                    "type": "object",
                    "properties": {"startLine": {"type": "integer", "minimum": 1}},
                },
            },
        }
    },
}
ESSENTIALS = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "additionalProperties": False,
                "properties": {
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "properties": {
                                    "name": {"type": "string", "minLength": 1},
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "type": "object",
                                            "required": ["id"],
                                            "properties": {
                                                "id": {"type": "string", "pattern": r"^\S+$"},
                                                "shortDescription": TEXT,
                                                "defaultConfiguration": {
                                                    "properties": {"level": LEVEL}
                                                },
                                            },
                                        },
                                    },
                                },
                            }
                        },
                    },
                    "invocations": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["executionSuccessful"],
                            "properties": {
                                "executionSuccessful": {"type": "boolean"},
                                "startTimeUtc": {"type": "string", "pattern": r"^\d{4}-.*Z$"},
                                "toolExecutionNotifications": {
                                    "items": {
                                        "required": ["message"],
                                        "properties": {"message": TEXT, "level": LEVEL},
                                    }
                                },
                            },
                        },
                    },
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["message"],
                            "additionalProperties": False,
                            "properties": {
                                "ruleId": {"type": "string"},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "level": LEVEL,
                                "message": TEXT,
                                "locations": {"type": "array", "items": PLACE},
                                "partialFingerprints": {
                                    "type": "object",
                                    "additionalProperties": {"type": "string"},
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}
"""The rules of the schema of SARIF 2.1.0 for the properties that we write."""
RULES = jsonschema.Draft202012Validator(ESSENTIALS)  # made once: that takes as long as 100 checks


def results(*args, **options) -> list[dict]:
    (run,) = json.loads(sarif(*args, **options))["runs"]
    return run["results"]


@given(COMPARISONS)
@CALM
def test_any_comparison_is_a_valid_log(made):
    log = json.loads(sarif(made, place="gate/suite one.yaml"))
    RULES.validate(log)
    for run in log["runs"]:
        rules = run["tool"]["driver"]["rules"]
        assert all(rules[each["ruleIndex"]]["id"] == each["ruleId"] for each in run["results"])


def test_the_essentials_are_checked():
    log = json.loads(sarif(comparison(result("slow", Verdict.REGRESSED))))
    del log["runs"][0]["results"][0]["message"]
    with pytest.raises(jsonschema.ValidationError):
        RULES.validate(log)


def test_cells_that_need_attention_are_results_the_worst_first():
    made = comparison(
        result("fine"), result("doubt", Verdict.INCONCLUSIVE), result("slow", Verdict.REGRESSED)
    )
    found = results(made)
    assert [(each["ruleId"], each["level"]) for each in found] == [
        ("regressed", "error"),
        ("inconclusive", "warning"),
    ]
    assert found[0]["message"]["text"].startswith("slow regressed: ratio ")
    assert "locations" not in found[0]


def test_a_regression_is_at_the_function_that_grew_most_and_others_at_the_suite():
    grown = [{"name": "f", "place": "src/a b.py:7"}]
    made = comparison(result("slow:cpu_s", Verdict.REGRESSED), result("x", Verdict.INCONCLUSIVE))
    places = [
        each["locations"][0]["physicalLocation"]
        for each in results(made, [{"program": "slow", "grown": grown}], "suite.yaml")
    ]
    assert places[0] == {"artifactLocation": {"uri": "src/a%20b.py"}, "region": {"startLine": 7}}
    assert places[1]["artifactLocation"]["uri"] == "suite.yaml"


def test_a_cell_has_the_same_fingerprint_in_each_call():
    one, other = (
        results(comparison(result("slow", verdict)))[0]["partialFingerprints"]
        for verdict in (Verdict.REGRESSED, Verdict.INCONCLUSIVE)
    )
    assert one == other

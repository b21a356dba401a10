"""Annotations for GitHub."""

from __future__ import annotations

from harness.gate.report.annotations import annotations
from harness.gate.verdict import Verdict
from tests.gate.made_comparisons import comparison, result


def test_cells_that_need_attention_are_lines_the_worst_first() -> None:
    made = comparison(
        result("fine"),
        result("doubt", Verdict.INCONCLUSIVE),
        result("slow: a, b", Verdict.REGRESSED),
        result("gone", Verdict.FAILED, reason="exit code 1\n100 %"),
    )
    lines = annotations(made)
    assert len(lines) == 3
    assert {line.partition("title=")[2].partition("::")[0] for line in lines} == {
        "slow%3A a%2C b regressed",
        "gone failed",
        "doubt inconclusive",
    }
    assert lines[-1].startswith("::warning title=doubt")
    assert any(line.endswith("::exit code 1 100 %25") for line in lines)
    assert all("\n" not in line for line in lines)


def test_regression_is_shown_at_the_function_that_grew_most() -> None:
    grown = [{"name": "f (src/a.py)", "place": "src/a.py:7"}]
    explained = [{"program": "other", "grown": grown}, {"program": "slow", "grown": grown}]
    made = comparison(result("slow:cpu_s", Verdict.REGRESSED))
    (line,) = annotations(made, explained)
    assert line.startswith("::error file=src/a.py,line=7,title=slow%3Acpu_s regressed::ratio ")
    assert line.endswith("; most grew f (src/a.py)")
    (line,) = annotations(made, [{"program": "slow", "grown": [{"name": "main", "place": ""}]}])
    assert line.startswith("::error title=")


def test_github_shows_ten_of_a_kind() -> None:
    made = comparison(*(result(f"c{n}", Verdict.REGRESSED) for n in range(12)))
    assert len(annotations(made)) == 10

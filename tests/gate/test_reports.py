"""Tests of what readers see: tables worst first, marks, sentences, and the same numbers in every
form.
"""

from __future__ import annotations

import csv
import io
import math
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given

from harness.gate.cell import Metric
from harness.gate.report.junit import junit
from harness.gate.report.markdown import markdown
from harness.gate.report.rows import (
    between,
    legend,
    one_line,
    quantity,
    ratio,
    row,
    side,
    worst_first,
)
from harness.gate.report.table import COLUMNS, table
from harness.gate.report.text import text
from harness.gate.report.words import conclusion
from harness.gate.signed_rank import MAX_EXACT_COUNT, estimate
from harness.gate.verdict import CellResult, Exit, Verdict
from harness.measurement.rank_interval import median_interval
from tests.gate.made_comparisons import CALM, COMPARISONS, comparison, result

ALL = [result(f"cell {verdict}", verdict) for verdict in Verdict]
EVERYTHING = comparison(*ALL)


def names(made, **options):
    return [each.cell.name for each in worst_first(made, **options)]


def test_the_worst_comes_first_and_of_equals_the_larger_ratio():
    slower = result("much slower", Verdict.REGRESSED)
    slower = replace(slower, decision=replace(slower.decision, ratio=2.0))
    assert names(comparison(*ALL, slower)) == [
        "cell wrong results",
        "cell failed",
        "cell not measured",
        "cell no base",
        "much slower",
        "cell regressed",
        "cell inconclusive",
        "cell new",
        "cell removed",
        "cell ok",
        "cell improved",
    ]


def test_only_changed_leaves_out_what_is_ok_and_nothing_else():
    assert set(names(EVERYTHING)) - set(names(EVERYTHING, only_changed=True)) == {"cell ok"}


def test_a_row_has_both_sides_with_intervals_the_ratio_its_bounds_and_a_mark():
    assert row(result("a", Verdict.REGRESSED)) == (
        "+",
        "a",
        "409.5 ns ± 0.7 %",
        "442.3 ns ± 0.7 %",
        "1.080",
        "[1.060, 1.100]",
        "regressed",
    )


def test_an_interval_takes_six_samples():
    assert side([1.0, 1.1, 1.2, 1.3, 1.4], "tuples/s") == "1.200 tuples/s"
    assert side([1.0, 1.1, 1.2, 1.3, 1.4, 1.5], "tuples/s") == "1.250 tuples/s ± 20.0 %"
    assert side([], "ns") == "-"


def test_of_very_many_samples_the_median_is_told_in_every_report():
    """Their pairs would take gigabytes. Skewed, so that the median is not the other estimate."""
    values = tuple(100.0 + 1e-7 * k**3 for k in range(MAX_EXACT_COUNT + 1))
    found = median_interval(values)
    assert (
        side(values, "ns")
        == f"{found.median:.1f} ns ± {100 * (found.high - found.median) / found.median:.1f} %"
    )
    many = CellResult(result("a").cell, result("a").decision, values, values[:-1])
    (entry,) = csv.DictReader(io.StringIO(table(comparison(many))))
    assert (float(entry["base"]), float(entry["base_low"]), float(entry["base_high"])) == found
    assert float(entry["head"]) == estimate(values[:-1]) != pytest.approx(found.median, rel=0.01)
    assert f"of more than {MAX_EXACT_COUNT} the median" in text(comparison(many))


@pytest.mark.parametrize(
    ("value", "unit", "told"),
    [
        (12.345, "ns", "12.35 ns"),
        (0.00123, "s", "1.230 ms"),
        (2500.0, "ns", "2.500 µs"),
        (1000.0, "ns", "1.000 µs"),
        (1000.0, "tuples/s", "1,000 tuples/s"),
        (44_300_000.0, "tuples/s", "44,300,000 tuples/s"),
    ],
)
def test_times_are_told_in_the_unit_that_suits_them(value, unit, told):
    assert quantity(value, unit) == told


def test_what_is_not_known_is_a_dash_and_no_bound_is_infinite():
    assert ratio(math.nan) == "-" and between(0.0, math.inf) == "-"
    assert between(1.02, math.inf) == "[1.020, ∞]" and between(0.0, 1.1) == "[0, 1.100]"


def test_the_legend_has_the_marks_that_occur_once():
    assert legend([result("a", Verdict.REGRESSED), result("b")]) == "+ worse"
    assert legend(ALL) == (
        "! head is broken, x not measured, * base has no number, + worse, ~ cannot tell, "
        "* new in head, x gone from head, - better"
    )


SENTENCES = {
    "OK: none of 2 cells is worse by more than 2 %": [result("a"), result("b", Verdict.IMPROVED)],
    "REGRESSED: 1 of 3 cells (a) worse by more than 2 %; cannot tell of b": [
        result("a", Verdict.REGRESSED),
        result("b", Verdict.INCONCLUSIVE),
        result("c"),
    ],
    "INCONCLUSIVE: cannot tell 1 of 1 cells (b): give more time (--time-budget) or a larger "
    "--factor": [result("b", Verdict.INCONCLUSIVE)],
    "WRONG RESULTS of head in 1 of 1 cells (a): whatever its speed, mend that first": [
        result("a", Verdict.WRONG)
    ],
    "NOT MEASURED: no number of 2 of 2 cells (a, b), for the reasons above: a cell that was "
    "not measured is no pass": [result("a", Verdict.FAILED), result("b", Verdict.UNMEASURED)],
    "NO BASE: base has no number of 1 of 1 cells (a): take a base that has them, or leave them "
    "out": [result("a", Verdict.FIXED)],
    "NOTHING MEASURED: there is no cell": [],
}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_last_line_says_the_verdict_and_what_to_do(sentence):
    assert text(comparison(*SENTENCES[sentence])).splitlines()[-1] == sentence


def test_an_unstable_host_is_told_beside_a_regression():
    made = comparison(result("a", Verdict.REGRESSED), control_failed=True)
    assert conclusion(made) == (
        "REGRESSED: 1 of 1 cells (a) worse by more than 2 %; and the control failed: base differs "
        "from itself"
    )
    assert conclusion(comparison(result("a"), control_failed=True)).startswith(
        "HOST UNSTABLE: base differs from itself"
    )
    assert (
        "control: FAILED: base differs from itself (1.001 [0.981, 1.021], 10 blocks of pipeline)"
        in text(made)
    )


def test_a_control_without_blocks_or_bounds_proves_nothing_and_says_so():
    few = result("pipeline", Verdict.INCONCLUSIVE)
    few = replace(few, decision=replace(few.decision, low=0.0, high=math.inf, blocks=2))
    assert (
        "control: too few blocks to say whether base differs from itself (2 of pipeline)"
        in text(comparison(control=few))
    )
    none = replace(few, decision=replace(few.decision, blocks=0))
    assert "control: there was no time to compare base with itself (pipeline)" in text(
        comparison(control=none)
    )
    failed = comparison(
        control=result("pipeline", Verdict.UNMEASURED, reason="base: exit code 3"),
        control_failed=True,
    )
    assert (
        "control: FAILED: base, compared with itself, gave no number of pipeline: base: exit code 3"
        in text(failed)
    )
    told = conclusion(replace(failed, cells=(result("a"),)))
    assert told.startswith("HOST UNSTABLE: base, compared with itself, gave no number")
    assert "control: none" in text(comparison(control=None))


def test_the_policy_of_what_cannot_be_told_is_part_of_the_verdict():
    made = comparison(result("a", Verdict.INCONCLUSIVE))
    assert conclusion(made, Exit.OK).endswith("; let through undecided (--inconclusive pass)")
    assert conclusion(made, Exit.REGRESSED).endswith("; failed (--inconclusive fail)")
    assert "more files a side" in conclusion(replace(made, interleaved=False))


def test_the_last_line_of_an_inconclusive_call_names_the_budget_that_is_needed():
    made = comparison(result("a", Verdict.INCONCLUSIVE), needed_s=1234.5)
    assert conclusion(made) == (
        "INCONCLUSIVE: cannot tell 1 of 1 cells (a): by the noise measured, they need about "
        "21 min 00 s (--time-budget 1260), or a larger --factor"
    )
    assert "about 10 s (--time-budget 10)" in conclusion(replace(made, needed_s=0.3))
    assert "24 h 00 min would not decide them" in conclusion(replace(made, needed_s=1e6))


def test_a_call_without_any_bound_says_that_it_does_not_pass_and_what_it_needs():
    open_cell = result("a", Verdict.INCONCLUSIVE)
    decision = replace(open_cell.decision, low=0.0, high=math.inf, blocks=1)
    made = comparison(replace(open_cell, decision=decision), needed_s=300.0)
    last = text(made, inconclusive=Exit.OK).splitlines()[-1]
    assert "about 5 min 00 s (--time-budget 300)" in last
    assert last.endswith("so --inconclusive pass does not apply (exit code 3)")
    assert "pass does not apply" not in conclusion(made)


def test_the_title_of_the_suite_is_in_every_report_for_people_and_in_junit():
    made = comparison(result("a"), title="calls\nand queues")
    assert text(made).startswith("suite short (calls and queues): head . against main\n")
    assert "suite short (calls and queues): head" in markdown(made)
    properties = ElementTree.fromstring(junit(made)).findall("testsuite/properties/property")
    assert {each.get("name"): each.get("value") for each in properties}["title"] == made.title


def test_an_interrupted_call_has_no_other_verdict():
    made = comparison(result("a"), result("b", Verdict.INCONCLUSIVE), result("c", Verdict.IMPROVED))
    assert (
        text(made, finished=False).splitlines()[-1]
        == "INTERRUPTED: 1 of 3 cells had no verdict yet"
    )
    made = comparison(*made.cells, result("d", Verdict.REGRESSED))
    assert (
        conclusion(made, finished=False)
        == "INTERRUPTED: 1 of 4 cells had no verdict yet; REGRESSED: d"
    )


def test_the_text_has_what_one_needs_to_repeat_and_to_trust_it():
    told = text(EVERYTHING)
    for part in (
        "a" * 40,
        f"{'b' * 40}, with changes that are not in it",
        "factor 1.02, alpha 0.01, seed 7; took 2 min 03 s",
        "note: head has changes",
        "improved: cell improved",
        "control: base does not differ from itself",
        "Hodges-Lehmann",
        "cell failed: no record",
    ):
        assert part in told


def test_if_nothing_has_changed_the_short_text_says_so():
    told = text(comparison(result("a")), only_changed=True)
    assert "nothing has changed in 1 cells" in told and "Hodges" not in told


def test_colour_is_around_lines_that_matter_and_only_if_asked_for():
    made = comparison(result("slow", Verdict.REGRESSED), result("fine"))
    assert "\033" not in text(made)
    coloured = [line for line in text(made, colour=True).splitlines() if "\033" in line]
    assert (
        len(coloured) == 1
        and coloured[0].startswith("\033[31m+  slow")
        and coloured[0].endswith("\033[0m")
    )


@CALM
@given(COMPARISONS)
def test_any_comparison_has_a_text_and_a_table_of_its_rows(made):
    told = text(made)
    assert told.endswith("\n") and told.splitlines()[-1].strip()
    rows = [line for line in markdown(made).splitlines() if line.startswith("| ")]
    assert len(rows) == (len(made.cells) + 2 if made.cells else 0)
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in rows} <= {8}


def test_markdown_has_one_table_worst_first_under_the_verdict():
    lines = markdown(EVERYTHING).splitlines()
    assert lines[0].startswith("### Gate: WRONG RESULTS")
    table_lines = [line for line in lines if line.startswith("|")]
    assert table_lines[0] == "|  | cell | base | head | ratio | bounds | verdict |"
    assert table_lines[2].startswith("| ! | cell wrong results |")


def test_markdown_lets_no_name_break_the_table():
    assert "| a \\| b \\`c\\` |" in markdown(comparison(result("a | b\n`c`")))


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("@all", "@<!-- -->all"),
        ("[me@there]", r"\[me@<!-- -->there\]"),
        ("see #12, GH-12 and !7", r"see \#<!-- -->12, GH-<!-- -->12 and !<!-- -->7"),
        ("https://here", "https:<!-- -->//here"),
        (":heart:", ":<!-- -->heart:"),
        ("&copy; $x$", r"\&<!-- -->copy; \$<!-- -->x\$"),
        ("- a", r"\- a"),
        ("12. a", r"12\. a"),
        ("t.py::test_a[1-x]", r"t.py::test\_a\[1-x\]"),
        ("5 % at 0:37 h", "5 % at 0:37 h"),
    ],
)
def test_markdown_lets_no_name_call_link_or_begin_anything(name, shown):
    told = markdown(comparison(result(name, Verdict.FAILED)))
    assert f"| {shown} |" in told
    assert f"* {shown}: no record" in told


@pytest.mark.parametrize("name", ["=1+2", "+1", "-1", "@a", "＝a"])
def test_csv_holds_no_formula(name):
    """A spreadsheet would execute it."""
    made = comparison(
        result(name, Verdict.FAILED, metric=Metric(name, name), reason=name),
        result("a=1", reason="- so"),
    )
    first, second = csv.DictReader(io.StringIO(table(made)))
    assert [first[column] for column in ("cell", "metric", "unit", "reason")] == [f"'{name}"] * 4
    assert (second["cell"], second["reason"]) == ("a=1", "'- so")


@CALM
@given(COMPARISONS)
def test_csv_has_raw_numbers_one_row_a_cell(made):
    rows = list(csv.DictReader(io.StringIO(table(made))))
    assert [entry["cell"].removeprefix("'") for entry in rows] == [
        one_line(each.cell.name).removeprefix("'") for each in worst_first(made)
    ]
    for entry, each in zip(rows, worst_first(made), strict=True):
        assert int(entry["base_samples"]) == len(each.base)
        assert (float(entry["ratio"]) if entry["ratio"] else math.nan) == pytest.approx(
            each.decision.ratio, nan_ok=True
        )


def test_csv_of_a_cell_that_is_known():
    (entry,) = csv.DictReader(io.StringIO(table(comparison(result("a", Verdict.REGRESSED)))))
    assert tuple(entry) == COLUMNS
    assert (
        entry["base"] == "409.5"
        and entry["unit"] == "ns"
        and entry["lower_is_better"] == "true"
        and entry["blocks"] == "10"
    )
    assert float(entry["base_low"]) < 409.5 < float(entry["base_high"])


@CALM
@given(COMPARISONS)
def test_junit_always_parses_and_counts_its_cases(made):
    suite = ElementTree.fromstring(junit(made)).find("testsuite")
    cases = suite.findall("testcase")
    assert len(cases) == int(suite.get("tests")) == len(made.cells) + (made.control is not None)
    for kind, plural in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert int(suite.get(plural)) == len(suite.findall(f".//{kind}"))
    assert not suite.findall(".//system-out")


KINDS = {
    Verdict.REGRESSED: ["failure"],
    Verdict.WRONG: ["failure"],
    Verdict.FAILED: ["error"],
    Verdict.UNMEASURED: ["error"],
    Verdict.FIXED: ["error"],
    Verdict.INCONCLUSIVE: ["skipped"],
    Verdict.NEW: ["skipped"],
    Verdict.REMOVED: ["skipped"],
    Verdict.OK: [],
    Verdict.IMPROVED: [],
}


def outcomes(made, name, **options):
    case = ElementTree.fromstring(junit(made, **options)).find(f".//testcase[@name='{name}']")
    return [child for child in case if child.tag != "properties"]


@pytest.mark.parametrize("verdict", Verdict)
def test_junit_tells_slow_broken_and_open_apart(verdict):
    found = outcomes(comparison(result("a", verdict)), "a")
    assert [each.tag for each in found] == KINDS[verdict]
    for each in found:
        assert each.get("message").startswith(str(verdict))
        assert each.tag == "skipped" or each.get("type") == str(verdict)


def test_junit_of_what_cannot_be_told_follows_the_policy():
    made = comparison(result("a", Verdict.INCONCLUSIVE))
    assert [each.tag for each in outcomes(made, "a", inconclusive=Exit.REGRESSED)] == ["failure"]
    assert [each.tag for each in outcomes(made, "a", inconclusive=Exit.OK)] == ["skipped"]


def test_junit_skips_a_control_that_did_not_fail_and_says_what_it_showed():
    (found,) = outcomes(comparison(result("a")), "control: base against itself")
    assert found.tag == "skipped"
    assert found.get("message") == (
        "not a test of head: base does not differ from itself (1.001 [0.981, 1.021], 10 blocks of "
        "pipeline)"
    )


def test_junit_has_a_failed_control_as_an_error():
    found = outcomes(comparison(result("a"), control_failed=True), "control: base against itself")
    assert [(each.tag, each.get("type")) for each in found] == [("error", "host unstable")]


def test_junit_has_the_numbers_as_properties():
    root = ElementTree.fromstring(junit(comparison(result("a", Verdict.REGRESSED))))
    found = {
        each.get("name"): each.get("value")
        for each in root.findall(".//testcase[@name='a']/properties/property")
    }
    assert (
        found["ratio"] == "1.080"
        and found["bounds"] == "[1.060, 1.100]"
        and found["head"] == "442.3 ns"
    )
    terms = {
        each.get("name"): each.get("value")
        for each in root.findall("testsuite/properties/property")
    }
    assert (
        terms["exit_code"] == "1" and terms["factor"] == "1.02" and terms["base_commit"] == "a" * 40
    )


def test_a_throughput_keeps_its_unit():
    assert "tuples/s" in row(result("a", metric=Metric("rate", "tuples/s", False))).base


def test_a_cell_with_numbers_of_one_side_only_shows_them():
    broken = result("a", Verdict.FAILED)
    shown = row(CellResult(broken.cell, broken.decision, base=(400.0,)))
    assert (shown.base, shown.head, shown.ratio) == ("400.0 ns", "-", "-")

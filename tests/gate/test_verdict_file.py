"""The verdict's file: it holds all of a comparison, pytest-benchmark can read it, and a harmed one
is refused in a line.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import RunFailed, UserError
from harness.gate.cell import Metric
from harness.gate.errors import UnusableResults
from harness.gate.results import VerdictFile, read_verdict, write_json
from harness.gate.results.verdict_file import as_json, verdict_of
from harness.gate.verdict import Exit, Verdict, exit_code
from tests.gate.made_comparisons import CALM, COMPARISONS, HOST, comparison, result, same


@CALM
@given(COMPARISONS, st.integers(0, 130), st.booleans())
def test_any_comparison_reads_back_as_it_was_written(made, code, finished):
    options = {"pairs": "auto", "time_budget_s": 60.0}
    back = verdict_of(json.loads(as_json(VerdictFile(made, code, finished, options))), "file")
    assert same(back.comparison, made)
    assert (back.exit_code, back.finished, back.options) == (code, finished, options)


@CALM
@given(COMPARISONS)
def test_the_file_is_json_for_the_strictest_reader(made):
    def refuse(word):
        raise AssertionError(word)

    json.loads(as_json(VerdictFile(made, 0)), parse_constant=refuse)


def test_a_file_on_the_disk_has_the_exit_code_of_its_verdict(tmp_path):
    write_json(comparison(result("a"), result("b", Verdict.REGRESSED)), tmp_path / "v.json")
    verdict = read_verdict(tmp_path / "v.json")
    assert verdict.exit_code == Exit.REGRESSED and verdict.finished
    assert [each.cell.name for each in verdict.comparison.cells] == ["a", "b"]


def test_an_interrupted_call_says_so(tmp_path):
    write_json(comparison(result("a")), tmp_path / "v.json", code=130, finished=False)
    gate = json.loads((tmp_path / "v.json").read_text())["gate"]
    assert gate["finished"] is False and gate["exit_code"] == 130


def test_benchmarks_are_heads_samples_in_seconds(tmp_path):
    made = comparison(result("a", Verdict.REGRESSED, key="tests/t.py::test_a"))
    write_json(made, tmp_path / "v.json")
    document = json.loads((tmp_path / "v.json").read_text())
    (benchmark,) = document["benchmarks"]
    assert benchmark["fullname"] == "tests/t.py::test_a"
    assert benchmark["stats"]["data"] == pytest.approx(
        [value * 1e-9 for value in made.cells[0].head]
    )
    assert benchmark["stats"]["rounds"] == 20
    assert benchmark["stats"]["median"] == pytest.approx(409.5 * 1.08e-9)
    assert document["machine_info"]["cpu"] == {"brand_raw": HOST["cpu_model"], "count": 2}
    assert document["commit_info"]["id"] == "b" * 40 and document["commit_info"]["dirty"] is True


@pytest.mark.parametrize(
    ("samples", "stats"),
    [
        (
            (
                10.0,
                11.0,
                12.0,
                13.0,
                14.0,
                90.0,
                1.0,
            ),  # quartiles 10.5, 12 and 13.5: fences at 6 and 18; 21.6 ± 30.5
            {
                "min": 1,
                "max": 90,
                "median": 12,
                "q1": 10.5,
                "q3": 13.5,
                "iqr": 3,
                "ld15iqr": 10,
                "hd15iqr": 14,
                "total": 151,
            },
        ),
        (
            (6.0, 10.0, 10.0, 14.0),
            {"q1": 9, "q3": 11, "iqr": 2, "ld15iqr": 6, "hd15iqr": 14, "total": 40},
        ),  # on the fences
        (
            (5.0,),
            {
                "min": 5,
                "max": 5,
                "mean": 5,
                "stddev": 0,
                "iqr": 0,
                "ld15iqr": 5,
                "hd15iqr": 5,
                "total": 5,
            },
        ),
    ],
)
def test_statistics_of_benchmarks_are_those_that_its_tables_show(tmp_path, samples, stats):
    made = comparison(replace(result("a", metric=Metric("median", "s")), head=samples))
    write_json(made, tmp_path / "v.json")
    (benchmark,) = json.loads((tmp_path / "v.json").read_text())["benchmarks"]
    found = benchmark["stats"]
    assert {name: found[name] for name in stats} == pytest.approx(stats)
    assert found["ops"] == pytest.approx(len(samples) / sum(samples))
    assert found["outliers"] == f"{found['stddev_outliers']};{found['iqr_outliers']}"
    assert (found["stddev_outliers"], found["iqr_outliers"]) == {7: (1, 2), 4: (2, 0), 1: (0, 0)}[
        len(samples)
    ]


def test_what_is_no_time_is_no_benchmark_but_a_cell(tmp_path):
    write_json(
        comparison(result("rate", metric=Metric("sink_tuples_per_s", "tuples/s", False))),
        tmp_path / "v.json",
    )
    document = json.loads((tmp_path / "v.json").read_text())
    assert document["benchmarks"] == []
    assert document["gate"]["cells"][0]["metric"]["lower_is_better"] is False


@pytest.mark.parametrize(
    "harm", [lambda text: "", lambda text: text[: len(text) // 2], lambda text: "speed: 5"]
)
def test_an_empty_or_cut_file_is_refused_in_a_line(tmp_path, harm):
    path = tmp_path / "v.json"
    write_json(comparison(result("a")), path)
    path.write_text(harm(path.read_text()))
    with pytest.raises(UnusableResults) as refusal:
        read_verdict(path)
    assert str(path) in str(refusal.value) and "\n" not in str(refusal.value)


def test_a_file_of_another_version_is_refused_by_its_number(tmp_path):
    path = tmp_path / "v.json"
    write_json(comparison(result("a")), path)
    document = json.loads(path.read_text())
    document["gate"]["schema_version"] = 99
    path.write_text(json.dumps(document))
    with pytest.raises(UserError, match="schema version 99, this program reads 1"):
        read_verdict(path)


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        ("alpha", 0.7, "gate.alpha"),
        ("cells", [{}], "gate.cells[0]"),
        ("seed", "x", "gate.seed"),
        ("new", 1, "gate"),
    ],
)
def test_a_key_that_does_not_fit_is_named(tmp_path, place, value, told):
    path = tmp_path / "v.json"
    write_json(comparison(result("a")), path)
    document = json.loads(path.read_text())
    document["gate"][place] = value
    path.write_text(json.dumps(document))
    with pytest.raises(UserError) as refusal:
        read_verdict(path)
    assert f"{path}: {told}: " in str(refusal.value)


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN"])
@pytest.mark.parametrize("place", ["base", "head"])
def test_a_sample_that_is_not_finite_is_refused_in_a_line(tmp_path, number, place):
    path = tmp_path / "v.json"
    write_json(comparison(result("a")), path)
    document = json.loads(path.read_text())
    document["gate"]["cells"][0][place][3] = "HERE"
    path.write_text(json.dumps(document).replace('"HERE"', number))
    with pytest.raises(
        UnusableResults,
        match=rf"v\.json: a: {place}\[3\] must be a finite number, not {float(number)}$",
    ):
        read_verdict(path)


def test_what_cannot_be_written_is_told_by_name():
    with pytest.raises(RunFailed, match="/dev/full"):
        write_json(comparison(result("a")), "/dev/full")


def test_an_unknown_ratio_and_a_missing_bound_come_back(tmp_path):
    write_json(comparison(result("a", Verdict.FAILED)), tmp_path / "v.json")
    decision = read_verdict(tmp_path / "v.json").comparison.cells[0].decision
    assert math.isnan(decision.ratio) and decision.low == 0.0 and decision.high == math.inf


@pytest.mark.heavy
def test_pytest_benchmark_compares_our_files(tmp_path):
    for name, verdict in (("old", Verdict.OK), ("new", Verdict.REGRESSED)):
        write_json(
            comparison(result("pipeline", verdict), result("mix", verdict)),
            tmp_path / f"{name}.json",
        )
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest_benchmark",
            "compare",
            str(tmp_path / "old.json"),
            str(tmp_path / "new.json"),
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "pipeline" in done.stdout and "mix" in done.stdout and "Median" in done.stdout
    assert "Failed to load" not in done.stdout + done.stderr


@CALM
@given(COMPARISONS)
def test_wrong_comes_before_slow_before_missing_before_unstable_before_open(made):
    """Exit codes in their order, once more in other words."""
    verdicts = [each.verdict for each in made.cells]
    code = exit_code(made)
    if Verdict.WRONG in verdicts:
        assert code == 7
    elif Verdict.REGRESSED in verdicts:
        assert code == 1
    elif verdicts and set(verdicts) <= {Verdict.NEW, Verdict.REMOVED}:
        assert code == 4
    elif not verdicts or Verdict.FAILED in verdicts or Verdict.UNMEASURED in verdicts:
        assert code == 5
    elif Verdict.FIXED in verdicts:
        assert code == 4
    elif made.control_failed:
        assert code == 6
    else:
        assert code == (3 if Verdict.INCONCLUSIVE in verdicts else 0)
    assert exit_code(made, Exit.OK) == (0 if code == 3 else code)

"""The table that decides, on rows by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from harness.bench.bench import Row
from harness.bench.report import (
    ACCURATE_SHARE,
    AS_FEW_WITHIN,
    FOUND_SHARE,
    MET_SHARE,
    REPORTS,
    THREADS,
    as_document,
    as_frame,
    kinds_and_laws,
    summary,
)

ROW = Row(
    law="streams",
    scenario="one",
    kind="peak",
    event="",
    noise=0.0,
    drift=0.0,
    minimum=1,
    maximum=64,
    start=1,
    periods=100,
    seed=1,
    best_throughput=100.0,
    best_threads=4,
    settled_threads=4.0,
    accuracy=1.0,
    settling=6.0,
    overshoot=1.0,
    changes=0.0,
    regret=0.1,
    levels=(1, 2, 4),
)


def tables(rows):
    """Title -> law -> heading -> cell."""
    read = {}
    for part in (
        summary(rows).removesuffix(f"{THREADS.explanation} {THREADS.source}\n").split("**")[1:]
    ):
        if part.startswith(("no noise", "noise", "accurate by kind")):
            title = part
        elif title.startswith("accurate by kind"):
            break
        else:
            heads, _, *lines = [
                [cell.strip() for cell in line.strip("|").split("|")]
                for line in part.splitlines()
                if "|" in line
            ]
            assert heads == ["law", *THREADS.columns]
            read[title] = {cells[0]: dict(zip(heads, cells, strict=True)) for cells in lines}
    return read


def test_the_numbers_are_means_and_medians_of_the_rows():
    rows = [
        replace(
            ROW, scenario="a", accuracy=0.97, settling=4.0, overshoot=2.0, changes=1.0, regret=0.1
        ),
        replace(
            ROW, scenario="b", accuracy=0.96, settling=9.0, overshoot=2.5, changes=0.5, regret=0.3
        ),
        replace(
            ROW, scenario="c", accuracy=1.0, settling=5.0, overshoot=0.0, changes=0.0, regret=0.2
        ),
        replace(
            ROW,
            scenario="d",
            accuracy=0.5,
            settling=70.0,
            overshoot=1.0,
            changes=0.0,
            regret=0.0,
            maximum=256,
        ),
    ]
    assert tables(rows)["no noise"]["streams"] == {
        "law": "streams",
        "accurate, held out": "-",
        "regret, held out": "-",
        "accurate": "50.0%",
        "accuracy": "85.8%",
        "settling (≤ 64)": "5",
        "settling (256)": "70",
        "overshoot > 2": "25.0%",
        "highest": "2.0 ×",
        "changes": "0.38",
        "regret": "15.0%",
    }


@pytest.mark.parametrize(
    ("report", "column", "within", "beyond"),
    [
        (
            "queues",
            f"≥ {FOUND_SHARE:.0%}",
            {"accuracy": FOUND_SHARE},
            {"accuracy": FOUND_SHARE - 1e-6},
        ),
        ("queues", "overshoot > 2", {"overshoot": 2.1}, {"overshoot": 2.0}),
        ("queues", "queues > 2", {"parts_overshoot": 2.1}, {"parts_overshoot": 2.0}),
        ("replicas", "accurate", {"accuracy": ACCURATE_SHARE}, {"accuracy": ACCURATE_SHARE - 1e-6}),
        (
            "replicas",
            "threads ≤ 1.05",
            {"threads": AS_FEW_WITHIN},
            {"threads": AS_FEW_WITHIN + 1e-6},
        ),
        ("replicas", "replicas ≤ 1.05", {"parts": AS_FEW_WITHIN}, {"parts": AS_FEW_WITHIN + 1e-6}),
        ("paced", "met", {"accuracy": MET_SHARE}, {"accuracy": MET_SHARE - 1e-6}),
        ("paced", "threads ≤ 1.05", {"threads": AS_FEW_WITHIN}, {"threads": AS_FEW_WITHIN + 1e-6}),
        (
            "paced",
            "met with ≤ 1.05",
            {"accuracy": MET_SHARE, "threads": AS_FEW_WITHIN},
            {"accuracy": MET_SHARE - 1e-6, "threads": AS_FEW_WITHIN},
        ),
        (
            "paced",
            "met with ≤ 1.05",
            {"accuracy": MET_SHARE, "threads": AS_FEW_WITHIN},
            {"accuracy": MET_SHARE, "threads": AS_FEW_WITHIN + 1e-6},
        ),
    ],
)
def test_limits_of_the_tables_columns_belong_to_what_is_counted(report, column, within, beyond):
    shown = REPORTS[report].columns[column]
    assert shown([SimpleNamespace(**within)]) == "100.0%"
    assert shown([SimpleNamespace(**within), SimpleNamespace(**beyond)]) == "50.0%"


def test_kinds_that_only_score_have_columns_of_their_own_and_kinds_weigh_the_same():
    rows = [
        replace(ROW, scenario="a", kind="peak", accuracy=1.0, regret=0.1),
        replace(ROW, scenario="b", kind="peak", accuracy=1.0, regret=0.1),
        replace(ROW, scenario="c", kind="flat", accuracy=0.5, regret=0.3),
        replace(ROW, scenario="d", kind="teeth", accuracy=0.5, regret=0.4, held_out=True),
        replace(ROW, scenario="e", kind="slow", accuracy=1.0, regret=0.2, held_out=True),
    ]
    cells = tables(rows)["no noise"]["streams"]
    assert (cells["accurate"], cells["accuracy"], cells["regret"]) == ("50.0%", "75.0%", "20.0%")
    assert (cells["accurate, held out"], cells["regret, held out"]) == ("50.0%", "30.0%")
    assert "**no noise** (5 scenarios, 2 of them held out)" in summary(rows)


def test_levels_of_other_machines_count_for_no_settling_time():
    cells = tables([replace(ROW, maximum=1024)])["no noise"]["streams"]
    assert (cells["settling (≤ 64)"], cells["settling (256)"]) == ("-", "-")


def test_our_law_comes_last_and_the_others_as_they_came():
    rows = [replace(ROW, law=law) for law in ("millrace", "streams", "fixed", "pldi17")]
    assert list(tables(rows)["no noise"]) == ["streams", "fixed", "pldi17", "millrace"]


def test_noise_and_drift_choose_the_table():
    rows = [
        replace(ROW, scenario="quiet"),
        replace(ROW, scenario="some", noise=0.05, accuracy=0.5),
        replace(ROW, scenario="drifting", drift=0.02, accuracy=0.0),
        replace(ROW, scenario="loud", drift=0.10, accuracy=0.25),
    ]
    read = tables(rows)
    assert {title: cells["streams"]["accuracy"] for title, cells in read.items()} == {
        "no noise": "100.0%",
        "noise up to 5 %": "50.0%",
        "noise of 10 %": "25.0%",
    }
    assert "**noise up to 5 %** (3 scenarios)" in summary(rows)
    assert list(tables(rows[:1])) == ["no noise", "noise up to 5 %"], (
        "a table without rows is left out"
    )


def test_the_columns_of_the_table_are_aligned():
    lines = [
        line
        for line in summary([ROW, replace(ROW, law="elastic_load_balance")]).splitlines()
        if line.startswith("|")
    ]
    assert len({len(line) for line in lines[:4]}) == 1
    assert lines[1].startswith("|---") and lines[1].count("-:|") == len(THREADS.columns)


def test_the_document_has_the_levels_and_the_frame_has_them_not():
    document = as_document([ROW])
    assert document["results"][0]["levels"] == (1, 2, 4)
    assert document["results"][0]["scenario"] == "one"
    frame = as_frame([ROW, replace(ROW, law="fixed")])
    assert list(frame["law"]) == ["streams", "fixed"]
    assert "levels" not in frame.columns
    assert set(frame.columns) == document["results"][0].keys() - {
        "levels",
        "counts",
        "phases",
        "rates",
    }


def test_a_table_shows_which_law_wins_on_each_kind():
    rows = [
        replace(ROW, law="streams", scenario="a", kind="peak", accuracy=1.0),
        replace(ROW, law="streams", scenario="b", kind="peak", accuracy=0.9),
        replace(ROW, law="streams", scenario="c", kind="late", accuracy=0.5, held_out=True),
        replace(ROW, law="streams", scenario="d", kind="flat", noise=0.1, accuracy=0.0),
    ]
    rows += [replace(row, law="millrace", accuracy=1.0) for row in rows]
    assert kinds_and_laws(rows) == [
        ["kind", "streams", "millrace", "won by"],
        ["peak", "50%", "100%", "millrace"],
        ["late (held out)", "0%", "100%", "millrace"],
    ]
    assert "| late (held out) |" in summary(rows)

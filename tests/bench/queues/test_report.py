"""The tables that decide, and how far our own law meets its goals: rows by hand."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

import pytest

from harness.bench.bench import Row
from harness.bench.goals import goals
from harness.bench.report import as_document, as_frame, summary

PLAIN = Row(
    law="millrace",
    scenario="s1",
    bench="queues",
    kind="pipeline",
    costs="skewed",
    payload=128,
    operators=12,
    places=11,
    maximum=16,
    software="millrace",
    event="",
    noise=0.0,
    periods=150,
    seed=1,
    best_throughput=1000.0,
    best_threads=4,
    best_parts=3,
    settled_threads=4.0,
    settled_parts=3.0,
    accuracy=0.99,
    settling=10.0,
    overshoot=1.0,
    parts_overshoot=1.0,
    changes=0.0,
    regret=0.02,
    phases=((0.99, 4.0),),
    levels=(1, 4),
    counts=(0, 3),
)


def like(row, *phases, **changes):
    """The row with other accuracies and threads, a pair a phase."""
    accuracies, threads = zip(*phases, strict=True)
    return replace(
        row, accuracy=fmean(accuracies), settled_threads=threads[-1], phases=phases, **changes
    )


OTHERS = [
    like(PLAIN, (0.3, 1.0), law="manual", settling=0.0),
    like(PLAIN, (0.9, 8.0), law="dynamic"),
    like(PLAIN, (0.95, 6.0), law="streams", settling=40.0),
]
FAIR = [PLAIN, *OTHERS]


def met(rows):
    return [each.met for each in goals(rows)]


def test_a_law_that_is_near_fast_and_frugal_keeps_all_goals():
    assert met(FAIR) == [True] * 5


@pytest.mark.parametrize(
    ("ours", "missed"),
    [
        (like(PLAIN, (0.94, 4.0)), 0),
        (like(PLAIN, (0.84, 4.0)), 1),
        (replace(PLAIN, settling=21.0), 2),
        (like(PLAIN, (0.99, 7.0)), 3),
    ],
    ids=["accuracy", "baselines", "settling", "threads"],
)
def test_a_goal_that_is_missed_is_told(ours, missed):
    assert met([ours, *OTHERS])[missed] is False


@pytest.mark.parametrize(
    ("bad", "missed"),
    [((0.94, 4.0), {0}), ((0.85, 4.0), {0, 1}), ((0.99, 7.0), {3, 4})],
    ids=["accuracy", "baselines", "threads"],
)
@pytest.mark.parametrize("first", [True, False])
def test_a_goal_has_to_be_met_in_each_phase(bad, missed, first):
    ours = like(PLAIN, *((bad, (0.99, 4.0)) if first else ((0.99, 4.0), bad)))
    found = met([ours, *(like(row, *row.phases * 2, settling=row.settling) for row in OTHERS)])
    assert {place for place, each in enumerate(found) if not each} == missed


def test_settling_is_compared_scenario_by_scenario():
    quick, slow = replace(PLAIN, settling=20.0), replace(PLAIN, scenario="s2", settling=30.0)
    rows = [
        quick,
        replace(OTHERS[2], settling=40.0),
        slow,
        replace(OTHERS[2], scenario="s2", settling=100.0),
    ]
    assert [each.found for each in goals(rows) if "settling" in each.text] == ["0.40 ×"]


def test_a_little_behind_a_baseline_misses_no_goal_and_more_misses_one_and_is_counted():
    assert met([like(PLAIN, (0.86, 4.0)), *OTHERS])[1] is True
    far = goals([like(PLAIN, (0.45, 4.0)), *OTHERS])[1]
    assert far.found == "1 of 1, worst 50.0%"


def test_manual_and_the_oracle_may_have_fewer_threads_as_they_are_no_laws():
    oracle = like(PLAIN, (1.0, 1.0), law="hand-placed")
    assert met([PLAIN, like(OTHERS[0], (0.99, 1.0)), oracle, OTHERS[2]])[3:] == [True, True]


@pytest.mark.parametrize(
    ("dynamic", "streams", "thrifty"),
    [
        ((0.99, 4.0), (0.96, 4.0), [True, True]),
        ((0.99, 4.0), (0.96, 2.0), [True, False]),  # a worse one has fewer
        ((0.99, 2.0), (0.96, 4.0), [False, False]),  # the best one has
        ((0.99, 4.0), (0.99, 2.0), [False, False]),  # of two that are as good
        ((0.93, 2.0), (0.96, 4.0), [True, True]),  # it brings too little to count
        ((1.1, 2.0), (0.96, 4.0), [True, False]),  # far better than ours, with less
    ],
)
def test_threads_are_compared_with_the_best_law_and_with_any_that_brings_as_much(
    dynamic, streams, thrifty
):
    rows = [like(row, of_law) for row, of_law in zip(OTHERS[1:], (dynamic, streams), strict=True)]
    assert met([PLAIN, *rows])[-2:] == thrifty


def test_strong_noise_is_no_part_of_the_goals():
    noisy = [like(row, (0.1, 4.0), noise=0.10, scenario="s2") for row in FAIR]
    assert goals(FAIR + noisy) == goals(FAIR)


@pytest.mark.parametrize(
    ("took_part", "named"),
    [
        (["manual"], "manual"),
        (["dynamic", "manual"], "manual and dynamic"),
        (["manual", "dedicated", "dynamic", "streams"], "manual, dedicated and dynamic"),
    ],
)
def test_a_goal_names_those_that_took_part(took_part, named):
    texts = [
        each.text for each in goals([PLAIN, *(replace(OTHERS[0], law=law) for law in took_part)])
    ]
    assert f"at most 5% below {named}" in texts


@pytest.mark.parametrize(("simulated", "count"), [(False, 1), (True, 0)])
def test_alone_our_law_is_compared_with_an_oracle_only_if_there_is_one(simulated, count):
    assert len(goals([replace(PLAIN, simulated=simulated)])) == count
    assert "of the oracle" in goals([replace(row, simulated=simulated) for row in FAIR])[0].text


def test_without_our_law_there_are_no_goals():
    assert goals(OTHERS) == []
    assert "goal" not in summary(OTHERS)


def test_the_tables_are_by_noise_with_our_law_as_the_last_line():
    text = summary([*FAIR, *(replace(row, noise=0.10, scenario="s2") for row in FAIR)])
    assert "**no noise** (1 scenario)" in text and "**noise above 5 %** (1 scenario)" in text
    table = text.split("\n\n")[1].splitlines()
    assert [line.split("|")[1].strip() for line in table] == [
        "law",
        "-" * 10,
        "manual",
        "dynamic",
        "streams",
        "millrace",
    ]
    assert [cell.strip() for cell in table[-1].split("|")[2:5]] == ["100.0%", "99.0%", "99.0%"]
    assert "within 5% of the oracle" in text


def test_rows_can_be_had_as_json_and_as_a_table():
    assert as_document(FAIR)["results"][0]["levels"] == (1, 4)
    frame = as_frame(FAIR)
    assert (
        list(frame["law"]) == ["millrace", "manual", "dynamic", "streams"] and "levels" not in frame
    )

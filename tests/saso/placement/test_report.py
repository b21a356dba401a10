"""The tables that decide, and what our own law promises: rows by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.saso.placement.bench import Row
from harness.saso.placement.report import as_document, as_frame, promises, summary

PLAIN = Row(
    law="millrace",
    scenario="s1",
    shape="pipeline",
    costs="skewed",
    payload=128,
    operators=12,
    places=11,
    cpus=16,
    software="millrace",
    event="",
    noise=0.0,
    periods=150,
    seed=1,
    best_throughput=1000.0,
    best_threads=4,
    best_queues=3,
    settled_threads=4.0,
    settled_queues=3.0,
    accuracy=0.99,
    settling=10.0,
    overshoot=1.0,
    queue_overshoot=1.0,
    changes=0.0,
    regret=0.02,
    levels=(1, 4),
    queues=(0, 3),
)
OTHERS = [
    replace(PLAIN, law="manual", accuracy=0.3, settled_threads=1.0, settling=0.0),
    replace(PLAIN, law="dynamic", accuracy=0.9, settled_threads=8.0),
    replace(PLAIN, law="streams", accuracy=0.95, settling=40.0, settled_threads=6.0),
]
FAIR = [PLAIN, *OTHERS]


def kept(rows):
    return [each.kept for each in promises(rows)]


def test_a_law_that_is_near_fast_and_frugal_keeps_all_promises():
    assert kept(FAIR) == [True, True, True, True]


@pytest.mark.parametrize(
    ("change", "broken"),
    [({"accuracy": 0.94}, 0), ({"accuracy": 0.84}, 1), ({"settling": 21.0}, 2), ({"settled_threads": 7.0}, 3)],
)
def test_a_promise_that_is_broken_is_told(change, broken):
    assert kept([replace(PLAIN, **change), *OTHERS])[broken] is False


def test_a_little_behind_a_baseline_is_no_broken_promise_and_more_is_one_that_is_counted():
    assert kept([replace(PLAIN, accuracy=0.86), *OTHERS])[1] is True
    far = promises([replace(PLAIN, accuracy=0.45), *OTHERS])[1]
    assert far.found == "1 of 1, worst 50.0%"


def test_manual_has_few_threads_and_that_is_no_reproach():
    assert kept([PLAIN, replace(OTHERS[0], accuracy=0.99), OTHERS[2]])[3] is True


def test_strong_noise_is_no_part_of_the_promises():
    noisy = [replace(row, noise=0.10, scenario="s2", accuracy=0.1) for row in FAIR]
    assert promises(FAIR + noisy) == promises(FAIR)


def test_without_our_law_nothing_is_promised():
    assert promises(OTHERS) == []
    assert "promise" not in summary(OTHERS)


def test_the_tables_are_by_noise_with_our_law_as_the_last_line():
    text = summary([*FAIR, *(replace(row, noise=0.10, scenario="s2") for row in FAIR)])
    assert "**no noise** (1 scenarios)" in text and "**noise of 10 %** (1 scenarios)" in text
    table = text.split("\n\n")[1].splitlines()
    assert [line.split("|")[1].strip() for line in table] == ["law", "-" * 10, "manual", "dynamic", "streams", "millrace"]
    assert [cell.strip() for cell in table[-1].split("|")[2:5]] == ["100.0%", "99.0%", "99.0%"]
    assert "within 5% of the oracle" in text


def test_rows_can_be_had_as_json_and_as_a_table():
    assert as_document(FAIR)["results"][0]["levels"] == (1, 4)
    frame = as_frame(FAIR)
    assert list(frame["law"]) == ["millrace", "manual", "dynamic", "streams"] and "levels" not in frame

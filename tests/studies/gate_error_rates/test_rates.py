"""Rates: what counts as what, and intervals that do not pretend to more calls than there are."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from harness.gate.verdict import Exit, Verdict
from studies.gate_error_rates.rates import clopper_pearson, effect_of, rate, row, said
from studies.gate_error_rates.recording import RecordedBlock
from studies.gate_error_rates.replay import Call
from tests.studies.gate_error_rates.made import OTHER

SLOWER = {"mean:5%": False, "Mann-Whitney 0.05": True, "Welch 0.05": False}


def call(
    code: Exit, verdict: Verdict = Verdict.OK, disjoint: bool = True, one: Verdict = Verdict.OK
) -> Call:
    return Call(disjoint, code, {"one": one, "other": verdict}, 60.0, SLOWER)


@given(trials=st.integers(1, 60), data=st.data(), chance=st.floats(0.01, 0.99))
def test_the_interval_misses_any_chance_at_most_one_time_in_twenty(
    trials: int, data: st.DataObject, chance: float
) -> None:
    covered = 0.0
    for count in range(trials + 1):
        low, high = clopper_pearson(count, trials)
        covered += binom.pmf(count, trials, chance) if low <= chance <= high else 0.0
    assert covered >= 0.95 - 1e-9


def test_known_intervals() -> None:
    assert clopper_pearson(0, 200) == pytest.approx((0.0, 0.01828), abs=1e-4)
    assert clopper_pearson(5, 10) == pytest.approx((0.1871, 0.8129), abs=1e-4)
    assert clopper_pearson(0, 0) == (0.0, 1.0)
    with pytest.raises(ValueError, match="3 of 2"):
        clopper_pearson(3, 2)


def test_the_interval_is_of_disjoint_calls_and_the_rate_of_all() -> None:
    made = [call(Exit.OK)] * 9 + [call(Exit.REGRESSED)] + [call(Exit.OK, disjoint=False)] * 90
    found = rate(made, lambda one: one.exit_code is Exit.REGRESSED)
    assert (found.count, found.calls, found.share) == (1, 100, 0.01)
    assert found.interval == clopper_pearson(1, 10)
    assert found.in_recording == clopper_pearson(1, 100)


@pytest.mark.parametrize(
    ("code", "verdict", "word"),
    [
        (Exit.REGRESSED, Verdict.REGRESSED, "regressed"),
        (Exit.INCONCLUSIVE, Verdict.INCONCLUSIVE, "inconclusive"),
        (Exit.OK, Verdict.OK, "ok"),
        (Exit.OK, Verdict.IMPROVED, "ok"),
        (Exit.HOST_UNSTABLE, Verdict.REGRESSED, "unstable"),
        (Exit.HOST_UNSTABLE, Verdict.OK, "unstable"),
    ],
)
def test_what_a_call_says_of_the_injected_cell(code: Exit, verdict: Verdict, word: str) -> None:
    assert said(call(code, verdict), "other") == word


def test_a_cell_that_was_not_measured_is_no_answer() -> None:
    with pytest.raises(ValueError, match="not measured"):
        said(call(Exit.NOTHING_MEASURED, Verdict.UNMEASURED), "other")


def test_a_row_tells_other_cells_that_were_called_regressed() -> None:
    made = [call(Exit.REGRESSED, Verdict.REGRESSED)] * 3 + [
        call(Exit.REGRESSED, Verdict.REGRESSED, one=Verdict.REGRESSED)
    ]
    found = row("flop 1.05", made, OTHER.cells[0], program_cells=OTHER.cells)
    assert found.verdicts["regressed"].count == 4
    assert found.others_regressed.count == 1
    assert found.yardsticks["Mann-Whitney 0.05"].count == 4
    assert found.yardsticks["Welch 0.05"].count == 0
    assert found.median_s == 60.0


def test_false_alarms_are_calls_that_end_as_regressed() -> None:
    made = [call(Exit.OK)] * 7 + [
        call(Exit.HOST_UNSTABLE, Verdict.REGRESSED),
        call(Exit.REGRESSED, one=Verdict.REGRESSED),
    ]
    found = row("same", made)
    assert found.false_alarms.count == 1
    assert found.exits[Exit.HOST_UNSTABLE].count == 1
    assert found.verdicts == {}


def test_a_row_of_no_calls_says_nothing() -> None:
    found = row("same", [])
    assert math.isnan(found.median_s)
    assert math.isnan(found.false_alarms.share)
    assert found.false_alarms.interval == (0.0, 1.0)


def test_the_effect_is_the_one_measured() -> None:
    sides = ("base", "head", "head", "base")
    blocks = [
        RecordedBlock(
            sides,
            tuple({"other": value} for value in (100.0, 100 + 6 + k / 10, 100 + 6 - k / 10, 100.0)),
            (1.0,) * 4,
        )
        for k in range(10)
    ]
    found = effect_of(OTHER.cells[0], blocks)
    assert found is not None
    assert found.ratio == pytest.approx(1.06, abs=1e-4)
    assert found.low <= found.ratio <= found.high
    assert found.blocks == 10
    assert effect_of(OTHER.cells[0], []) is None

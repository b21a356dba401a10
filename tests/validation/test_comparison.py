"""Errors of predictions: of a case, over all, by group."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.validation.cases import cases
from harness.validation.comparison import compare, errors, errors_by
from tests.validation.made_runs import PIPELINE, beside, case, made_in, measured, predicted

RATES = st.floats(1.0, 1e9)


def only(*args):
    (found,) = compare([PIPELINE], *args)
    return found


def test_a_case_is_the_median_of_its_runs_between_the_least_and_the_greatest_of_three():
    found = only(measured(PIPELINE, 300.0, 100.0, 200.0), [predicted(PIPELINE, 150.0)])
    assert (found.measured, found.low, found.high, found.runs) == (200.0, 100.0, 300.0, 3)
    assert (found.predicted, found.error) == (150.0, -0.25)


def test_a_prediction_is_the_median_of_its_runs_and_keeps_the_least_and_the_greatest():
    found = only(
        measured(PIPELINE, 100.0), [predicted(PIPELINE, rate) for rate in (130.0, 90.0, 120.0)]
    )
    assert (found.predicted, found.predicted_low, found.predicted_high, found.scattered) == (
        120.0,
        90.0,
        130.0,
        True,
    )
    assert not only(measured(PIPELINE, 100.0), [predicted(PIPELINE, 120.0)]).scattered
    unsettled = [
        predicted(PIPELINE, 120.0),
        predicted(PIPELINE, 90.0, settled=False),
        predicted(PIPELINE, 80.0, settled=False),
    ]
    found = only(measured(PIPELINE, 100.0), unsettled)
    assert (found.predicted, found.predicted_unsettled) == (90.0, 2), "they count, and that is told"
    one_failed = [predicted(PIPELINE, 120.0), predicted(PIPELINE, None, correct=False)]
    assert only(measured(PIPELINE, 100.0), one_failed).predicted is None


def test_failed_runs_are_counted_and_stay_out_of_the_median():
    runs = [
        *measured(PIPELINE, 200.0),
        *measured(PIPELINE, 9.0, correct=False),
        *measured(PIPELINE, 8.0, error="no memory"),
    ]
    found = only([*runs, *measured(PIPELINE, 400.0)], [])
    assert (found.measured, found.runs, found.failed) == (300.0, 2, 2)


def test_unsettled_runs_count_only_where_none_settled():
    unsettled = measured(PIPELINE, 100.0, 110.0, settled=False)
    mixed = only([*unsettled, *measured(PIPELINE, 300.0)], [])
    assert (mixed.measured, mixed.runs, mixed.unsettled, mixed.unsettled_used) == (
        300.0,
        1,
        2,
        False,
    )
    none = only(unsettled, [])
    assert (none.measured, none.runs, none.unsettled, none.unsettled_used) == (105.0, 2, 2, True)


def test_runs_of_another_state_of_the_machine_count_only_where_there_are_no_others():
    other = made_in([120.0, 121.0], 100.0, 110.0)
    mixed = only([*other, *made_in([25.0, 26.0], 300.0), *made_in([25.0, 120.0], 9.0)], [], 25.0)
    assert (
        mixed.measured,
        mixed.runs,
        mixed.other_state,
        mixed.other_state_used,
        mixed.attempted,
    ) == (300.0, 1, 3, False, 4)
    none = only(other, [], 25.0)
    assert (none.measured, none.runs, none.other_state, none.other_state_used, none.attempted) == (
        105.0,
        2,
        2,
        True,
        2,
    )
    assert only(other, []).other_state == only(measured(PIPELINE, 5.0), [], 25.0).other_state == 0


def test_a_case_without_good_runs_or_with_a_failed_prediction_has_no_error_and_says_why():
    failed = only(measured(PIPELINE, 9.0, correct=False), [predicted(PIPELINE, 10.0)])
    assert (failed.measured, failed.error, failed.failed, failed.unstable) == (None, None, 1, False)
    unforeseen = only(
        measured(PIPELINE, 9.0),
        [predicted(PIPELINE, 10.0, error="bound of 5 events\nwords", correct=False)],
    )
    assert (unforeseen.predicted, unforeseen.error, unforeseen.failure) == (
        None,
        None,
        "bound of 5 events",
    )
    wrong = only(measured(PIPELINE, 9.0), [predicted(PIPELINE, 10.0, correct=False)])
    assert wrong.failure == "the simulated run was not correct"
    assert only(measured(PIPELINE, 0.0), [predicted(PIPELINE, 10.0)]).error is None


def test_records_of_other_cases_do_not_count():
    others = [case("dedicated"), case(payload=4096), case(cost=100), case(topology="mix")]
    found = only(
        [run for other in others for run in measured(other, 5.0)],
        [predicted(other, 6.0) for other in others],
    )
    assert (found.measured, found.predicted, found.failure) == (None, None, None)


@pytest.mark.parametrize(
    ("rates", "unstable"),
    [
        ((80.0, 100.0, 120.0), False),
        ((79.0, 100.0, 101.0), True),
        ((99.0, 100.0, 121.0), True),
        ((100.0,), True),
    ],
)
def test_a_case_is_unstable_if_its_interval_reaches_beyond_a_fifth_of_its_median_or_if_it_has_none(
    rates, unstable
):
    assert only(measured(PIPELINE, *rates), []).unstable is unstable


def test_a_case_is_doubtful_if_it_rests_on_runs_or_predictions_that_never_settled():
    settled, forecast = measured(PIPELINE, 100.0, 101.0, 102.0), predicted(PIPELINE, 100.0)
    assert not only(settled, [forecast]).doubtful
    assert only(settled, [forecast, predicted(PIPELINE, 100.0, settled=False)]).doubtful
    assert only(measured(PIPELINE, 100.0, 101.0, settled=False), [forecast]).doubtful
    assert not only([*settled, *measured(PIPELINE, 1.0, settled=False)], [forecast]).doubtful, (
        "it is of the others"
    )


def test_what_others_took_is_the_mean_over_the_runs_that_count():
    runs = [
        *measured(PIPELINE, 5.0, samples=[{"others_cpu": 0.1}, {"others_cpu": 0.3}]),
        *measured(PIPELINE, 5.0, samples=[{"others_cpu": 0.4}]),
        *measured(PIPELINE, 5.0, samples=[{"others_cpu": 1.0}], correct=False),
    ]
    assert only(runs, []).others == pytest.approx(0.3)
    assert only(measured(PIPELINE, 5.0), []).others == 0.0


def test_errors_over_several_cases():
    found = errors([beside(case(arm), 100.0, forecast) for arm, forecast in
                    (("manual", 90.0), ("dedicated", 130.0), ("dynamic-1", 80.0), ("dynamic-2", None))])  # fmt: skip
    assert (found.cases, found.worst.case.arm) == (3, "dedicated")
    assert (found.median, found.bias, found.within) == pytest.approx((0.2, -0.1, 1 / 3))


def test_no_errors_are_none_and_not_zero():
    assert errors([beside(PIPELINE, 100.0, None), beside(PIPELINE, None, 100.0)]) is None
    assert errors([]) is None


def test_the_worst_error_may_be_one_below():
    found = errors([beside(case("manual"), 100.0, 130.0), beside(case("dedicated"), 100.0, 40.0)])
    assert found.worst.error == pytest.approx(-0.6)


@given(st.lists(st.tuples(RATES, RATES), min_size=1, max_size=96))
def test_errors_are_what_they_say_whatever_the_rates(rates):
    comparisons = [beside(of, *pair) for of, pair in zip(cases(), rates, strict=False)]
    found = errors(comparisons)
    sizes = sorted(abs(forecast / rate - 1) for rate, forecast in rates)
    assert abs(found.worst.error) == sizes[-1]
    assert sum(size <= found.median for size in sizes) >= len(sizes) / 2
    assert sum(size >= found.median for size in sizes) >= len(sizes) / 2


def test_groups_hold_every_case_once_a_grouping():
    rows = errors_by([beside(each, 100.0, 110.0) for each in cases()])
    found = {}
    for name, value, group in rows:
        found.setdefault(name, {})[value] = group.cases
    assert found == {
        "model": {"manual": 27, "dedicated": 29, "dynamic-1": 29, "dynamic-2": 33}
        | {"coroutine-2": 15, "coroutine-2-random": 6, "coroutine-2-replicas-2": 9},
        "topology": {
            "pipeline": 24,
            "data-parallel": 33,
            "mix": 24,
            "bushy": 33,
            "pipeline-100": 4,
            "pipeline-1000": 4,
            "unbalanced-tree": 18,
            "login-failures": 4,
            "vwap": 4,
        },
        "cost": {"1": 48, "100": 48, "10,000": 44, "own": 8},
        "payload": {"128": 92, "4,096": 48, "own": 8},
        "graph": {"known": 108, "replicas": 6, "deep": 8, "new": 26},
    }


def test_of_a_deep_pipeline_what_all_operators_do_is_compared():
    deep = case("coroutine-2", topology="pipeline-1000")
    shallow = case("coroutine-2", topology="bushy")
    record = {"sink_tuples_per_s": 0.0, "submitted_tuples_per_s": 5000.0, "hops": 1000.0}
    assert (deep.rate(record), shallow.rate(record)) == (5.0, 0.0)
    assert deep.rate(record | {"submitted_tuples_per_s": None}) is None


def test_a_group_has_the_errors_of_its_own_cases():
    rows = errors_by([beside(case("manual"), 100.0, 110.0), beside(case("dedicated"), 100.0, 50.0)])
    assert [(value, found.median) for name, value, found in rows if name == "model"] == [
        ("manual", pytest.approx(0.1)),
        ("dedicated", pytest.approx(0.5)),
    ]

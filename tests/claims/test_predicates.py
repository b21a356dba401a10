"""Every predicate both ways, at its boundary, with cells and arms missing, with intervals and
bands.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.claims.curves import RiseAndFall, Rising
from harness.claims.predicate import Term
from harness.claims.predicates import (
    AllOf,
    Best,
    BestVaries,
    NotWorst,
    Order,
    Provided,
    Ratio,
    Somewhere,
    Trend,
    Within,
    Worst,
)
from harness.claims.reading import Finding
from tests.claims.made import LOCAL, XEON, arm, cells, one_cell

YES = Finding(True, True)
NO = Finding(False, False)
MAYBE = Finding(True, None)
UNLIKELY = Finding(False, None)
OPEN = Finding(None, None)

OTHERS = ("manual", "elastic")


def findings(predicate, *found):
    """Return what came out of each cell; a text is what was missing."""
    return [outcome.finding or outcome.missing for outcome in predicate.judge(list(found))]


def three(manual: float, dedicated: float | None, elastic: float, half: float = 1.0) -> list[dict]:
    """The arms of a cell, each with an interval of that half."""
    named = {"manual": manual, "dedicated": dedicated, "dynamic-elastic": elastic}
    return [arm(name, mean, half=half) for name, mean in named.items()]


@pytest.mark.parametrize(
    ("dedicated", "finding"),
    [(33, YES), (32.5, YES), (31, MAYBE), (30, UNLIKELY), (29, UNLIKELY), (28, NO), (5, NO)],
)
def test_best_is_above_all_others_by_more_than_the_intervals(dedicated, finding):
    cell = one_cell(*three(10, dedicated, 30))
    assert findings(Best("dedicated", OTHERS), cell) == [finding]


@pytest.mark.parametrize(
    ("dedicated", "finding"), [(5, YES), (9, MAYBE), (10, UNLIKELY), (12, UNLIKELY), (14, NO)]
)
def test_worst_is_below_all_others(dedicated, finding):
    cell = one_cell(*three(10, dedicated, 30))
    assert findings(Worst("dedicated", OTHERS), cell) == [finding]


@pytest.mark.parametrize(
    ("elastic", "finding"),
    [(15, YES), (25, YES), (11, MAYBE), (10, UNLIKELY), (9.5, UNLIKELY), (5, NO)],
)
def test_not_worst_is_above_one_of_the_others(elastic, finding):
    cell = one_cell(*three(10, 20, elastic))
    assert findings(NotWorst("elastic", ("manual", "dedicated")), cell) == [finding]


def test_an_order_holds_if_each_arm_is_above_the_next():
    in_order = one_cell(*three(10, 30, 20))
    swapped = one_cell(*three(20, 30, 10))
    close = one_cell(*three(10, 21, 20))
    order = Order(("dedicated", "elastic", "manual"))
    assert findings(order, in_order, swapped, close) == [YES, NO, MAYBE]


def test_an_order_of_one_arm_goes_from_cell_to_cell():
    falling = cells({"1": three(30, 1, 1), "100": three(20, 1, 1), "1000": three(10, 1, 1)})
    assert findings(Order(("manual",)), *falling) == [YES]
    assert findings(Order(("manual",)), *falling[::-1]) == [NO]


@pytest.mark.parametrize(
    ("over", "finding"), [(20, YES), (10, YES), (9.99, NO), (40, YES), (40.01, NO)]
)
def test_the_limits_of_a_ratio_belong_to_it(over, finding):
    cell = one_cell(arm("manual", 20, half=0), arm("dedicated", over, half=0))
    assert findings(Ratio(Term("dedicated"), Term("manual"), 0.5, 2), cell) == [finding]


def test_a_ratio_is_open_if_a_limit_lies_within_its_range():
    cell = one_cell(*three(20, 11, 1))
    assert findings(Ratio(Term("dedicated"), Term("manual"), at_least=0.5), cell) == [MAYBE]


@pytest.mark.parametrize(
    ("dedicated", "found"),
    [((10, 10), [YES, YES, NO]), ((10, 9), [YES, YES, YES]), ((11, 9), [NO, YES, YES])],
)
def test_a_ratio_may_have_to_be_below_a_limit_in_one_cell_at_least(dedicated, found):
    both = cells(
        {
            cost: three(10, rate, 1, half=0)
            for cost, rate in zip(("1", "100"), dedicated, strict=True)
        }
    )
    ratio = Ratio(Term("dedicated"), Term("manual"), at_most=1, somewhere_below=1)
    assert findings(ratio, *both) == found
    assert [outcome.is_existential for outcome in ratio.judge(both)] == [False, False, True]


def test_what_cannot_be_read_is_told_once_of_a_ratio_with_two_limits():
    both = cells({"1": three(10, 9, 1, half=0), "100": [arm("manual", 10, half=0)]})
    ratio = Ratio(Term("dedicated"), Term("manual"), at_most=1, somewhere_below=1)
    assert findings(ratio, *both) == [YES, "no arm dedicated in pipeline, cost 100", YES]


def test_a_ratio_between_two_cells_is_one_outcome():
    found = cells({"1": three(10, 1, 1, half=0), "100": three(30, 1, 1, half=0)})
    ratio = Ratio(Term("manual", cell=1), Term("manual", cell=0), at_least=3)
    assert ratio.needs_all
    assert findings(ratio, *found) == [YES]


def test_a_ratio_is_kept_with_the_numbers():
    cell = one_cell(*three(20, 10, 1))
    Ratio(Term("dedicated"), Term("manual"), at_least=0.4).judge([cell])
    assert [(shown.arm, shown.quantity, shown.reading.value) for shown in cell.shown] == [
        ("dedicated", "throughput", 10),
        ("manual", "throughput", 20),
        ("dedicated over manual", "ratio", 0.5),
    ]


def test_within_looks_at_every_arm():
    cell = one_cell(*three(10, 20, 30, half=0))
    assert findings(Within(("manual", "dedicated"), "throughput", at_most=20), cell) == [YES]
    assert findings(Within(("manual", "elastic"), "throughput", at_most=20), cell) == [NO]


def test_within_may_be_for_each_cpu():
    cell = one_cell(arm("dynamic-elastic", 1, level=8.0, level_lo=8.0, level_hi=8.0))
    assert findings(Within(("elastic",), "settled_level", at_most=1, per_cpu=True), cell) == [YES]
    assert findings(Within(("elastic",), "settled_level", at_least=1.01, per_cpu=True), cell) == [
        NO
    ]


def test_a_trend_goes_from_cell_to_cell():
    found = cells(
        {cost: three(1, rate, 10, half=3) for cost, rate in (("1", 40), ("100", 30), ("1000", 20))}
    )
    over = {"over": Term("dedicated"), "under": Term("elastic")}
    assert findings(Trend(**over, direction="falling"), *found) == [MAYBE]
    assert findings(Trend(**over, direction="rising"), *found) == [UNLIKELY]
    exact = cells(
        {cost: three(1, rate, 10, half=0) for cost, rate in (("1", 40), ("100", 30), ("1000", 20))}
    )
    assert findings(Trend(**over, direction="falling"), *exact) == [YES]
    assert findings(Trend(**over, direction="rising"), *exact) == [NO]


def test_a_gap_shrinks_only_while_there_is_one():
    shrinks = Trend(Term("dedicated"), Term("elastic"), "falling", at_least=1)
    for rates, finding in (((40, 30, 20), YES), ((40, 20, 5), NO), ((8, 5, 2), NO)):
        found = cells(
            {
                cost: three(1, rate, 10, half=0)
                for cost, rate in zip(("1", "100", "1000"), rates, strict=True)
            }
        )
        assert findings(shrinks, *found) == [finding], rates


def test_one_step_against_the_trend_breaks_it():
    found = cells(
        {cost: three(1, rate, 10, half=0) for cost, rate in (("1", 40), ("100", 20), ("1000", 30))}
    )
    assert findings(Trend(Term("dedicated"), Term("elastic"), "falling"), *found) == [NO]


def test_one_cell_shows_no_trend():
    cell = one_cell(*three(1, 2, 3))
    assert findings(Trend(Term("dedicated"), Term("elastic"), "falling"), cell) == [
        "one number shows no order"
    ]


def levels(*means: float, half: float = 0.0) -> list[dict]:
    """Fixed levels 1, 2, 4, … with these means."""
    return [arm(f"dynamic-{2**power}", mean, half=half) for power, mean in enumerate(means)]


@pytest.mark.parametrize(
    ("means", "finding"),
    [
        ((10, 20, 30, 5), YES),
        ((10, 9.5, 30, 5), YES),
        ((10, 9.4, 30, 5), NO),
        ((10, 20, 18, 40), NO),
        ((10, 9.8, 10, 5), NO),
    ],
)
def test_rising_allows_dips_up_to_its_tolerance_and_looks_no_further_than_it_says(means, finding):
    assert findings(Rising(up_to=4, tolerance=0.05), one_cell(*levels(*means))) == [finding]


def test_small_dips_of_rising_add_up():
    assert findings(
        Rising(up_to=16, tolerance=0.05), one_cell(*levels(100, 96, 92, 89, 130), venue=XEON)
    ) == [NO]


def test_rising_may_begin_at_0():
    assert findings(Rising(up_to=4), one_cell(*levels(0, 20, 30))) == [YES]


def test_what_is_0_is_named_where_a_ratio_needs_it():
    cell = one_cell(*three(0, 10, 1, half=0))
    assert findings(Ratio(Term("dedicated"), Term("manual"), at_least=1), cell) == [
        "manual is 0 in pipeline, cost 1"
    ]


def test_rising_looks_no_further_than_the_machine_has_cpus():
    cell = one_cell(*levels(10, 20, 30, 40, 5))
    assert LOCAL.cpus == 8
    assert findings(Rising(up_to=64), cell) == [YES]
    assert findings(Rising(up_to=16), one_cell(*levels(10, 20, 30, 40, 5), venue=XEON)) == [NO]


def test_two_levels_are_enough_to_rise():
    assert findings(Rising(up_to=2), one_cell(*levels(10, 20))) == [YES]


def test_levels_that_rising_should_have_and_has_not_are_a_gap():
    few = one_cell(
        arm("dynamic-1", 10, half=0),
        arm("dynamic-16", 40, half=0),
        arm("dynamic-176", 90, half=0),
        venue=XEON,
    )
    assert findings(Rising(up_to=64), few) == [
        YES,
        "no fixed level of 2, 4, 8, 32, 64 threads in pipeline, cost 1",
    ]
    six = replace(LOCAL, cpus=6)
    whole = one_cell(*(arm(f"dynamic-{level}", level, half=0) for level in (1, 2, 4, 6)), venue=six)
    assert findings(Rising(up_to=64), whole) == [YES]


def test_rising_needs_two_levels():
    [missing] = findings(Rising(up_to=4), one_cell(*levels(10)))
    assert missing == "fewer than two fixed levels up to 4 threads in pipeline, cost 1"


@pytest.mark.parametrize(
    ("means", "finding"),
    [
        ((10, 20, 30, 20, 10), YES),
        ((10, 20, 30), OPEN),  # 8 CPUs, and nothing beyond 4 threads
        ((30, 20, 10), YES),
        ((10, 30, 30, 30), YES),
        ((10, 30, 20, 21), YES),  # up by 5 % again
        ((10, 30, 20, 25), NO),
        ((20, 20, 19, 20), "all fixed levels bring the same in pipeline, cost 1"),
        ((100, 96, 92, 89, 130), NO),  # each dip is small, all of them together are none
        ((10, 130, 89, 92, 96), NO),
        ((20, 10, 30, 20), NO),
        ((20, 19, 30, 20), YES),
    ],
)
def test_rise_and_fall_allows_one_peak(means, finding):
    assert findings(RiseAndFall(tolerance=0.05), one_cell(*levels(*means))) == [finding]


def test_a_peak_beside_which_levels_are_missing_may_have_another_one_beside_it():
    few = [arm(f"dynamic-{level}", mean, half=0) for level, mean in ((1, 10), (4, 30), (8, 20))]
    assert findings(
        RiseAndFall(tolerance=0.05), one_cell(*few[:2], arm("dynamic-16", 20, half=0))
    ) == [OPEN]
    assert findings(RiseAndFall(tolerance=0.05), one_cell(*few)) == [OPEN], "2 threads are missing"
    assert findings(RiseAndFall(tolerance=0.05), one_cell(*few, arm("dynamic-2", 20, half=0))) == [
        YES
    ]
    fails = [
        arm("dynamic-1", 30, half=0),
        arm("dynamic-4", 10, half=0),
        arm("dynamic-16", 20, half=0),
    ]
    assert findings(RiseAndFall(tolerance=0.05), one_cell(*fails)) == [NO], (
        "two peaks are two, whatever lies between them"
    )


def test_numbers_that_differ_by_less_than_the_least_difference_are_in_no_order():
    def held(predicate, better):
        return findings(predicate, one_cell(*three(8.91, better, 5, half=0)))

    close, apart = 8.95, 9.2
    for predicate in (
        Best("dedicated", OTHERS),
        Order(("dedicated", "manual")),
        Worst("manual", ("dedicated",)),
    ):
        assert (held(predicate, close), held(predicate, apart)) == ([NO], [YES]), predicate
    assert held(Best("dedicated", OTHERS, least_difference=0.001), close) == [YES]
    rising = Trend(Term("dedicated"), Term("manual"), "rising")
    pair = {"1": three(10, 10, 5, half=0), "100": three(10, 10.1, 5, half=0)}
    assert findings(rising, *cells(pair)) == [NO]
    varies = BestVaries(("manual", "dedicated"))
    assert findings(varies, *cells(pair)) == [UNLIKELY], "both may be the best everywhere"


def test_what_the_best_level_brings_is_open_where_levels_beside_it_are_missing():
    """A table over 1, 4 and 12 threads, with a peak at 6, does not say what the peak is: only that
    it is no lower than the best of these.
    """
    for mean, finding in ((10, YES), (30, OPEN), (40, OPEN)):
        lacking = one_cell(
            *[arm(f"dynamic-{level}", each, half=0) for level, each in ((1, 9), (3, 30), (8, mean))]
        )
        ratio = Ratio(Term("static-8"), Term("static"), at_most=0.99)
        assert findings(ratio, lacking) == [finding], mean
    every = [arm(f"dynamic-{level}", 10 * min(level, 10 - level), half=0) for level in range(1, 9)]
    assert findings(Ratio(Term("static-8"), Term("static"), at_most=0.99), one_cell(*every)) == [
        YES
    ]
    assert findings(Ratio(Term("static-8"), Term("static"), at_most=0.1), one_cell(*every)) == [NO]
    manual = [arm("manual", 10, half=0), arm("dynamic-1", 20, half=0), arm("dynamic-8", 15, half=0)]
    assert findings(Worst("manual", ("static",)), one_cell(*manual)) == [YES], (
        "the best level brings that much at least"
    )
    assert findings(Best("manual", ("static",)), one_cell(*manual)) == [NO]
    assert findings(
        Best("manual", ("static",)), one_cell(arm("manual", 50, half=0), *manual[1:])
    ) == [OPEN]


def test_the_best_level_is_any_between_its_neighbours_in_the_table():
    def at(low, high, *levels):
        return findings(Within(("static",), "best_level", low, high), one_cell(*levels))

    few = [arm(f"dynamic-{level}", mean, half=0) for level, mean in ((1, 10), (4, 30), (8, 20))]
    assert (at(5, 7, *few), at(2, 7, *few), at(8, None, *few), at(3, 4, *few)) == (
        [OPEN],
        [YES],
        [NO],
        [OPEN],
    )
    every = [*few, arm("dynamic-3", 29, half=0), arm("dynamic-5", 29, half=0)]
    assert (at(5, 7, *every), at(4, 4, *every)) == ([NO], [YES])


def test_the_best_varies_if_no_arm_is_best_in_all_cells():
    varies = BestVaries(("manual", "dedicated", "elastic"))
    assert findings(varies, *cells({"1": three(30, 10, 20), "100": three(10, 30, 20)})) == [YES]
    assert findings(varies, *cells({"1": three(30, 10, 20), "100": three(40, 30, 20)})) == [NO]
    assert findings(varies, *cells({"1": three(30, 10, 20), "100": three(30, 31, 20)})) == [MAYBE]
    assert findings(varies, *cells({"1": three(30, 10, 20), "100": three(31, 30, 20)})) == [
        UNLIKELY
    ]
    assert findings(varies, *cells({"1": three(30, 10, 20), "100": three(30, 28, 20)})) == [
        UNLIKELY
    ], "they touch"
    assert findings(varies, *cells({"1": three(30, 10, 20), "100": three(28, 30, 20)})) == [
        MAYBE
    ], "they touch"
    assert findings(varies, one_cell(*three(1, 2, 3))) == ["one cell has one best arm"]


def test_an_arm_that_is_not_there_is_missing_in_its_cell_only():
    found = cells({"1": three(10, 20, 30), "100": [arm("manual", 10, half=0)]})
    assert findings(Order(("elastic", "manual")), *found) == [
        YES,
        "no arm elastic in pipeline, cost 100",
    ]


def test_what_compares_cells_compares_those_that_can_be_read():
    found = cells({"1": three(10, 20, 30), "100": three(9, None, 30), "1000": three(8, 7, 5)})
    missing = "dedicated has no throughput in pipeline, cost 100: 3 runs failed"
    assert findings(BestVaries(("manual", "dedicated", "elastic")), *found) == [MAYBE, missing]
    assert findings(Order(("dedicated",)), *found) == [YES, missing]
    assert findings(Trend(Term("dedicated"), Term("manual"), "falling"), *found) == [YES, missing]
    assert findings(Order(("dedicated",)), found[1]) == [missing]


def test_an_arm_whose_runs_all_failed_is_missing():
    [missing] = findings(Best("elastic", ("dedicated",)), one_cell(*three(10, None, 30)))
    assert missing == "dedicated has no throughput in pipeline, cost 1: 3 runs failed"


def test_one_run_leaves_every_order_open():
    cell = one_cell(arm("manual", 1), arm("dedicated", 1000, half=1))
    assert findings(Order(("dedicated", "manual")), cell) == [MAYBE]


def test_simulated_arms_are_compared_by_their_bands():
    apart = one_cell(
        arm("manual", 10, band=(8, 12)), arm("dedicated", 20, band=(13, 22)), venue=XEON
    )
    overlapping = one_cell(
        arm("manual", 10, band=(8, 14)), arm("dedicated", 20, band=(13, 22)), venue=XEON
    )
    unvaried = one_cell(arm("manual", 10), arm("dedicated", 20), venue=XEON)
    assert findings(Order(("dedicated", "manual")), apart, overlapping, unvaried) == [
        YES,
        MAYBE,
        YES,
    ]


def test_simulated_intervals_over_seeds_do_not_count():
    cell = one_cell(
        arm("manual", 10, half=5, band=(9, 11)),
        arm("dedicated", 14, half=5, band=(13, 15)),
        venue=XEON,
    )
    assert findings(Order(("dedicated", "manual")), cell) == [YES]


def test_switches_are_compared_by_the_second_whatever_the_windows():
    """The elastic arm is measured for twice as long."""
    cell = one_cell(
        arm("dedicated", 1e6, half=1, context_switches_mean=6200.0, duration_mean=5.0),
        arm("dynamic-elastic", 1e6, half=1, context_switches_mean=200.0, duration_mean=10.0),
    )
    over, under = (Term(name, "context_switches") for name in ("dedicated", "elastic"))
    assert findings(Ratio(over, under, 15, 300), cell) == [YES]
    assert cell.shown[-1].reading.value == pytest.approx(62)


@pytest.mark.parametrize(
    ("predicate", "words"),
    [
        (Best("manual", ("dedicated", "elastic")), "throughput of manual is above that of "
                                                   "dedicated and elastic"),
        (Worst("manual", ("elastic",), "latency"), "latency of manual is below that of elastic"),
        (NotWorst("elastic", ("manual",)), "throughput of elastic is above that of one at least of "
                                           "manual"),
        (Order(("dedicated", "manual")), "throughput: dedicated > manual"),
        (Order(("manual",), "final_level"), "final level of manual falls from cell to cell"),
        (Ratio(Term("elastic"), Term("static"), 0.5, 1), "elastic over static is from 0.5 to 1"),
        (Ratio(Term("elastic", "ramp", 0), Term("elastic"), 2), "elastic (ramp) in cell 1 over "
                                                            "elastic is at least 2"),
        (Ratio(Term("a"), Term("b"), None, 1, 0.9), "a over b is at most 1, and below 0.9 in one "
                                                    "cell at least"),
        (Within(("static",), "best_level", at_most=4), "best level of static is at most 4"),
        (Within(("manual",), "final_level", 1, None, True), "final level for each CPU of manual is "
                                                            "at least 1"),
        (Trend(Term("a"), Term("b"), "rising"), "a over b is rising from cell to cell"),
        (Rising(64, 0.05), "throughput of dynamic rises and never falls by more than 5% from level "
                           "to level, up to 64 threads"),
        (Rising(64, least_difference=1), "throughput of dynamic rises and never falls from level "
                     "to level, up to 64 threads, and ends above 2 times its first value"),
        (AllOf((Best("a", ("b",)), Within(("a",), "ramp", at_most=0.5))), "throughput of a is "
                     "above that of b; and ramp of a is at most 0.5"),
        (Provided(Best("a", ("b",)), Within(("a",), "queued_share", 0.1)), "throughput of a is "
                     "above that of b, where queued share of a is at least 0.1"),
        (Rising(64), "throughput of dynamic rises and never falls from level to level, up to 64 "
                     "threads"),
        (RiseAndFall(0.05), "over the fixed levels throughput has one peak, dips of up to 5% "
                            "apart"),
        (BestVaries(("a", "b", "c")), "which of a, b and c has the highest throughput is not the "
                                      "same in all cells"),
    ],
)  # fmt: skip
def test_every_predicate_says_in_words_what_it_checks(predicate, words):
    assert str(predicate) == words


FAST_ENOUGH = Within(("manual",), "throughput", at_least=5)
FASTER = Order(("manual", "dedicated"))


@pytest.mark.parametrize(
    ("manual", "found"), [(10, [YES, YES]), (6, [YES, NO]), (4, [NO, NO]), (5, [MAYBE, NO])]
)
def test_all_checks_must_hold(manual, found):
    cell = one_cell(*three(manual, 8, 1, half=0.01))
    assert findings(AllOf((FAST_ENOUGH, FASTER)), cell) == found


@pytest.mark.parametrize(
    ("manual", "found"),
    [
        (10, ["no arm dedicated in pipeline, cost 1"]),
        (4, [NO, "no arm dedicated in pipeline, cost 1"]),
    ],
)
def test_a_check_that_cannot_be_read_leaves_another_one_to_refute_and_not_to_confirm(manual, found):
    cell = one_cell(arm("manual", manual, half=0.01))
    assert findings(AllOf((FAST_ENOUGH, FASTER)), cell) == found


def test_a_check_of_several_cells_is_open_where_another_one_lacks_one_of_them():
    falls = Order(("manual",))
    both = cells({"1": three(10, 8, 1, half=0.01), "2": [arm("manual", 6, half=0.01)]})
    assert findings(AllOf((falls, FASTER)), *both) == [
        OPEN,
        YES,
        "no arm dedicated in pipeline, cost 2",
    ]


def test_checks_together_refute_no_more_often_than_one():
    cell = one_cell(*three(10, 13, 1, half=1.0))
    assert findings(FASTER, cell) == [NO]
    assert findings(AllOf((FASTER, FASTER, FASTER, FASTER)), cell) == [UNLIKELY] * 4


@pytest.mark.parametrize(
    ("level", "found"),
    [
        (12, YES),
        (
            2,
            "it is not so in pipeline, cost 1 that settled level of elastic is at least 12; it says "
            "nothing there",
        ),
    ],
)
def test_cells_in_which_a_condition_does_not_hold_say_nothing(level, found):
    condition = Within(("elastic",), "settled_level", at_least=12)
    elastic = arm("dynamic-elastic", 30.0, half=0.1, level=level, level_lo=level, level_hi=level)
    cell = one_cell(elastic, arm("manual", 10.0, half=0.1))
    assert findings(Provided(Order(("elastic", "manual")), condition), cell) == [found]


SLOWER_AND_FASTER = {
    "1": [arm("manual", 5.0, half=0.1), arm("dynamic-1", 1.0)],
    "2": [arm("manual", 2.0, half=0.1)],
}


@pytest.mark.parametrize(
    ("limits", "holds", "throughout"),
    [
        ({"at_least": 4}, True, True),
        ({"at_least": 5}, True, None),
        ({"at_least": 6}, False, False),
        ({"at_most": 2}, True, None),
    ],
)
def test_somewhere_is_in_one_cell_at_least(limits, holds, throughout):
    [outcome] = Somewhere(Term("manual"), **limits).judge(cells(SLOWER_AND_FASTER))
    assert (outcome.finding.holds, outcome.finding.throughout) == (holds, throughout)


def test_somewhere_compares_arms_too_and_tells_what_is_missing():
    of_cost = {"1": [arm("manual", 5.0), arm("dedicated", 20.0)], "2": [arm("manual", 5.0)]}
    outcomes = Somewhere(Term("dedicated"), Term("manual"), at_least=3).judge(cells(of_cost))
    assert [bool(outcome.finding and outcome.finding.holds) for outcome in outcomes] == [
        True,
        False,
    ]
    assert outcomes[1].missing == "no arm dedicated in pipeline, cost 2"
    assert (
        str(Somewhere(Term("dedicated"), Term("manual"), 3))
        == "dedicated over manual is at least 3 in one cell at least"
    )

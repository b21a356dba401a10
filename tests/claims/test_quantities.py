"""Tests of what is read of an arm: which arm a word means, its number and range, and what is
missing.
"""

from __future__ import annotations

import math

import pandas as pd
import pytest

from harness.claims.evidence import Wanted, find, parameters_of
from harness.claims.quantities import QUANTITIES, read
from harness.claims.reading import Missing, RangedNumber
from tests.claims.made import FIG9, LOCAL, XEON, arm, cell_name, one_cell, tables, throughput

NAMED = {"topology": "pipeline", "cost": "1"}


def test_elastic_is_the_law_of_ibm_streams_or_p17s_as_printed_if_one_is_there():
    names = ("dynamic-elastic", "dynamic-elastic-pldi17", "dynamic-elastic-streams")
    arms = [arm(name, number, half=0) for number, name in enumerate(names, 1)]
    assert read(one_cell(*arms), "throughput", "elastic").value == 3
    assert read(one_cell(*arms[:2]), "throughput", "elastic").value == 2
    assert read(one_cell(arm("dynamic-elastic", 1, half=0)), "throughput", "elastic").value == 1


def test_elastic_is_p17s_law_even_if_all_its_runs_failed():
    cell = one_cell(arm("dynamic-elastic", 1, half=0), arm("dynamic-elastic-pldi17", None))
    with pytest.raises(
        Missing, match="dynamic-elastic-pldi17 has no throughput in pipeline, cost 1: 3 runs failed"
    ):
        read(cell, "throughput", "elastic")


def test_storm_is_the_best_of_its_arms_by_default_and_tuned():
    names = ("storm", "storm-batched", "storm-queue-100")
    arms = [arm(name, mean, half=0) for name, mean in zip(names, (90, 120, 70), strict=True)]
    cell = one_cell(arm("manual", 300, half=0), *arms)
    assert read(cell, "throughput", "storm").value == 120
    assert list(cell.rivals("storm")["arm"]) == list(names)
    with pytest.raises(Missing, match="no arm storm in pipeline, cost 1"):
        read(one_cell(arm("manual", 300)), "throughput", "storm")


def test_static_is_the_best_fixed_level_and_never_an_elastic_one():
    cell = one_cell(
        arm("dynamic-1", 5), arm("dynamic-2", 9), arm("dynamic-4", None), arm("dynamic-elastic", 99)
    )
    assert read(cell, "throughput", "static").value == 9
    assert cell.shown[-1].arm == "dynamic-2"
    assert read(cell, "throughput", "static-1").value == 5


@pytest.mark.parametrize(("venue", "ranged"), [(XEON, "band"), (LOCAL, "interval")])
def test_the_best_of_several_arms_may_be_another_one_within_the_ranges(venue, ranged):
    """With the level of 176 as good as it may be the law, at 6.25, has 0.69 of the best level's
    throughput.
    """
    sure, open_one = (
        ({"band": (6.2, 6.2)}, {"band": (3.0, 9.0)})
        if ranged == "band"
        else ({"half": 0.0}, {"half": 3.0})
    )
    cell = one_cell(arm("dynamic-1", 6.2, **sure), arm("dynamic-2", 6.0, **open_one), venue=venue)
    found = RangedNumber(6.2, 6.2, 9.0, 3, is_sampled=venue is LOCAL)
    assert read(cell, "throughput", "static") == found
    assert cell.shown[-1].arm == "dynamic-1"
    shares = one_cell(placed(0, 6.2, **sure), placed(100, 6.0, **open_one), venue=venue)
    assert read(shares, "throughput", "shares") == found


def test_the_best_of_several_arms_is_varied_only_if_all_are():
    cell = one_cell(arm("dynamic-1", 9, band=(8, 10)), arm("dynamic-2", 5), venue=XEON)
    assert not read(cell, "throughput", "static").is_varied


def test_a_cell_without_fixed_levels_has_no_static_arm():
    with pytest.raises(Missing, match="no arm of a fixed level in pipeline, cost 1"):
        read(one_cell(arm("manual", 1)), "best_level", "static")


def test_a_measured_mean_has_its_interval_and_one_run_has_none():
    for half, low, high in ((2, 8, 12), (None, 0, math.inf)):
        found = read(one_cell(arm("manual", 10, half=half)), "throughput", "manual")
        assert found == RangedNumber(10, low, high, 3, is_sampled=True)


def test_a_simulated_mean_has_its_band_or_says_that_nothing_was_varied():
    banded = one_cell(arm("manual", 10, half=1, band=(7, 15)), venue=XEON)
    assert read(banded, "throughput", "manual") == RangedNumber(10, 7, 15, 3)
    bare = one_cell(arm("manual", 10, half=1), venue=XEON)
    assert read(bare, "throughput", "manual") == RangedNumber(10, 10, 10, 3, is_varied=False)


def test_a_table_from_before_there_were_bands_is_read_too():
    table = throughput({cell_name(): [arm("manual", 10)]}, XEON).drop(
        columns=["band_lo", "band_hi", "software"]
    )
    cell = find(tables(table), Wanted(FIG9, NAMED, {}), XEON)
    assert read(cell, "throughput", "manual") == RangedNumber(10, 10, 10, 3, is_varied=False)


def test_the_best_level_may_be_any_that_the_intervals_allow():
    clear = one_cell(
        arm("dynamic-1", 10, half=1), arm("dynamic-2", 20, half=1), arm("dynamic-3", 15, half=1)
    )
    assert read(clear, "best_level", "static") == RangedNumber(2, 2, 2, 3)
    open_one = one_cell(
        arm("dynamic-1", 10, half=1), arm("dynamic-2", 20, half=3), arm("dynamic-3", 15, half=2)
    )
    assert read(open_one, "best_level", "static") == RangedNumber(2, 2, 3, 3)
    few = one_cell(
        arm("dynamic-1", 10, half=1), arm("dynamic-4", 20, half=3), arm("dynamic-6", 19, half=2)
    )
    found = read(few, "best_level", "static")
    assert (found.value, found.low, found.high, found.is_open) == (4, 2, 8, True), (
        "with 8 CPUs; 5, 7 and 8 are not there"
    )
    assert found.lacks == "levels beside 4 threads are missing"


def test_each_of_two_levels_that_are_as_good_may_be_the_best():
    rates = dict.fromkeys(range(1, 9), 50.0) | {2: 99.0, 3: 100.0}
    near = one_cell(*(arm(f"dynamic-{level}", rate, half=0) for level, rate in rates.items()))
    assert read(near, "best_level", "static") == RangedNumber(3, 2, 3, 3, is_open=True)


@pytest.mark.parametrize(
    ("levels", "lacks"),
    [
        ((1, 4, 8), "no level of 2 to 3 threads beside the best, 4"),
        ((1, 2, 4), "no level of 5 to 8 threads beside the best, 4"),
        ((4,), "no level of 1 to 3 and of 5 to 8 threads beside the best, 4"),
        ((1, 2, 4, 8), ""),
        ((1, 2, 4, 6, 8), ""),
    ],
)
def test_the_best_of_the_levels_says_which_ones_it_lacks(levels, lacks):
    cell = one_cell(
        *[arm(f"dynamic-{level}", 20 if level == 4 else 10, half=1) for level in levels]
    )
    found = read(cell, "throughput", "static")
    assert (found.lacks, found.is_open, math.isinf(found.high)) == (lacks, bool(lacks), bool(lacks))
    assert found.value == 20


def test_arms_that_no_varied_constant_reaches_are_not_varied_beside_one_that_was():
    missed = {"variants": 2, "variants_failed": 0, "variants_reached": 0}
    met = missed | {"variants_reached": 1}
    cell = one_cell(
        arm("manual", 10, **missed), arm("dedicated", 20, band=(18, 22), **met), venue=XEON
    )
    manual, dedicated = (read(cell, "throughput", name) for name in ("manual", "dedicated"))
    assert (manual.is_varied, manual.is_unreached) == (False, True)
    assert (dedicated.is_varied, dedicated.is_unreached) == (True, False)
    assert (manual / dedicated).is_varied
    assert not (manual / manual).is_varied and (manual / manual).is_unreached
    bare = read(one_cell(arm("manual", 10), venue=XEON), "throughput", "manual")
    assert not (bare / dedicated).is_varied and not (bare / dedicated).is_unreached


def test_a_best_level_is_varied_only_if_all_levels_are():
    half_banded = one_cell(arm("dynamic-1", 10, band=(9, 11)), arm("dynamic-2", 20), venue=XEON)
    assert not read(half_banded, "best_level", "static").is_varied
    banded = one_cell(
        arm("dynamic-1", 10, band=(9, 11)), arm("dynamic-2", 20, band=(18, 25)), venue=XEON
    )
    assert read(banded, "best_level", "static").is_varied


def test_the_settled_level_has_the_interval_of_its_runs():
    cell = one_cell(arm("dynamic-elastic", 10, level=4.0, level_lo=3.0, level_hi=5.0))
    assert read(cell, "settled_level", "elastic") == RangedNumber(4, 3, 5, 3, is_sampled=True)


def test_a_simulated_level_has_no_band():
    cell = one_cell(arm("dynamic-elastic", 10, level=4.0, level_lo=3.0, level_hi=5.0), venue=XEON)
    assert read(cell, "settled_level", "elastic") == RangedNumber(4, 4, 4, 3, is_varied=False)


def test_an_elastic_arm_that_never_settled_has_no_level():
    with pytest.raises(Missing, match="dynamic-elastic settled on no level"):
        read(one_cell(arm("dynamic-elastic", 10)), "settled_level", "elastic")


def switching(**row: object):
    return one_cell(arm("dedicated", 1000, half=1, **row))


def test_switches_are_by_the_second_and_known_to_a_factor_of_two():
    cell = switching(context_switches_mean=200.0)
    assert read(cell, "context_switches", "dedicated") == RangedNumber(40, 20, 80, 3)


def test_executions_for_each_switch_are_those_over_all_operators():
    cell = switching(context_switches_mean=200.0)
    assert (
        read(cell, "executions_per_switch", "dedicated").value == 250
    )  # 10,000 a second over all operators


def test_without_a_switch_there_is_no_share_for_each():
    with pytest.raises(Missing, match="dedicated had no context switch"):
        read(switching(context_switches_mean=0.0), "executions_per_switch", "dedicated")


@pytest.mark.parametrize("column", ["context_switches_mean", "duration_mean", "submitted_mean"])
def test_executions_for_each_switch_need_all_three_numbers(column):
    cell = switching(**({"context_switches_mean": 200.0} | {column: None}))
    with pytest.raises(Missing, match=f"dedicated has no {column} in pipeline, cost 1"):
        read(cell, "executions_per_switch", "dedicated")


def test_switches_need_the_length_of_the_window():
    cell = switching(context_switches_mean=200.0)
    cell.throughput.drop(columns="duration_mean", inplace=True)
    with pytest.raises(Missing, match="dedicated has no duration_mean"):
        read(cell, "context_switches", "dedicated")


def on_cpus(venue=LOCAL, **row: object):
    times = {"cpu_seconds_mean": 4.0, "kernel_seconds_mean": 2.0}
    return one_cell(arm("dedicated", 1000, half=1, **times | row), venue=venue)


def test_the_kernels_share_is_known_to_a_factor_of_two_of_it_over_the_rest():
    for kernel_s, share, low, high in (
        (0.0, 0.0, 0.0, 0.0),
        (2.0, 1 / 2, 1 / 3, 2 / 3),
        (3.0, 3 / 4, 3 / 5, 6 / 7),
        (4.0, 1.0, 1.0, 1.0),
    ):
        found = read(on_cpus(kernel_seconds_mean=kernel_s), "kernel_share", "dedicated")
        assert (found.value, found.low, found.high) == pytest.approx((share, low, high))
        assert found.is_varied and not found.is_sampled


def test_a_simulated_share_of_the_kernel_is_a_number_without_a_band():
    found = read(on_cpus(XEON), "kernel_share", "dedicated")
    assert found == RangedNumber(0.5, 0.5, 0.5, 3, is_varied=False)
    above = on_cpus(XEON, kernel_seconds_mean=4.01)  # of a window that ends within a call
    assert read(above, "kernel_share", "dedicated").value == 1.0


@pytest.mark.parametrize("column", ["cpu_seconds_mean", "kernel_seconds_mean"])
def test_the_kernels_share_needs_both_times(column):
    with pytest.raises(Missing, match=f"dedicated has no {column} in pipeline, cost 1"):
        read(on_cpus(**{column: None}), "kernel_share", "dedicated")
    old = on_cpus()
    old.throughput.drop(columns=column, inplace=True)
    with pytest.raises(Missing, match=f"dedicated has no {column}"):
        read(old, "kernel_share", "dedicated")


def test_without_cpu_time_there_is_no_share_of_it():
    with pytest.raises(Missing, match="dedicated used no CPU time in pipeline, cost 1"):
        read(on_cpus(cpu_seconds_mean=0.0), "kernel_share", "dedicated")


def test_the_load_is_known_of_simulated_runs_only():
    assert (
        read(
            one_cell(arm("dedicated", 1, runnable_mean=900.0), venue=XEON), "load", "dedicated"
        ).value
        == 900
    )
    with pytest.raises(Missing, match="dedicated has no runnable_mean"):
        read(switching(), "load", "dedicated")


def test_latency_is_the_average_with_its_interval_over_runs():
    row = {
        "experiment": FIG9,
        "cell": cell_name(cost="1"),
        "arm": "manual",
        "machine": "local",
        "simulated": False,
    }
    table = pd.DataFrame([row | {"n": 3, "mean": 100.0, "lo": 90.0, "hi": 115.0}])
    cell = one_cell(arm("manual", 1, half=0), arm("dedicated", 1, half=0), latency=table)
    assert read(cell, "latency", "manual") == RangedNumber(
        100, 90, 115, 3, is_sampled=True, resolution=1 / 32
    )
    with pytest.raises(Missing, match="no latencies of dedicated"):
        read(cell, "latency", "dedicated")


def test_failed_runs_are_counted_over_one_arm_or_all():
    cell = one_cell(arm("manual", 1), arm("dedicated", None), arm("dynamic-1", 2, failed=1))
    assert read(cell, "failed_runs", "every").value == 4
    assert read(cell, "failed_runs", "dedicated").value == 3
    assert read(cell, "failed_runs", "manual").value == 0


def test_runs_that_never_settled_count_once_and_those_without_a_rate_too():
    arms = [arm("manual", 1, unsettled=3), arm("dedicated", 2, no_rate=2)]
    assert read(one_cell(*arms), "failed_runs", "every").runs == 3 + (3 + 2)


def test_an_arm_that_never_settled_and_let_no_tuple_through_says_nothing():
    with pytest.raises(
        Missing, match="manual never settled in pipeline, cost 1, and no tuple arrived"
    ):
        read(one_cell(arm("manual", 0, unsettled=3)), "throughput", "manual")
    assert read(one_cell(arm("manual", 0, half=0)), "throughput", "manual").value == 0


def law_of_some_runs(settled: int, **other: object) -> dict:
    """Return an elastic arm of ten runs, of which some settled, at twice the rate."""
    means = {"settled_mean": 20.0, "settled_level": 6.0, "settled_submitted_mean": 200.0}
    return arm("dynamic-elastic", 10, level=4.0, n=10, unsettled=10 - settled, **means, **other)


def test_a_simulated_arm_has_the_number_that_figures_draw():
    points = {"band": (8, 12), "at_points": [8.0, 12.0]}
    cell = one_cell(law_of_some_runs(3, sd=1.0, **points), arm("manual", 1), venue=XEON)
    rate = read(cell, "throughput", "elastic")
    assert (rate.value, rate.low, rate.high, rate.runs) == (20, 16, 24, 3)
    assert read(cell, "settled_level", "elastic").value == 6
    assert read(cell, "submitted", "elastic").value == 200
    assert cell.shown[0].arm == "dynamic-elastic (mean of 3 of 10 runs, which settled)"
    assert all(shown.is_settled for shown in cell.shown)
    assert read(cell.at_point(1), "throughput", "elastic").value == 24
    with pytest.raises(Missing, match="no sd"):
        read(cell, "run_spread", "elastic")


def test_a_simulated_arm_that_figures_leave_out_has_no_number():
    held = {"unsettled": 1, "at_points": [1.0, 2.0]}
    cell = one_cell(law_of_some_runs(0), arm("manual", 1, **held), venue=XEON)
    for word, why in (("elastic", "never settled"), ("manual", "1 of 3 runs never settled")):
        for each in (cell, cell.at_point(1)):
            with pytest.raises(Missing, match=f"{why}.* in pipeline, cost 1, and is left out"):
                read(each, "throughput", word)


def test_a_measured_arm_has_the_mean_of_all_its_runs():
    cell = one_cell(law_of_some_runs(3))
    assert read(cell, "throughput", "elastic").value == 10
    assert not cell.shown[0].is_settled


def test_a_lost_run_that_has_a_row_of_its_own_hides_no_mean_and_counts_as_failed():
    lost = arm("dynamic-elastic", None, failed=1)
    for arms in ((lost, arm("dynamic-elastic", 10)), (arm("dynamic-elastic", 10), lost)):
        cell = one_cell(*arms)
        assert read(cell, "throughput", "elastic").value == 10
        assert cell.shown[-1].arm == "dynamic-elastic (1 of 4 runs failed)"


def test_an_arm_says_what_its_mean_keeps_quiet_about():
    cell = one_cell(arm("manual", 1, unsettled=3), arm("dedicated", 2, failed=1))
    for word in ("manual", "dedicated"):
        read(cell, "throughput", word)
    assert [shown.arm for shown in cell.shown] == [
        "manual (never settled)",
        "dedicated (1 of 4 runs failed)",
    ]


def test_a_number_of_several_arms_rests_on_runs_that_never_settled_if_one_of_them_has_such():
    levels = [arm("dynamic-1", 5, unsettled=3), arm("dynamic-2", 9)]
    shares = [placed(0, 5.0, unsettled=3), placed(20, 9.0)]
    row = {
        "experiment": FIG9,
        "cell": cell_name(cost="1"),
        "arm": "manual",
        "machine": "local",
        "simulated": False,
    }
    times = pd.DataFrame([row | {"n": 3, "mean": 100.0, "lo": 90.0, "hi": 115.0}])
    cell = one_cell(*levels, *shares, arm("manual", 1, unsettled=3), latency=times)
    looked_at = [
        ("best_level", "static"),
        ("best_share", "shares"),
        ("throughput", "static"),
        ("latency", "manual"),
    ]
    for quantity, word in looked_at:
        read(cell, quantity, word)
    assert [shown.is_settled for shown in cell.shown] == [False] * 4
    assert [shown.arm for shown in cell.shown] == [
        "dynamic (3 of 6 runs never settled)",
        "dynamic elastic by share (3 of 6 runs never settled)",
        "dynamic-2 (3 of 6 runs never settled)",
        "manual (never settled)",
    ]
    calm = one_cell(arm("dynamic-1", 5), arm("dynamic-2", 9))
    read(calm, "best_level", "static")
    assert calm.shown[0].is_settled


def of_sizes(*sizes):
    cells = {
        cell_name(operators=size, cost=cost): [arm("manual", size)]
        for size in sizes
        for cost in (1, 100)
    }
    return find(tables(throughput(cells)), Wanted(FIG9, NAMED, {"operators": "1000"}), LOCAL)


def test_a_cell_is_found_by_its_parameters_and_the_size_nearest_to_the_papers():
    near = of_sizes(10, 500, 900)
    assert read(near, "throughput", "manual").value == 900
    assert near.name == "pipeline, cost 1, 900 operators (paper: 1000)"
    assert of_sizes(900, 1000, 1001).name == "pipeline, cost 1, 1000 operators"


def test_a_cell_of_the_papers_size_says_only_that():
    held = tables(throughput({cell_name(): [arm("manual", 1)]}))
    assert (
        find(held, Wanted(FIG9, NAMED, {"operators": "1000"}), LOCAL).name
        == "pipeline, cost 1, 1000 operators"
    )


def test_missing_cells_and_experiments_are_named():
    held = tables(throughput({cell_name(): [arm("manual", 1)]}))
    with pytest.raises(Missing, match="no cell pipeline, cost 7 in pldi17_fig9"):
        find(held, Wanted(FIG9, NAMED | {"cost": "7"}, {}), LOCAL)
    with pytest.raises(Missing, match="no runs of pldi17_fig10"):
        find(held, Wanted("pldi17_fig10", NAMED, {}), LOCAL)
    with pytest.raises(Missing, match="no runs of pldi17_fig9 on xeon"):
        find(held, Wanted(FIG9, NAMED, {}, "xeon"), XEON)


def test_parameters_are_those_of_the_cells_name():
    assert parameters_of("mix,width=10,cost=1") == {"topology": "mix", "width": "10", "cost": "1"}


def test_every_quantity_has_a_unit_and_a_meaning():
    for name, quantity in QUANTITIES.items():
        assert quantity.unit, name
        assert quantity.meaning[0].islower(), name
        assert "\n" not in quantity.meaning, name


def placed(share, mean, **other):
    """An elastic arm whose queues were placed by hand, at `share` % of 200 ports."""
    name = f"dynamic-elastic-queued-{share}pct"
    return arm(
        name,
        mean,
        **{"elastic": True, "law": "millrace", "queued": 2.0 * share, "places": 200.0, **other},
    )


def test_the_share_of_queues_is_of_the_ports_that_may_have_one():
    measured = one_cell(
        arm(
            "multilevel-middleware19",
            5.0,
            queued=50.0,
            queued_lo=40.0,
            queued_hi=60.0,
            places=200.0,
        )
    )
    reading = read(measured, "queued_share", "multilevel")
    assert (reading.value, reading.low, reading.high) == (0.25, 0.2, 0.3)
    simulated = one_cell(arm("multilevel", 5.0, queued=50.0, places=200.0), venue=XEON)
    assert (read(simulated, "queued_share", "multilevel").value, simulated.shown[0].arm) == (
        0.25,
        "multilevel",
    )


def test_without_ports_there_is_no_share():
    with pytest.raises(Missing, match="manual has no places in pipeline, cost 1"):
        read(one_cell(arm("manual", 5.0, queued=0.0, places=None)), "queued_share", "manual")


def test_shares_are_those_of_ibms_law_if_it_has_some():
    theirs = [
        arm(f"dynamic-elastic-streams-queued-{share}pct", 7.0 + share, queued=share, places=200.0)
        for share in (0, 50)
    ]
    cell = one_cell(placed(0, 99.0), placed(20, 99.0), *theirs)
    assert (
        read(cell, "throughput", "shares").value,
        read(cell, "throughput", "share-0").value,
    ) == (57.0, 7.0)
    with pytest.raises(Missing, match="no arm share-20"):
        read(cell, "throughput", "share-20")


def test_the_best_share_is_that_of_the_highest_mean_and_those_that_may_have_it():
    cell = one_cell(placed(100, 8.0, half=1.0), placed(0, 5.0, half=0.1), placed(20, 9.0, half=1.0))
    reading = read(cell, "best_share", "shares")
    assert (reading.value, reading.low, reading.high) == (0.2, 0.2, 1.0)
    assert read(cell, "throughput", "shares").value == 9.0
    assert read(cell, "throughput", "share-100").value == 8.0
    with pytest.raises(Missing, match="no arm with a share of the queues"):
        read(one_cell(arm("dynamic-elastic", 5.0)), "best_share", "shares")


def test_multilevel_is_the_papers_law_if_it_is_there():
    both = one_cell(arm("multilevel", 5.0), arm("multilevel-middleware19", 7.0))
    assert read(both, "throughput", "multilevel").value == 7.0
    assert read(one_cell(arm("multilevel", 5.0)), "throughput", "multilevel").value == 5.0


def test_arms_with_some_queues_are_no_fixed_levels():
    cell = one_cell(arm("dynamic-2", 5.0), arm("dynamic-1-queued-30pct", 9.0, threads=1.0))
    assert read(cell, "throughput", "static").value == 5.0


def test_the_spread_is_over_the_runs():
    found = read(one_cell(arm("manual", 50.0, sd=5.0)), "run_spread", "manual")
    assert (found.value, found.low, found.high) == pytest.approx((0.1, 0.0521, 0.6285), abs=1e-4), (
        "printed chi-squared: 7.378, 0.0506"
    )
    with pytest.raises(Missing, match="one run of manual shows no spread"):
        read(one_cell(arm("manual", 50.0, sd=None, n=1)), "run_spread", "manual")

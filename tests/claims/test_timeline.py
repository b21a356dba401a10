"""Numbers of elastic runs over time: a period of a second for each level."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from harness.claims import timeline
from harness.claims.evidence import Wanted
from harness.claims.quantities import QUANTITIES
from harness.claims.reading import Finding, Missing, within
from harness.claims.timeline import runs_of
from harness.measurement.interval import mean_interval
from tests.claims.made import FIG9, LOCAL, XEON, arm, balanced, cell_name, one_cell, periods

WANTED = Wanted("pldi17_fig11", {"topology": "pipeline", "cost": "1"}, {})


def measure(name: str, *runs: pd.DataFrame, arm: str = "dynamic-elastic"):
    """That number of the runs, which have the names a, b, …"""
    rows = pd.concat([run.assign(run_id=letter) for run, letter in zip(runs, "abc", strict=False)])
    return timeline.MEASURES[name][1](runs_of(rows, arm, WANTED))


def test_levels_at_the_beginning_the_highest_and_the_end():
    run = periods([1, 2, 4, 8, 16, 8, 8, 8, 8])
    assert measure("first_level", run).value == 1
    assert measure("highest_level", run).value == 16
    assert measure("final_level", run).value == 8
    assert measure("back_off", run).value == 2


def test_the_end_is_the_last_third():
    run = periods([1, 1, 1, 9, 9, 9, 4, 6, 4])
    assert measure("final_level", run).value == 4
    assert [part.value for part in measure("final_levels", run).parts] == [4, 6]
    assert measure("changes", run).value == 1


def test_a_number_is_the_mean_of_its_runs_with_an_interval_that_one_run_does_not_have():
    reading = measure("highest_level", periods([1, 8, 8]), periods([1, 4, 4]))
    assert (reading.value, reading.low, reading.high, reading.runs) == (*mean_interval([8, 4]), 2)
    reading = measure("highest_level", periods([1, 8, 8]))
    assert (reading.value, reading.low, reading.high, reading.runs) == (8, 0, math.inf, 1)


def test_what_holds_for_all_runs_holds_for_the_least_and_the_greatest_of_them():
    cell = one_cell(
        arm("dynamic-elastic", 1),
        timeline=[
            periods([1, 8, 8, 8, 8, 6], run="a", experiment=FIG9),
            periods([1, 8, 8, 8, 8, 8], run="b", experiment=FIG9),
        ],
    )
    reading = QUANTITIES["final_levels_of_all_runs"].of(cell, "elastic").reading
    assert [part.value for part in reading.parts] == [6, 8]
    assert within(reading, 6, 8) == Finding(True, True)
    assert within(reading, 7, 8) == Finding(False, False), "although their mean is 7"


def test_one_run_says_nothing_of_all_runs():
    cell = one_cell(arm("dynamic-elastic", 1), timeline=[periods([1, 8, 8], experiment=FIG9)])
    reading = QUANTITIES["highest_level_of_all_runs"].of(cell, "elastic").reading
    assert within(reading, 8, 8) == Finding(None, None)
    assert within(reading, 9, None) == Finding(False, False), "this run is one of all"
    assert "one run says nothing of others" in reading.lacks


def test_the_range_of_levels_of_one_run_says_nothing_of_others():
    assert measure("level_range", periods([1, 8, 8, 6])).is_open


def test_levels_of_the_end_are_within_limits_if_the_lowest_and_the_highest_are():
    reading = measure("final_levels", *[periods([1] * 6 + [4, 5, 6])] * 3)
    assert within(reading, 2, 12) == Finding(True, True)
    assert within(reading, 4, 6) == Finding(True, None)
    assert within(reading, 10, 20) == within(reading, 1, 2) == Finding(False, False)


def test_a_run_that_stays_does_not_change():
    assert measure("changes", periods([1, 2, 4, 4, 4, 4])).value == 0


@pytest.mark.parametrize(
    ("end", "least"),
    [
        ([184, 184, 184, 184], 0),
        ([184, 160, 136, 130], 0),  # it falls, and never rises
        ([136, 132, 130, 132], 2),
        ([184, 130, 184, 130], 54),
        ([130, 140, 150, 160], 0),
        ([150, 130, 150, 184], 20),
    ],
)
def test_an_oscillation_rises_and_falls(end, least):
    assert measure("oscillation", periods([1, 2, 4, 8, 16, 32, 64, 128, *end])).value == least


def test_ramp_is_when_the_highest_level_is_first_reached():
    assert measure("ramp", periods([1, 2, 8, 8, 4, 4, 8, 4, 4, 4])).value == pytest.approx(0.25)


def test_throughput_at_the_highest_level_over_the_final_one():
    run = periods([1, 2, 8, 4, 4, 4], [10, 20, 15, 30, 30, 30])
    assert measure("highest_over_final", run).value == 0.5


def test_the_final_level_over_the_best_explored():
    run = periods([1, 2, 8, 4, 4, 4], [10, 20, 60, 30, 30, 30])
    assert measure("final_over_best", run).value == 0.5
    assert measure("final_over_best", periods([1, 2, 4, 4], [10, 20, 40, 40])).value == 1


def test_how_far_the_highest_level_was_above_the_final_one():
    assert measure("highest_less_final", periods([1, 2, 4, 3, 3])).value == 1
    assert measure("highest_less_final", periods([1, 2, 4, 4, 4])).value == 0


def test_the_range_of_levels_and_of_throughput_over_runs():
    runs = [periods([1, level, level], [10, rate, rate]) for level, rate in ((8, 90), (12, 110))]
    assert measure("level_range", *runs).value == pytest.approx(0.4)
    assert measure("throughput_range", *runs).value == pytest.approx(0.2)


CLIMBS = (
    periods([1, 2, 8, 4, 4, 4, 4], [10, 20, 15, 30, 33, 30, 29], system_cpu=0.9),
    periods([1, 2, 8, 6, 5, 5, 5], [10, 20, 15, 28, 30, 30, 31], system_cpu=0.9),
)
RATES = ["throughput_submitted", "throughput_source", "throughput_sink"]


@pytest.mark.parametrize("name", timeline.MEASURES)
def test_no_number_depends_on_whether_a_graph_is_faster_than_a_tuple_a_second(name):
    slow = [run.assign(**(run[RATES] / 10_000)) for run in CLIMBS]
    assert measure(name, *slow).value == pytest.approx(measure(name, *CLIMBS).value)


@pytest.mark.parametrize(
    "name",
    ["highest_over_final", "final_over_best", "throughput_range", "noise", "submitted_over_sink"],
)
def test_where_no_tuple_arrives_nothing_is_over_anything(name):
    with pytest.raises(Missing):
        measure(name, *[run.assign(**(run[RATES] * 0.0)) for run in CLIMBS])


def test_runs_without_a_level_or_a_tuple_at_their_end_do_not_count():
    still, moving = periods([1, 4, 0, 0], [10, 40, 0, 0]), periods([1, 4, 2, 2], [10, 40, 30, 30])
    assert measure("back_off", still, moving).value == measure("back_off", moving).value == 2
    assert measure("highest_over_final", still, moving).value == pytest.approx(4 / 3)


def test_one_run_shows_no_variation_between_runs():
    with pytest.raises(Missing, match="one run shows no variation"):
        measure("throughput_range", periods([1, 2, 2]))


def test_noise_is_seen_only_where_the_level_stays():
    steady = periods([1, 2, 4, 4, 4, 4], [10, 20, 40, 40, 40, 40])
    shaky = periods([1, 2, 4, 4, 4, 4, 4], [10, 20, 40, 44, 40, 44, 40])
    assert measure("noise", steady).value == 0
    assert measure("noise", shaky).value == pytest.approx(
        0.067, abs=0.002
    )  # 10 % up and down, of a difference of two
    with pytest.raises(Missing):
        measure("noise", periods([1, 2, 1, 2, 1]))


def test_climbs_pay_if_throughput_rises_by_more_than_5_percent():
    run = periods([1, 2, 3, 4, 3, 4], [100, 120, 124, 150, 10, 999])
    assert measure("paying_climbs", periods([1, 2, 3], [100, 105, 115.5])).value == 0.5, (
        "5 % is not more than 5 %"
    )
    assert measure("paying_climbs", run).value == pytest.approx(
        2 / 3
    )  # 120 to 124 is 3 %; after the highest none counts


def test_climbs_of_busy_cpus_are_counted():
    run = periods([1, 2, 4, 4, 8], system_cpu=[0.1, 0.81, 0.9, 0.79, 1.0])
    assert measure("busy_climbs", run).value == 1
    spared = periods(
        [1, 1, 2, 2, 4], system_cpu=[0.1, 0.9, 0.85, 0.9, 1.0]
    )  # the mean since the start allows the first step
    assert measure("busy_climbs", spared).value == 1
    assert measure("busy_climbs", periods([4, 4, 2], system_cpu=0.9)).value == 0
    assert measure("busy_climbs", periods([1, 2], system_cpu=[0.8, 1.0])).value == 0, (
        "80 % is not more than 80 %"
    )
    for cpu in (None, 0.8):
        with pytest.raises(Missing, match="no run of pldi17_fig11 found the CPUs busier than 80%"):
            measure("busy_climbs", periods([1, 2], system_cpu=cpu))


def test_the_cpus_of_the_end():
    assert measure("cpu", periods([1, 1, 1], system_cpu=[0.1, 0.2, 0.9])).value == pytest.approx(
        0.9
    )


def test_throughput_of_all_operators_is_over_that_of_the_sinks():
    assert measure("submitted_over_sink", periods([1, 2, 4])).value == 10


def test_a_balancers_level_is_that_of_its_ports():
    run = balanced([1, 2, 3], [10, 20, 30])
    assert measure("highest_level", run, arm="manual").value == 3


def test_failed_runs_are_left_out():
    good, bad = periods([1, 2, 2]), periods([1, 9, 9], failed=True)
    assert measure("highest_level", good, bad).value == 2
    with pytest.raises(
        Missing, match="all runs of dynamic-elastic over time failed in pipeline, cost 1"
    ):
        measure("highest_level", bad)


def test_an_arm_without_runs_is_missing():
    with pytest.raises(Missing, match="no run of dynamic-elastic over time in pipeline, cost 1"):
        measure("highest_level", balanced([1], [10]))


def test_periods_are_taken_in_the_order_of_time():
    run = periods([1, 2, 8]).iloc[::-1]
    assert measure("first_level", run).value == 1


def test_a_simulated_run_over_time_has_no_band():
    run = periods([1, 2, 8], cell=cell_name(cost=1), experiment="pldi17_fig9")
    for venue, is_varied in ((LOCAL, True), (XEON, False)):
        of_venue = run.assign(machine=venue.machine, simulated=venue.simulated)
        cell = one_cell(arm("dynamic-elastic", 1), venue=venue, timeline=[of_venue])
        assert QUANTITIES["highest_level"].of(cell, "elastic")[1].is_varied is is_varied

"""The curves of the bench have the shapes that their docstrings say."""

from __future__ import annotations

from itertools import pairwise

import pytest

from harness.bench.threads.curves import (
    UNIT,
    collapse,
    humps,
    library,
    peak,
    plateau,
    rising,
    sampled,
    shares,
    sharing,
    smt,
    spike,
    usl,
    wandering,
    wide_library,
)

LEVELS = range(1, 65)
CURVES = {**library(), **wide_library()}


def best_level(curve):
    """The lowest level that brings the most."""
    return 1 + curve.index(max(curve))


def test_every_curve_starts_at_the_unit_and_never_falls_to_nothing():
    for name, curve in CURVES.items():
        assert curve[0] == UNIT, name
        assert min(curve) > 0.0, name


def test_the_libraries_are_for_64_and_256_levels():
    assert {len(curve) for curve in library().values()} == {64}
    assert {len(curve) for curve in wide_library().values()} == {256}
    assert not library().keys() & wide_library().keys()


def test_the_libraries_are_the_same_each_time():
    assert (library(), wide_library()) == (library(), wide_library())


def test_there_is_a_peak_at_every_level():
    assert [best_level(CURVES[f"peak-{k}"]) for k in LEVELS] == list(LEVELS)


@pytest.mark.parametrize("name", ["wide-knee-176", "wide-peak-176", "wide-smt-176"])
def test_the_knee_of_a_big_machine_is_at_176_threads(name):
    assert best_level(wide_library()[name]) == 176


def test_rising_never_stops_and_is_proportional_with_power_1():
    assert [rising()(n) for n in LEVELS] == list(LEVELS)
    slower = [rising(0.7)(n) for n in LEVELS]
    assert slower == sorted(set(slower)), "each level brings more"
    assert slower[-1] < 64


def test_a_peak_falls_by_its_slope_to_a_tenth():
    shape = peak(10, 0.5)
    assert [shape(n) for n in (1, 9, 10, 11, 12, 27, 28, 29, 64)] == [
        1,
        9,
        10,
        9.5,
        9,
        1.5,
        1,
        1,
        1,
    ]


def test_a_spike_falls_with_the_square_of_the_level():
    assert [spike(8)(n) for n in (4, 8, 16, 32)] == [4, 8, 2, 0.5]


def test_a_plateau_is_constant_behind_its_knee():
    assert [plateau(5)(n) for n in (1, 4, 5, 6, 64)] == [1, 4, 5, 5, 5]


def test_a_collapse_makes_each_access_dearer():
    assert [collapse(3, 0.5)(n) for n in (1, 3, 4, 5)] == [1, 3, 2, 1.5]


def test_the_scalability_law_peaks_where_its_formula_says():
    assert usl(0.0, 0.0)(7) == 7
    assert usl(0.5, 0.0)(1) == 1
    assert best_level(sampled(usl(0.02, 0.0005), 64)) == 44, (
        "the square root of (1 - contention) / coherence: 44.3"
    )


def test_hardware_threads_bring_a_share_of_a_core_and_nothing_behind_the_last():
    assert [smt(4, 2, 0.25)(n) for n in (1, 4, 5, 8, 9, 64)] == [1, 4, 4.25, 5, 5, 5]


def test_two_humps_have_a_dip_of_a_fifth_between_them():
    shape = humps(8, 32, 1.3)
    assert [shape(n) for n in (4, 8, 20, 32, 64)] == pytest.approx([4, 8, 6.4, 10.4, 5.2])
    assert all(shape(n) < shape(8) for n in range(9, 24))
    assert best_level(library()["humps-low"]) == 8, "the second one is lower"
    assert best_level(library()["humps-far"]) == 32


def test_equal_shares_wait_for_whoever_has_one_more():
    assert [shares(24)(n) for n in (1, 5, 6, 7, 8, 12, 23, 24, 64)] == [
        1,
        24 / 5,
        6,
        6,
        8,
        12,
        12,
        24,
        24,
    ]


def test_wandering_curves_are_rough_by_2_percent_and_differ_by_seed():
    assert wandering(3, 64)(17) == wandering(3, 64)(17)
    made = [sampled(wandering(seed, 64), 64) for seed in range(12)]
    assert len(set(made)) == 12
    for curve in (
        made
    ):  # up to its peak each follows a power of the level, within the roughness of two levels
        k = best_level(curve)
        assert all(curve[n] > 0.95 * curve[n - 1] for n in range(1, k))


def test_sampling_scales_to_the_unit_at_level_1():
    assert sampled(lambda n: 7.0 * n, 3) == (UNIT, 2 * UNIT, 3 * UNIT)


def test_threads_that_share_bring_equal_shares_and_one_alone_more():
    curve = sampled(sharing(0.5), 8)
    assert curve[0] == curve[1] == UNIT
    assert curve[7] == 8 * 0.5 * UNIT


def test_the_new_shapes_are_what_they_are_called():
    from harness.bench.threads.curves import cusp, late, staircase, teeth

    steps = sampled(staircase(4, 2, 0.3, 0.25), 20)
    assert steps[3] == 4 * UNIT and steps[4] < steps[3], (
        "the first thread of a second socket makes all pay"
    )
    assert steps[7] == pytest.approx(0.9 * 5.2 * UNIT) and steps[15] == steps[19] == pytest.approx(
        1.25 * steps[7]
    )
    saw = sampled(teeth(4, 0.2, 8), 12)
    assert saw[7] > saw[8] > saw[10] and saw[11] == saw[7], "beyond the knee"
    slow_start = sampled(late(5, 20), 30)
    assert (
        slow_start[4] < UNIT
        and slow_start[9] == pytest.approx(2 * slow_start[4])
        and slow_start[29] == slow_start[19]
    )
    point = sampled(cusp(23, 64), 64)
    assert max(point) == point[22]
    rises = [after - before for before, after in pairwise(point[:23])]
    assert rises == sorted(rises), "the steeper the nearer"

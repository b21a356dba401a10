"""A sensitivity study varies all uncertain constants together, and covers the range of each."""

from __future__ import annotations

import math

import pytest

from harness.experiments.design import latin_hypercube
from harness.machines.place import find_place

RANGES = {"a.b": (1.0, 100.0), "c": (0.0, 5.0), "t.1": (1.0, 2.0), "t.16": (10.0, 40.0)}


def share(path: str, value: float) -> float:
    low, high = RANGES[path]
    if low == 0.0:
        return value / high
    return math.log(value / low) / math.log(high / low)


@pytest.mark.parametrize("path", RANGES)
def test_each_of_ten_parts_of_a_range_has_one_point(path):
    points = latin_hypercube(RANGES, 10)
    assert len(points) == 10
    assert sorted(int(10 * share(path, point[path])) for point in points) == list(range(10))


def test_steps_of_a_table_move_together_and_other_constants_do_not():
    points = latin_hypercube(RANGES, 10)
    shares = [{path: share(path, value) for path, value in point.items()} for point in points]
    assert all(each["t.1"] == pytest.approx(each["t.16"]) for each in shares)
    orders = {
        path: tuple(sorted(range(10), key=lambda i: shares[i][path]))
        for path in ("a.b", "c", "t.1")
    }
    assert len(set(orders.values())) == 3


def test_a_design_is_the_same_each_time():
    assert latin_hypercube(RANGES, 10) == latin_hypercube(RANGES, 10)


def test_a_place_varies_what_is_an_estimate_and_nothing_that_is_measured_there():
    place = find_place("xeon", software="streams-4.2")
    machine, software = place.described(), place.costs()
    of_software = {path for path, each in software.constants.items() if each.tag == "estimate"}
    assert of_software <= place.uncertain.keys()
    kept = place.uncertain.keys() - machine.sweep.keys() - software.sweep.keys()
    tags = {(machine.constants | software.constants)[path].tag for path in kept}
    assert tags == {"estimate", "adjacent"}
    assert find_place().uncertain == {}

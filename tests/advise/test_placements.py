"""Queues divide a graph into regions of about equal work."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from harness.advise.placements import can_be_named, divide, placed, placements
from tests.advise.made_costs import chain, made


def names(costs):
    return {name for name, each in costs.operators.items() if not each.is_source}


def test_a_queue_comes_where_a_region_would_pass_the_limit():
    costs = chain(100, 100, 100, 100)
    placement = divide(costs, names(costs), 10.0, 201.0)
    assert placement.queued == ("w2",)
    assert placement.loads == {"source": 201.0, "w2": 200.0}


def test_an_operator_that_passes_the_limit_alone_has_a_region_of_its_own():
    costs = chain(10, 500, 10)
    assert divide(costs, names(costs), 10.0, 50.0).queued == ("w1", "w2")


def test_an_operator_that_may_have_no_queue_stays_with_its_sender():
    costs = chain(100, 100, 100)
    assert divide(costs, {"w1"}, 10.0, 50.0).queued == ("w1",)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_the_regions_of_a_chain_are_as_even_as_any(count):
    work = [30, 110, 20, 70, 90, 40, 60]
    costs = chain(*work)
    found = [each for each in placements(costs, names(costs), 5.0) if len(each.loads) == count]
    slowest = min(max(each.loads.values()) for each in found)
    cuts = itertools.combinations(range(1, len(work) + 1), count - 1)
    loads = [1, *work]
    best = min(
        max(sum(loads[low:high]) for low, high in itertools.pairwise((0, *each, len(loads))))
        for each in cuts
    )
    assert slowest == pytest.approx(best)


def test_where_regions_meet_only_work_that_is_worth_it_has_a_queue():
    streams = {"source": (1.0, ()), "a": (50.0, ["source"]), "b": (50.0, ["source"])}
    cheap = made(**streams, sink=(5.0, ["a", "b"]))
    dear = made(**streams, sink=(500.0, ["a", "b"]))
    assert divide(cheap, names(cheap), 10.0, 60.0).queued == ("b",)
    assert divide(dear, names(dear), 10.0, 60.0).queued == ("b", "sink")


def test_queues_can_be_placed_everywhere_and_nowhere():
    costs = chain(1, 1)
    assert placed(costs, {"w0", "w1"}).queued == ("w0", "w1")
    assert placed(costs, set()).loads == {"source": 3.0}


@pytest.mark.parametrize(
    ("name", "can"), [("w1", True), ("a b", True), ("1st", False), ("a,b", False), (" a", False)]
)
def test_only_some_names_fit_the_option(name, can):
    assert can_be_named(name) is can


def test_an_operator_with_a_thread_of_its_own_begins_a_region_whatever_the_limit():
    costs = replace(chain(100, 100, 100), threaded=frozenset(("w1",)))
    placement = divide(costs, names(costs), 10.0, 1000.0)
    assert placement.loads == {"source": 101.0, "w1": 200.0}
    assert (placement.queued, placement.own) == ((), {"source", "w1"})
    assert placement.queue_shares == {"w1": 1.0}

"""Tests of who takes part, and that each runs as its name says."""

from __future__ import annotations

import pytest

from harness import elasticity
from harness.bench.bench import check_name, contestants
from harness.bench.closed_loop import trace_of
from harness.bench.queues.contestants import least_threads
from harness.errors import UserError
from tests.bench.queues.small import Toy, scenario

PLAIN = scenario()
EVERYWHERE = frozenset(range(len(PLAIN.layout.ports)))


def test_manual_has_no_queues():
    assert {each.queued for each in trace_of("manual", PLAIN).configurations} == {frozenset()}


def test_dedicated_has_them_all_each_with_a_thread():
    trace = trace_of("dedicated", PLAIN)
    assert {each.queued for each in trace.configurations} == {EVERYWHERE}
    assert set(trace.throughputs) == {PLAIN.surface(0).dedicated()}


def test_dynamic_has_them_all_and_moves_threads():
    trace = trace_of("dynamic", PLAIN)
    assert {each.queued for each in trace.configurations} == {EVERYWHERE}
    assert len(set(trace.levels)) > 2


def test_hand_placed_is_the_best_of_the_first_phase():
    trace = trace_of("hand-placed", PLAIN)
    best = PLAIN.best(0)
    assert {each.queued for each in trace.configurations} == {best.queued} and set(
        trace.levels
    ) == {best.threads}


def test_a_law_that_places_queues_is_made_by_its_name(monkeypatch):
    monkeypatch.setattr(elasticity, "law_class", lambda name, decides: Toy)
    trace = trace_of("millrace", PLAIN)
    assert trace.levels[:4] == [1, 1, 1, 4]


@pytest.mark.parametrize("law", ["middleware19", "streams"])
def test_laws_of_ibm_streams_begin_with_two_threads_where_there_are_cpus_for_them(law):
    assert set(trace_of(law, PLAIN).levels[:1]) == {2} and min(trace_of(law, PLAIN).levels) == 2
    assert (least_threads(law, 2), least_threads(law, 1), least_threads("millrace", 2)) == (2, 1, 1)


def test_an_unknown_name_is_refused():
    with pytest.raises(
        UserError,
        match="law 'magic' is not on the bench of placements; there are: manual, dedicated",
    ):
        check_name("magic", "queues")


def test_all_baselines_take_part():
    assert contestants("queues")[:4] == ["manual", "dedicated", "dynamic", "hand-placed"]

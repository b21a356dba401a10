"""Tests of what typed operators cost and send, of rounds that are made up; a real run is in
tests/simulator.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

import harness.engine
from harness.engine.profiled import Profiled
from harness.errors import RunFailed
from harness.graph import Graph
from harness.graph.schema import Schema
from harness.measurement import profiling
from harness.measurement.profiling import kept_profile, profile, profile_of
from tests.measurement.conftest import EMPTY

NUMBER = Schema("number", {"value": "uint32"})


def typed_graph() -> Graph:
    """A source, two operators that do the same, each for a part of the tuples, and a sink."""
    graph = Graph("typed")
    source = graph.typed_source("in", lambda: iter(()), NUMBER)
    sink = graph.typed_sink("out", lambda port, values: None, NUMBER)
    for name in ("part1", "part2"):
        part = graph.typed(name, lambda port, values: [(0, values)], NUMBER, NUMBER)
        graph.connect(source, part)
        graph.connect(part, sink)
    return graph


ROUND = replace(
    EMPTY,
    elapsed_s=1.0,
    cpu_s=1.0,
    processed=(100, 100, 60, 40),
    operator_cost=(0.1, 0.1, 0.2, 0.3),
)
DEAR = replace(ROUND, operator_cost=(0.4, 0.1, 0.2, 0.3), cpu_s=7.0)
"""A source that takes four times as long; no more than the time that has passed is of the
operators.
"""


class Engine:
    """Gives these rounds, after one that does not count."""

    def __init__(self, rounds, over=False, taken=(500, 500, 300, 200), **totals):
        self.rounds, self.over = [EMPTY, *rounds], over
        self.totals = SimpleNamespace(**{"correct": True, "error": None, **totals})
        self.core = self
        self.sent = iter([((10,), (), (5,), (5,)), ((510,), (), (155,), (205,))])
        self.taken = iter([(0, 0, 0, 0), taken])

    def start(self):
        """Nothing to start."""

    def sample(self, period_s):
        """The next one."""
        return self.rounds.pop(0)

    def processed(self):
        """Before the rounds, and behind them."""
        return next(self.taken)

    def sent_by_output(self):
        """Before the rounds, and behind them."""
        return next(self.sent)

    def finished(self):
        """Return what the test asks for."""
        return self.over

    def stop(self, drain, timeout_s):
        """Return what the run ended with."""
        return self.totals


@pytest.fixture
def engine(monkeypatch):
    def use(*rounds, **options):
        monkeypatch.setattr(
            harness.engine, "open_engine", lambda *words, **more: Engine(rounds, **options)
        )

    return use


def test_a_profile_has_costs_without_the_dearest_and_the_cheapest_round_as_parts_of_what_a_tuple_takes(
    engine,
):
    """The source's 1, 1 and 4 ms count, 2 ms on average; the others take 1, 5 and 5. A tuple takes
    2.33 ms at the median where these make 2.67: so all are less by an eighth.
    """
    engine(ROUND, DEAR, ROUND, DEAR, ROUND)
    found = profile(typed_graph())
    assert found.cost_ns == pytest.approx([1.75e6, 0.875e6, 4.375e6, 4.375e6])
    assert found.tuples == (500, 500, 300, 200)
    assert found.sends == ((1.0,), (), (0.5,), (1.0,))


def test_an_operator_without_tuples_costs_and_sends_nothing(engine):
    still = replace(ROUND, processed=(100, 0, 60, 40), operator_cost=(0.1, 0.0, 0.2, 0.3))
    engine(*[replace(still, processed=(0, 0, 60, 40))] * 5, taken=(0, 0, 300, 200))
    found = profile(typed_graph())
    assert (found.cost_ns[1], found.sends[0], found.tuples[:2]) == (0.0, (0.0,), (0, 0))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            {"over": True},
            "typed cannot be profiled: its input ends within seconds; it needs a longer one, or "
            "one that is repeated",
        ),
        ({"correct": False, "error": "tuples lost"}, "typed cannot be profiled: tuples lost"),
    ],
)
def test_a_run_that_ends_or_fails_has_no_profile(engine, options, told):
    engine(*[ROUND] * 5, **options)
    with pytest.raises(RunFailed, match=f"^{told}$"):
        profile(typed_graph())


def test_a_profile_is_taken_once_for_the_same_topology_and_kept(monkeypatch, tmp_path):
    taken = []
    made = Profiled("a CPU", (1.5, 2.0), ((0.5,), ()), (3, 4))
    monkeypatch.setenv("MILLRACE_LOCK", str(tmp_path / "lock"))
    monkeypatch.setattr(profiling, "PROFILE_FOLDER", tmp_path / "room")
    monkeypatch.setattr(profiling, "profile", lambda graph: taken.append(graph.name) or made)
    asked = ("pipeline", {"operators": 2}, 0)
    assert kept_profile(*asked) is None
    assert profile_of(*asked) == profile_of(*asked) == kept_profile(*asked) == made
    assert len(taken) == 1
    profile_of(*asked[:2], 1)
    assert len(taken) == 2, "of another seed"
    for kept in (tmp_path / "room").iterdir():
        kept.write_text("{}", encoding="utf-8")
    assert profile_of(*asked) == made and len(taken) == 3, "what cannot be read is taken anew"

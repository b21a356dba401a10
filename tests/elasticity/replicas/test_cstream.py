"""C-Stream's law: its pool and Algorithm 9, on readings made by hand and in a small world."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.elasticity import Bounds, Decides, Reading, make_law
from harness.errors import UserError
from tests.elasticity.replicas.small import Drive, bare, world


def cstream(settings=None, operators=3, maximum=8):
    return make_law(
        "cstream",
        Bounds(1, maximum, 1),
        settings=settings,
        layout=bare(operators),
        decides=Decides.REPLICAS,
    )


def reading(full, time_s=1.0, threads=1, busy=0.92, replicas=(1, 1, 1, 1, 1), tuples=(100.0,) * 5):
    """A chain of three operators: ports 0, 1, 2 are theirs, port 3 is the sink's."""
    return Reading(
        time_s, 1.0, threads, 100.0, utilisation=busy, full=full, replicas=replicas, tuples=tuples
    )


@pytest.mark.parametrize(
    ("full", "replicas"),
    [
        ((0.0, 0.0, 0.0, 0.0), (1, 1, 1, 1, 1)),
        ((0.01, 0.0, 0.0, 0.0), (1, 2, 1, 1, 1)),
        ((0.009, 0.0, 0.0, 0.0), (1, 1, 1, 1, 1)),
        ((0.9, 0.9, 0.0, 0.0), (1, 1, 2, 1, 1)),
        ((0.9, 0.9, 0.9, 0.009), (1, 1, 1, 2, 1)),
        ((0.9, 0.9, 0.9, 0.9), (1, 1, 1, 1, 1)),
        ((0.5, 0.0, 0.5, 0.0), (1, 2, 1, 1, 1)),
    ],
    ids=[
        "none",
        "at tau",
        "below tau",
        "blocked by the second",
        "the third",
        "the sink",
        "the first of two",
    ],
)
def test_the_first_operator_with_a_congested_input_and_a_free_output_gets_a_replica(full, replicas):
    assert cstream().step(reading(full)).replicas == replicas


@pytest.mark.parametrize(("busy", "level"), [(0.96, 4), (0.95, 3), (0.92, 3), (0.90, 3), (0.89, 2)])
def test_the_pool_goes_by_utilisation_beside_it(busy, level):
    decision = cstream().step(reading((0.5, 0.0, 0.0, 0.0), threads=3, busy=busy))
    assert (decision.threads, decision.replicas) == (level, (1, 2, 1, 1, 1))


def test_an_operator_that_takes_in_no_more_with_a_replica_is_given_up():
    law = cstream()
    assert law.step(reading((0.5, 0.0, 0.0, 0.0))).replicas == (1, 2, 1, 1, 1)
    same = reading((0.5, 0.0, 0.5, 0.0), 2.0, replicas=(1, 2, 1, 1, 1))
    assert law.step(same).replicas == (1, 2, 1, 2, 1), "the next bottleneck has its turn"
    assert law.step(replace(same, time_s=3.0, full=(0.5, 0.0, 0.0, 0.0))).replicas == (
        1,
        2,
        1,
        1,
        1,
    ), "for good"


def test_without_the_blacklist_it_goes_on():
    law = cstream({"blacklist": False})
    law.step(reading((0.5, 0.0, 0.0, 0.0)))
    assert law.step(reading((0.5, 0.0, 0.0, 0.0), 2.0, replicas=(1, 2, 1, 1, 1))).replicas == (
        1,
        3,
        1,
        1,
        1,
    )


def test_a_replica_that_had_no_thread_is_not_held_against_its_operator():
    law = cstream()
    law.step(reading((0.5, 0.0, 0.0, 0.0), busy=1.0))
    again = reading((0.5, 0.0, 0.0, 0.0), 2.0, threads=2, busy=1.0, replicas=(1, 2, 1, 1, 1))
    assert law.step(again).replicas == (1, 3, 1, 1, 1)


def test_what_is_not_known_moves_nothing():
    decision = cstream().step(Reading(1.0, 1.0, 3, 100.0))
    assert (decision.threads, decision.replicas) == (3, (1, 1, 1, 1, 1))


def test_two_operators_as_dear_get_their_replicas_in_turn_until_nothing_is_congested():
    """C-Stream §5.2, Figure 10 (b): one, then the other; 60 µs each, and 12 threads at most."""
    busy = world((1.0, 60.0, 60.0, 1.0), target=66_000.0)
    drive = Drive("cstream", busy).run(busy, 40)
    pairs = [(each.replicas[2], each.replicas[3]) for each in drive.decisions]
    assert all(abs(one - other) <= 1 for one, other in pairs)
    assert pairs[-1] == pairs[-10] and min(pairs[-1]) >= 4, (
        "66,000 tuples/s of 60 µs are 3.96 threads"
    )
    assert drive.threads in (9, 10), "where it is at rest between its thresholds"


def test_replicas_never_go():
    busy = world((50.0,), target=100_000.0)
    drive = Drive("cstream", busy).run(busy, 20)
    many = drive.replicas
    assert many[1] > 4
    drive.run(replace(busy, target=1_000.0), 20)
    assert drive.replicas == many and drive.threads == 1


def test_thresholds_that_contradict_each_other_are_refused():
    with pytest.raises(UserError, match=r"low must be at most high, 0\.95, not 0\.97"):
        cstream({"low": 0.97})

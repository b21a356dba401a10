"""Tests of what a core's own caches still hold (footprint.hpp), and what queues remember of who
touched their slots (ring.hpp).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.simulator.probes import visited, window

from harness.models import Dedicated
from tests.runtime.shapes import pipeline
from tests.simulator.runs import simulated

CACHE, SLOT = 1 << 20, 4096
ROUNDS = 20 * CACHE // SLOT


def round_and_round(ring: int, never: int = 0) -> Iterator[tuple[int, int | None]]:
    """Slots of a ring of so many bytes by turns; between two of them so many that are never seen
    again.
    """
    for turn in range(ROUNDS):
        yield SLOT, None if turn < ring // SLOT else ring * (1 + never)
        yield from ((SLOT, None) for _ in range(never))


def test_of_what_is_never_touched_twice_a_cache_holds_as_much_as_it_is_large() -> None:
    assert window(CACHE, ((SLOT, None) for _ in range(ROUNDS))) == pytest.approx(CACHE, rel=0.01)


def test_a_ring_that_fits_stays_for_ever_and_one_that_does_not_is_never_found() -> None:
    assert window(CACHE, round_and_round(CACHE // 2)) is None
    assert window(CACHE, round_and_round(4 * CACHE)) == pytest.approx(CACHE, rel=0.05)


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_who_goes_round_a_small_ring_keeps_more_of_everything_else(share: float) -> None:
    """One of two bytes is of the ring, which takes its place in the cache once: the rest is for the
    others.
    """
    held = window(CACHE, round_and_round(round(share * CACHE), never=1))
    assert held == pytest.approx(2 * (CACHE - share * CACHE), rel=0.15)


@given(
    st.lists(
        st.tuples(st.integers(1, 64), st.one_of(st.none(), st.integers(0, 1 << 40))), max_size=200
    )
)
@settings(max_examples=50)
def test_a_cache_never_holds_less_than_it_is_large(touches: list[tuple[int, int | None]]) -> None:
    """Distinct bytes are at most the touched ones; the bins round by less than a fifth."""
    held = window(SLOT, ((SLOT * slots, ago) for slots, ago in touches))
    assert held is None or held >= 0.8 * SLOT


def test_a_full_ring_remembers_of_each_tuple_when_it_was_put_there() -> None:
    """Even of the oldest ones while those behind them are overwritten: the next round's are other
    tuples.
    """
    capacity = 40
    notes = [(first, 8, first // 8 % 2, first * SLOT) for first in range(0, 400, 8)]
    for position in range(400 - capacity, 400):
        core, since = visited(capacity, notes, position, 400 * SLOT)
        span = position // 16 * 16  # neighbours share a record, of the last visit to any of them
        assert core == (span + 8) // 8 % 2
        assert since == (400 - span - 8) * SLOT


def test_of_a_slot_that_nobody_has_touched_nothing_is_known() -> None:
    assert visited(64, [], 5, 1000) is None
    assert visited(64, [(0, 16, 0, 0)], 17, 1000) is None


def test_neighbours_of_a_crowd_begin_on_one_cpu() -> None:
    """20 threads on two CPUs: at first one wakes another one elsewhere only where the two halves
    meet, and that is dear here.

    Where neighbours begin on different CPUs by turns, 0.31 of throughput is left.
    """

    def rate(wake_elsewhere_us: float) -> float:
        dear = {"os.wake_elsewhere_us": wake_elsewhere_us}
        engine = simulated(
            pipeline(18, cost=1), Dedicated(queue_capacity=256), "local", constants=dear
        )
        engine.start()
        engine.sample(0.005)
        sample = engine.sample(0.02)
        engine.stop(drain=False, timeout_s=0.0)
        return sample.sink_tuples / sample.elapsed_s

    assert rate(10.0) > 0.4 * rate(1.0)

"""Queues that come and go in virtual time: the same protocol, 100,000 switches, and a run that can
be had again.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from harness.engine import Totals
from harness.graph import Graph
from harness.models import Dynamic, Manual
from tests.runtime.shapes import (
    control_cycle,
    diamond,
    pipeline,
    scheduled_ports,
    split_and_join,
    windows,
)
from tests.simulator.runs import run_to_end, simulated

SHAPES: dict[str, Callable[[], Graph]] = {
    "pipeline": pipeline,
    "fan-out and fan-in": diamond,
    "split and merge": lambda: split_and_join(5, 2, ordered=True, skew=True),
    "windows": windows,
    "cycle through a control port": control_cycle,
}
SWITCHES = 20_000  # for each of five shapes
AT_ONCE = 20  # between two looks, so that some are taken back before anybody has seen them


def switched(shape: str, software: str, seed: int, switches: int = SWITCHES) -> Totals:
    """A run in which ports are switched and levels change every few events."""
    graph, dice = SHAPES[shape](), random.Random(seed)
    model = Dynamic(
        3, queue_capacity=dice.choice((1, 2, 5, 64)), queued=dice.choice(("all", "none"))
    )
    ports = scheduled_ports(graph, model)
    engine = simulated(graph, model, software=software, seed=seed)
    engine.start()
    for change in range(switches // AT_ONCE):
        for queued in (change % 2 == 0, change % 2 == 1):
            engine.set_queued(dice.choices(ports, k=AT_ONCE // 2), queued)
        if change % 10 == 0:
            engine.set_threads(dice.randint(1, 4))
        engine.sample_events(dice.randint(1, 60))
    return engine.stop(drain=True, timeout_s=1.0)


@pytest.mark.parametrize("software", ["millrace", "streams-4.2"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_hundred_thousand_switches_keep_order_once_and_ends(shape: str, software: str) -> None:
    totals = switched(shape, software, seed=5)
    assert totals.drained and totals.in_flight == 0 and totals.sent > 0
    assert totals.correct, totals
    copies = SHAPES[shape]().flow().copies
    assert copies is None or totals.received == totals.sent * copies


def test_a_run_with_switches_can_be_had_again() -> None:
    first, second, other = (
        switched("fan-out and fan-in", "millrace", seed, 2000) for seed in (1, 1, 2)
    )
    assert first == second != other


@pytest.mark.parametrize("shape", SHAPES)
def test_with_every_queue_off_from_the_start_nothing_is_queued_and_the_counts_are_those_of_the_manual_model(
    shape: str,
) -> None:
    off, manual = (
        run_to_end(simulated(SHAPES[shape](), model, tuples=200))
        for model in (Dynamic(2, queued="none"), Manual())
    )
    assert off.correct and off.scheduling["pushes"] == 0
    assert (off.processed, off.received) == (manual.processed, manual.received)

"""Laws of threads and replicas on real threads: both rise under load and fall with it, and every
stream stays what it is.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.engine import Sample, Totals, open_engine
from harness.graph import Graph
from harness.measurement.control import Controller
from harness.measurement.laws import pool_law
from harness.models import Coroutine
from harness.models.layout import layout_of

pytestmark = pytest.mark.heavy

PERIOD_S = 0.1
# in which a law must have got somewhere: many more than it needs where others use the CPUs as well
MOST_PERIODS = 400
SETTINGS = {
    "millrace": (("cpu_limit", 1.0),),
    "cstream": (),
    "utilisation": (),
}  # others on this machine are no reason to wait

Seen = Callable[[list[Sample]], bool]


def chain(operators: int, busy_us: float, selectivity: float = 1.0, **source: object) -> Graph:
    """Busy operators one behind the other."""
    graph = Graph("chain")
    start = graph.source("source", **source)
    work = [
        graph.work(f"busy{number}", busy_us=busy_us, selectivity=selectivity)
        for number in range(1, operators + 1)
    ]
    graph.chain(start, *work, graph.sink("sink"))
    return graph


def adapted(graph: Graph, law: str, until: Seen, **options: object) -> tuple[list[Sample], Totals]:
    """A run under a law whose samples show what is wanted."""
    samples, totals = run_until(graph, law, until, **options)
    assert until(samples), [(sample.threads_requested, sample.replicas) for sample in samples[-20:]]
    return samples, totals


def run_until(
    graph: Graph, law: str, until: Seen, **options: object
) -> tuple[list[Sample], Totals]:
    """A run under a law until its samples show what is wanted, or for `MOST_PERIODS`."""
    model = Coroutine(elastic=True, law=law, law_settings=SETTINGS[law], maximum=4, **options)
    engine = open_engine(graph, model)
    controller = Controller(engine, graph, pool_law(layout_of(graph, model)), PERIOD_S)
    engine.start()
    samples: list[Sample] = []
    while len(samples) < MOST_PERIODS and not until(samples):
        samples.append(engine.sample(controller.sample_s))
        controller.see(samples[-1])
    return samples, engine.stop(drain=True, timeout_s=20.0)


def adapted_to_less(
    graph_of: Callable[[float], Graph], law: str, until: Seen
) -> tuple[list[Sample], Totals]:
    """A run whose load falls after 1.5 s; after more, if others had the CPUs for so long that the
    law saw too little of the load.
    """
    for load_s in (1.5, 10.0):
        samples, totals = run_until(graph_of(load_s), law, until)
        if until(samples):
            break
    assert until(samples), [(sample.threads_requested, sample.replicas) for sample in samples[-20:]]
    return samples, totals


def all_grown(samples: list[Sample]) -> bool:
    """Return True if there have been several threads, and several replicas of each operator that
    may have some, not at once maybe.
    """
    if not samples:
        return False
    busy = range(1, len(samples[0].replicas) - 1)
    return max(sample.threads_requested for sample in samples) > 1 and all(
        max(sample.replicas[operator] for sample in samples) > 1 for operator in busy
    )


def is_exact(totals: Totals) -> bool:
    return (
        totals.correct
        and totals.drained
        and totals.order_checked
        and totals.in_flight == 0
        and totals.received > 0
    )


@pytest.mark.parametrize("operators", [1, 2])
@pytest.mark.parametrize("law", ["millrace", "cstream"])
def test_threads_and_replicas_rise_where_operators_have_much_work(law: str, operators: int) -> None:
    samples, totals = adapted(chain(operators, busy_us=100.0), law, all_grown)
    assert samples[0].threads_requested == 1 and list(samples[0].replicas) == [1] * (
        operators + 2
    ), "it begins with one each"
    assert is_exact(totals) and totals.received == totals.sent


@pytest.mark.parametrize("operators", [1, 2])
def test_threads_and_replicas_fall_when_the_load_falls(operators: int) -> None:
    """A source that sends all it can for a while, and then next to nothing."""

    def graph(load_s: float) -> Graph:
        rates = [(load_s, None), (1000.0, 20.0)]
        return chain(operators, busy_us=100.0, selectivity=0.9, rates=rates)

    def fallen(samples: list[Sample]) -> bool:
        last = samples[-1] if samples else None
        return (
            all_grown(samples)
            and last.threads_requested == 1
            and list(last.replicas) == [1] * (operators + 2)
        )

    _, totals = adapted_to_less(graph, "millrace", fallen)
    assert is_exact(totals) and totals.received < totals.sent, "operators drop one tuple of ten"


def test_cstream_gives_back_threads_and_keeps_its_replicas() -> None:
    def fallen(samples: list[Sample]) -> bool:
        return (
            all_grown(samples)
            and samples[-1].threads_requested == 1
            and samples[-1].utilisation < 0.5
        )

    def graph(load_s: float) -> Graph:
        return chain(1, busy_us=100.0, rates=[(load_s, None), (1000.0, 20.0)])

    samples, totals = adapted_to_less(graph, "cstream", fallen)
    counts = [sample.replicas[1] for sample in samples]
    assert counts == sorted(counts) and counts[-1] > 1, "replicas never go (C-Stream §4.2.2)"
    assert is_exact(totals) and totals.received == totals.sent


def test_a_law_of_threads_alone_leaves_replicas_as_they_are() -> None:
    def risen(samples: list[Sample]) -> bool:
        return bool(samples) and samples[-1].threads_requested > 1

    graph = chain(2, busy_us=50.0)
    samples, totals = adapted(graph, "utilisation", risen, replicas=2)
    assert all(list(sample.replicas) == [1, 2, 2, 1] for sample in samples)
    assert is_exact(totals)

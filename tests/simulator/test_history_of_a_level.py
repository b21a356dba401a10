"""A level of threads has one throughput, whether a run began with it or came to it from above.

On a machine with eight hardware threads a core a new thread goes to the core with the fewest
busy ones. Else the first cores would be full, and that of the source as slow as with all threads.
"""

from __future__ import annotations

import pytest

from harness.engine.open import engine_of, lay_out
from harness.measurement.spec import run_of
from harness.measurement.subject import build_subject

ENOUGH = 150_000  # events


def rate_at_the_end(*levels: int) -> float:
    """Tuples/s at the sinks at the last of these levels."""
    run = run_of(
        "mix",
        {"width": 10, "depth": 10, "cost": 1000},
        "dynamic",
        machine="power8",
        software="streams-4.2",
        simulated=True,
        queue_capacity=16,
        elastic=True,
        threads=levels[0],
        maximum=184,
    )
    graph = build_subject(run).graph
    engine = engine_of(lay_out(graph, run.model, run.described), run.described, seed=1)
    engine.start()
    for level in levels:
        engine.set_threads(level)
        engine.sample_events(2 * ENOUGH)
    sample = engine.sample_events(2 * ENOUGH)
    engine.stop(drain=False, timeout_s=0)
    return sample.sink_tuples / sample.elapsed_s


def test_a_level_has_the_throughput_that_it_has_after_a_higher_one():
    assert rate_at_the_end(64) == pytest.approx(rate_at_the_end(184, 64), rel=0.25)


def test_more_threads_than_cores_slow_a_source_down_by_degrees():
    assert rate_at_the_end(46) > 1.2 * rate_at_the_end(184)

"""The fill of the queues with which a simulated run begins.

Queues that begin far from the fill that they come to take longest: a pipeline of 1,000 operators
has a million slots. Short queues settle sooner, and come to about the same shares. So a coarse run
with short queues goes first, and each queue begins as full as it was there in the mean. The test
whether the run is stationary is the same wherever it begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from harness.engine.open import engine_of, lay_out
from harness.errors import RunFailed
from harness.graph import Graph
from harness.measurement.spec import Run
from harness.measurement.window import settle
from harness.models.layout import RunLayout

COARSE_CAPACITY = 64  # tuples a queue; fewer than two batches behave otherwise
WORTH_IT = 4  # times as long are queues for which a coarse run is worth its time, at least
COARSE_SHARE = 4  # one part in so many of a run's events is what its coarse run may take


def with_beginning(layout: RunLayout, run: Run, graph: Graph, how: Mapping[str, Any]) -> RunLayout:
    """Return the layout of a run with the fill that its queues begin with; `how`: options of
    `engine_of`.
    """
    if run.events is None or layout.capacity < WORTH_IT * COARSE_CAPACITY:
        return layout
    short = replace(run.model_of_repeat, queue_capacity=COARSE_CAPACITY)
    engine = engine_of(lay_out(graph, short, run.described), run.described, **how)
    try:
        engine.start()
        if not any(engine.sample_events(1).queue_fill):  # the graph is one that begins empty
            return layout
        seen = settle(engine, run.events // COARSE_SHARE, graph.flow().copies).window
    except RunFailed:
        return layout
    finally:
        engine.stop(drain=False, timeout_s=0)
    if not seen:
        return layout
    filled = [0.0] * len(layout.queues)
    for sample in seen:
        for queue, fill in zip(layout.queue_of_port, sample.queue_fill, strict=True):
            if queue is not None:
                filled[queue] += fill / len(seen)
    return replace(layout, filled=tuple(filled))

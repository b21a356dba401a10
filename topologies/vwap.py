"""VWAP (M19 §4.2): lines -> parse -> 8 channels by ticker -> merge -> bargains.

A channel is route, sums, divide, quotes, index and bargains only: 52 operators. 9 threaded ports by
hand: before each route and before the merge. The input is generated, or a file of trades and quotes
in CSV, plain or gzip. It is repeated without end, or `cycles` times.
"""

from __future__ import annotations

from harness.graph import Graph
from topologies import Parameter, Topology
from topologies.inputs import CYCLES, HAND, PLACEMENT, file_of, given

MOST_RECORDS = 10**8


def build(records: int, input: str, cycles: int | str, placement: str, seed: int) -> Graph:
    """Return the graph; `graph.counts()` returns the numbers of records and results when a run is
    over.
    """
    # late: it is compiled, and other topologies do not need it
    from harness.applications.vwap import Vwap, input_of, stream_of

    text, truncated, times = given(input, cycles, records, seed, input_of, stream_of)
    return Vwap(text, truncated, times, placement == HAND).graph


TOPOLOGY = Topology(
    name="vwap",
    summary="bargains beside the volume weighted average price: an application on real data",
    source="M19 §4.2",
    takes=(
        Parameter("records", 100_000, "records", 1, MOST_RECORDS, "of the generated input"),
        file_of("a CSV file of trades and quotes"),
        CYCLES,
        PLACEMENT,
    ),
    size=lambda **_: 52,
    build=build,
)

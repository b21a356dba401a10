"""M19 Figure 14(a): the graph of VWAP, with the threads that are placed by hand.

Reads   throughput.parquet   topology, placement: what was measured of the graph that is drawn
Draws   the graph as `millrace show` does: operators, streams, queues, and who executes what under manual
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

import topologies
from harness.models import Manual
from harness.plots import graph_drawing, provenance

TABLES = ("throughput",)
TOPOLOGY = "vwap"
FOOT_INCHES = 0.3


def figure(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """The figure; the rows of its experiment say at its foot where the graph ran."""
    graph, _ = topologies.build(TOPOLOGY, {"records": 1, "placement": "hand"}, 0)
    drawing = graph_drawing.figure(graph, Manual())
    width, height = drawing.get_size_inches()
    drawing.set_size_inches(width, height + FOOT_INCHES)
    for axes in drawing.axes:  # in inches, as they were, above the foot
        axes.set_position((0, FOOT_INCHES / (height + FOOT_INCHES), 1, height / (height + FOOT_INCHES)))
    provenance.stamp(drawing, tables["throughput"], None)
    return drawing

"""M19 Figure 14: the graphs of VWAP (a) and PacketAnalysis (b), with the threads that are placed by
hand.

Reads   throughput.parquet   sources: of PacketAnalysis, which is not drawn without them
Draws   the graphs as `millrace show` does: operators, streams, queues, and the threads that
        execute each operator under manual
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

import topologies
from harness.models import Manual
from harness.plots import graph_drawing, provenance, style

FOOT_INCHES = 0.3
FOOT = "The graphs as this version builds them; the figure shows no measured number."


def figure(tables: Mapping[str, pd.DataFrame], _title: str) -> Figure:
    """Return the figure, which shows no title. Rows of the experiment give the number of sources of
    PacketAnalysis.
    """
    table = tables["throughput"]
    shown = [("vwap", {"placement": "hand"})]
    for sources in sorted(table["sources"].dropna().unique()):
        shown.append(("packet-analysis", {"sources": int(sources), "placement": "hand"}))
    graphs = []
    for name, parameters in shown:
        graph, _ = topologies.build(name, {"records": 1, **parameters}, 0)
        graphs.append((graph, Manual(), parameters))
    drawing = graph_drawing.below_each_other(graphs, FOOT_INCHES)
    with style.applied():
        provenance.foot(drawing, FOOT)
    return drawing

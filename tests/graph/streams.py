"""Streams of a graph, as tests ask for them."""

from __future__ import annotations

from harness.graph import Graph, PortId


def targets_of(graph: Graph) -> dict[PortId, list[PortId]]:
    """Return the input ports that each output port feeds; each output port has an entry."""
    table: dict[PortId, list[PortId]] = {port: [] for port in graph.output_ports()}
    for stream in graph.streams:
        table[stream.source].append(stream.target)
    return table

"""The graphs of the library: a shape, what its operators cost, and what its tuples carry.

Shapes are topologies, and random graphs; costs are those of M19 §4.1 (balanced, skewed) and others that a law can meet.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from harness.graph import Graph
from topologies import build as build_topology
from topologies.costs import SKEWED, work_costs

Costs = Callable[[int, random.Random], list[int]]


def balanced(flop: int) -> Costs:
    """The same for all."""
    return lambda count, draw: [flop] * count


def heavy(number: int, flop: int = 100_000, rest: int = 100) -> Costs:
    """A few that cost a thousand times as much as the others, at random places."""

    def costs(count: int, draw: random.Random) -> list[int]:
        chosen = set(draw.sample(range(count), min(number, count)))
        return [flop if index in chosen else rest for index in range(count)]

    return costs


def increasing(most: int = 10_000) -> Costs:
    """From nearly nothing for the first to the most for the last."""
    return lambda count, draw: [max(1, round(most * (index + 1) / count)) for index in range(count)]


def log_normal(median: float = 300.0, spread: float = 2.0) -> Costs:
    """Any size: the logarithm is normal, at most a million."""
    return lambda count, draw: [min(10**6, round(median * math.exp(spread * draw.gauss(0.0, 1.0)))) for _ in range(count)]


def skewed(count: int, draw: random.Random) -> list[int]:
    """M19 §4.1: 10 % at 10,000 FLOP, 30 % at 100, the others at 1."""
    return work_costs(SKEWED, count, draw.randrange(2**31))


COSTS: dict[str, Costs] = {
    "balanced-1": balanced(1),
    "balanced-100": balanced(100),
    "balanced-1000": balanced(1000),
    "balanced-10000": balanced(10_000),
    "skewed": skewed,
    "one-heavy": heavy(1),
    "two-heavy": heavy(2),
    "increasing": increasing(),
    "decreasing": lambda count, draw: increasing()(count, draw)[::-1],
    "log-normal": log_normal(),
}


@dataclass(frozen=True)
class Shape:
    """A topology with its parameters, or `random` with a number of operators."""

    topology: str
    parameters: tuple[tuple[str, int], ...] = ()

    @property
    def name(self) -> str:
        """As in `mix-10x50`."""
        return "-".join([self.topology, "x".join(str(value) for _, value in self.parameters)])


def graph_of(shape: Shape, costs: str, payload: int, seed: int) -> Graph:
    """A graph of the library; the same arguments give the same graph."""
    if shape.topology == "random":
        graph = random_graph(dict(shape.parameters)["operators"], payload, seed)
    else:
        graph, _ = build_topology(shape.topology, {**dict(shape.parameters), "cost": 0, "payload": payload}, seed)
    works = [name for name, operator in graph.operators.items() if operator.kind == "work"]
    for name, flop in zip(works, COSTS[costs](len(works), random.Random(seed)), strict=True):
        graph.operators[name] = replace(graph.operators[name], cost=flop)
    return graph


def random_graph(operators: int, payload: int, seed: int) -> Graph:
    """`operators` work operators without cycle; each hears one to three of those before it and deals its tuples out in turn.

    One to three sources, one sink that hears all that nobody else does; a fifth of the operators with several senders have an
    input port for each of them.
    """
    draw = random.Random(seed)
    graph = Graph(f"random{seed}", payload)
    senders: list[list[int]] = [[]]
    for index in range(1, operators):
        senders.append(draw.sample(range(max(0, index - 8), index), min(index, draw.choice((1, 1, 1, 2, 3)))))
    outputs = [sum(index in each for each in senders) for index in range(operators)]
    sources = [graph.source(f"source{number}") for number in range(1, draw.choice((1, 1, 2, 3)) + 1)]
    works, sent = [], [0] * operators
    for index, heard in enumerate(senders):
        inputs = len(heard) if len(heard) > 1 and draw.random() < 0.2 else 1
        work = graph.work(f"work{index + 1}", inputs=inputs, outputs=max(1, outputs[index]))
        for place, sender in enumerate(heard):
            graph.connect(works[sender].output(sent[sender]), work.input(place if inputs > 1 else 0))
            sent[sender] += 1
        works.append(work)
    for number, source in enumerate(sources):
        graph.connect(source, works[0 if number == 0 else draw.randrange(operators)].input(0))
    sink = graph.sink("sink")
    for index, work in enumerate(works):
        if outputs[index] == 0:
            graph.connect(work, sink)
    return graph

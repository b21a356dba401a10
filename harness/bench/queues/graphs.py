"""Graphs of the library: a shape, the costs of its operators, and the payload of its tuples.

Shapes are topologies and random graphs. Costs are those of M19 §4.1 (balanced, skewed) and others
that a law can meet.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from harness.graph import Graph, Operator, PortId
from harness.graph.kinds import SINK, WORK
from topologies import build as build_topology
from topologies.costs import SKEWED, work_costs

Costs = Callable[[int, random.Random], list[int]]


def balanced(flop: int) -> Costs:
    """Return equal costs."""
    return lambda count, draw: [flop] * count


def heavy(number: int, flop: int = 100_000, rest: int = 100) -> Costs:
    """Return costs with a few heavy operators at random places, which cost a thousand times as much
    as the others."""

    def costs(count: int, draw: random.Random) -> list[int]:
        chosen = set(draw.sample(range(count), min(number, count)))
        return [flop if index in chosen else rest for index in range(count)]

    return costs


def increasing(most: int = 10_000) -> Costs:
    """Return costs that grow from nearly nothing for the first operator to the most for the
    last.
    """
    return lambda count, draw: [max(1, round(most * (index + 1) / count)) for index in range(count)]


def log_normal(median: float = 300.0, spread: float = 2.0) -> Costs:
    """Return log-normal costs, at most a million FLOP."""
    return lambda count, draw: [
        min(10**6, round(median * math.exp(spread * draw.gauss(0.0, 1.0)))) for _ in range(count)
    ]


def skewed(count: int, draw: random.Random) -> list[int]:
    """Return the skewed costs of M19 §4.1: 10 % of the operators at 10,000 FLOP, 30 % at 100, the
    others at 1."""
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


def hot(count: int, draw: random.Random) -> list[int]:
    """Return costs where one operator has as much work as all others together."""
    costs = [1000] * count
    costs[draw.randrange(count)] = 1000 * max(1, count - 1)
    return costs


OF_HELD_OUT: dict[str, Costs] = {
    name: COSTS[name] for name in ("balanced-1000", "skewed", "log-normal")
} | {"hot": hot}
"""Costs of the operators of held-out graphs."""


@dataclass(frozen=True)
class TopologyShape:
    """Topology with its parameters, or one of `BUILDERS` with a number."""

    topology: str
    parameters: tuple[tuple[str, int], ...] = ()

    @property
    def name(self) -> str:
        """Name such as `mix-10x50`."""
        return "-".join([self.topology, "x".join(str(value) for _, value in self.parameters)])


def graph_of(shape: TopologyShape, costs: str, payload: int, seed: int) -> Graph:
    """Return a graph of the library; the same arguments give the same graph."""
    if shape.topology in BUILDERS:
        graph = BUILDERS[shape.topology](shape.parameters[0][1], payload, seed)
    else:
        graph, _ = build_topology(
            shape.topology, {**dict(shape.parameters), "cost": 0, "payload": payload}, seed
        )
    works = [name for name, operator in graph.operators.items() if operator.kind is WORK]
    for name, flop in zip(
        works, (COSTS | OF_HELD_OUT)[costs](len(works), random.Random(seed)), strict=True
    ):
        graph.operators[name] = replace(graph.operators[name], cost=flop)
    return graph


def random_graph(operators: int, payload: int, seed: int) -> Graph:
    """Return a random graph of `operators` work operators without cycles.

    Each operator receives from one to three earlier ones and deals its tuples out in turn. There
    are one to three sources, and one sink for all operators without other receivers. A fifth of the
    operators with several senders have an input port for each of them.
    """
    draw = random.Random(seed)
    graph = Graph(f"random{seed}", payload)
    senders: list[list[int]] = [[]]
    for index in range(1, operators):
        senders.append(
            draw.sample(range(max(0, index - 8), index), min(index, draw.choice((1, 1, 1, 2, 3))))
        )
    outputs = [sum(index in each for each in senders) for index in range(operators)]
    sources = [
        graph.source(f"source{number}") for number in range(1, draw.choice((1, 1, 2, 3)) + 1)
    ]
    works, sent = [], [0] * operators
    for index, heard in enumerate(senders):
        inputs = len(heard) if len(heard) > 1 and draw.random() < 0.2 else 1
        work = graph.work(f"work{index + 1}", inputs=inputs, outputs=max(1, outputs[index]))
        for place, sender in enumerate(heard):
            graph.connect(
                works[sender].output(sent[sender]), work.input(place if inputs > 1 else 0)
            )
            sent[sender] += 1
        works.append(work)
    for number, source in enumerate(sources):
        graph.connect(source, works[0 if number == 0 else draw.randrange(operators)].input(0))
    sink = graph.sink("sink")
    for index, work in enumerate(works):
        if outputs[index] == 0:
            graph.connect(work, sink)
    return graph


def unbalanced(operators: int, payload: int, seed: int) -> Graph:
    """Return a random tree: each operator receives from a random earlier one and deals its tuples
    out to its children."""
    draw = random.Random(seed)
    above = [None, *(draw.randrange(index) for index in range(1, operators))]
    below: list[list[int]] = [
        [child for child, parent in enumerate(above) if parent == index]
        for index in range(operators)
    ]
    graph = Graph(f"unbalanced{seed}", payload)
    works = [
        graph.work(f"work{index + 1}", outputs=max(1, len(below[index])))
        for index in range(operators)
    ]
    graph.connect(graph.source("source"), works[0])
    sink = graph.sink("sink")
    for index, work in enumerate(works):
        for port, child in enumerate(below[index]):
            graph.connect(work.output(port), works[child])
        if not below[index]:
            graph.connect(work, sink)
    return graph


def fan_in(sources: int, payload: int, seed: int) -> Graph:
    """Return sources with a chain of one to eight operators each, which meet in the first of a
    chain of up to twelve."""
    draw = random.Random(seed)
    graph = Graph(f"fan-in{seed}", payload)
    numbers = iter(range(1, 10**6))

    def chain(last: Operator | None, length: int) -> tuple[Operator, Operator]:
        first = None
        for _ in range(length):
            work = graph.work(f"work{next(numbers)}")
            if last is not None:
                graph.connect(last, work)
            first, last = first or work, work
        assert first is not None and last is not None
        return first, last

    ways = [
        chain(graph.source(f"source{number}"), draw.randint(1, 8))[1]
        for number in range(1, sources + 1)
    ]
    meet, last = chain(None, draw.randint(2, 12))
    for way in ways:
        graph.connect(way, meet)
    graph.connect(last, graph.sink("sink"))
    return graph


def diamonds(count: int, payload: int, seed: int) -> Graph:
    """Return a chain of diamonds: an operator deals tuples out to two or three lanes of one to
    three operators each."""
    draw = random.Random(seed)
    graph = Graph(f"diamonds{seed}", payload)
    numbers = iter(range(1, 10**6))
    last = graph.source("source")
    for _ in range(count):
        lanes = draw.randint(2, 3)
        split = graph.work(f"work{next(numbers)}", outputs=lanes)
        meet = graph.work(f"work{next(numbers)}")
        graph.connect(last, split)
        for port in range(lanes):
            way: Operator | PortId = split.output(port)
            for _ in range(draw.randint(1, 3)):
                work = graph.work(f"work{next(numbers)}")
                graph.connect(way, work)
                way = work
            graph.connect(way, meet)
        last = meet
    graph.connect(last, graph.sink("sink"))
    return graph


def chain_with_a_hot_one(operators: int, payload: int, seed: int) -> Graph:
    """Return a pipeline; its costs are `hot`."""
    return build_topology(
        "pipeline", {"operators": operators, "cost": 0, "payload": payload}, seed
    )[0]


APPLICATIONS = (
    ("login-failures", "figure"),
    ("login-failures", "large"),
    ("vwap", ""),
    ("wiki-word-count", ""),
)


def application(number: int, payload: int, seed: int) -> Graph:
    """Return the graph of an application, with work operators of equal ports in place of its
    own.
    """
    name, form = APPLICATIONS[number]
    real, _ = build_topology(name, {"records": 16, **({"form": form} if form else {})}, seed)
    graph = Graph(f"{name}{form}", payload)
    made: dict[str, Operator] = {}
    for operator in real.operators.values():
        if operator.is_source:
            made[operator.name] = graph.split(f"{operator.name}-split", operator.outputs)
            graph.connect(graph.source(operator.name), made[operator.name])
        elif operator.kind is SINK:
            made[operator.name] = graph.sink(operator.name, operator.inputs)
        else:
            made[operator.name] = graph.work(
                operator.name, inputs=operator.inputs, outputs=max(1, operator.outputs)
            )
    for stream in real.streams:
        graph.connect(
            made[stream.source.operator].output(stream.source.port),
            made[stream.target.operator].input(stream.target.port),
        )
    return graph


BUILDERS: dict[str, Callable[[int, int, int], Graph]] = {
    "random": random_graph,
    "unbalanced": unbalanced,
    "fan-in": fan_in,
    "diamonds": diamonds,
    "hot": chain_with_a_hot_one,
    "application": application,
}
"""Builders of graphs that are no topologies, from a number, a payload [bytes] and a seed."""

HELD_OUT: dict[str, tuple[int, ...]] = {
    "unbalanced": (10, 25, 60, 120),
    "fan-in": (2, 3, 4, 6),
    "diamonds": (2, 3, 5, 8),
    "hot": (10, 25, 60, 120),
    "application": tuple(range(len(APPLICATIONS))),
}
"""Held-out kinds of graphs, with their numbers.

They only score: no constant of a law of ours may be chosen by them.
"""

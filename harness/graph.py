"""Operator graphs: what to run, with nothing said about threads.

A `Graph` holds operators and the streams between their ports. An output port may feed several input ports (*fan-out*: each gets
every tuple) and an input port may be fed by several output ports (*fan-in*: their tuples interleave, each stream stays FIFO).
Kinds of operator:

  source   makes tuples as fast as it is allowed to; no input port, a thread of its own (P17 §2.3)
  work     `cost` dependent floating-point multiplies a tuple (P17 §5); more than one output port: tuples go round-robin
  split    sends each tuple to the next of its output ports; runs on the thread that submits to it, as the splitter of SPL's
           @parallel does (P17 §2.1), so no model puts a queue before it
  merge    restores the order in which the split upstream of it saw the tuples (C-Stream §4.2)
  python   a Python callable, `function(sequence, value) -> value`, or None to drop the tuple
  sink     counts, checks and stamps the latency of what arrives

`Graph.check()` reports everything that is wrong, and where.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from harness.errors import UserError

KINDS = ("source", "work", "split", "merge", "python", "sink")
MAX_COST = 10**9  # FLOP a tuple: about a second on a slow core
MAX_PAYLOAD = 64 * 2**20  # bytes a tuple
MAX_PORTS = 10**6  # of one operator


class GraphError(UserError):
    """A graph that cannot run. The message names the operator or port and the rule."""


class PortId(NamedTuple):
    """A port by its operator's name and its index; whether input or output port follows from where it stands."""

    operator: str
    port: int

    def __str__(self) -> str:
        return f"{self.operator}[{self.port}]"


class Stream(NamedTuple):
    """An ordered FIFO from an output port to an input port."""

    source: PortId
    target: PortId


@dataclass(frozen=True)
class Operator:
    """One operator. `cost` in FLOP a tuple (work only); `inputs` and `outputs` count ports."""

    name: str
    kind: str
    inputs: int
    outputs: int
    cost: int = 0
    function: Callable[[int, float], float | None] | None = None
    preserves: bool = True  # passes on every tuple, its value unchanged; the run's oracle relies on it, and so checks it

    def input(self, port: int) -> PortId:
        """The id of input port `port`."""
        return PortId(self.name, port)

    def output(self, port: int) -> PortId:
        """The id of output port `port`."""
        return PortId(self.name, port)


@dataclass(frozen=True)
class Flow:
    """What one tuple of the sources becomes, on average, if every operator passes on what it gets.

    `hops`: operators (work, merge, python) that a tuple passes on its way, per tuple at the sinks.
    `copies`: tuples at the sinks per tuple sent; None if it depends on the tuple. `copies_from`: the same for a tuple that
    arrives at each operator.
    """

    hops: float
    copies: int | None
    copies_from: dict[str, int | None]


class Graph:
    """Operators joined by streams; tuples carry `payload` bytes (0 .. 64 MiB) besides their header."""

    def __init__(self, name: str, payload: int = 128) -> None:
        _whole("payload", payload, 0, MAX_PAYLOAD, "bytes")
        self.name = name
        self.payload = payload
        self.operators: dict[str, Operator] = {}
        self.streams: list[Stream] = []

    # -- building -------------------------------------------------------------------------------------------------------------

    def source(self, name: str) -> Operator:
        """Add a source with one output port."""
        return self._add(Operator(name, "source", 0, 1))

    def work(self, name: str, cost: int, inputs: int = 1, outputs: int = 1) -> Operator:
        """Add an operator that computes for `cost` FLOP a tuple; with several outputs it sends tuples round-robin."""
        _whole(f"cost of operator {name!r}", cost, 0, MAX_COST, "FLOP")
        return self._add(Operator(name, "work", inputs, outputs, cost))

    def split(self, name: str, outputs: int) -> Operator:
        """Add a round-robin splitter with `outputs` output ports."""
        return self._add(Operator(name, "split", 1, outputs))

    def merge(self, name: str) -> Operator:
        """Add a merge that restores the order in which the split upstream saw the tuples."""
        return self._add(Operator(name, "merge", 1, 1))

    def python(
        self, name: str, function: Callable[[int, float], float | None], inputs: int = 1, preserves: bool = False
    ) -> Operator:
        """Add an operator that calls `function(sequence, value)`; it returns the new value, or None to drop the tuple.

        Each call takes the interpreter's lock, so such operators run one at a time whatever the model. An exception ends the
        run, which then reports it. `preserves` promises that it drops nothing and returns `value` itself; the oracle then
        checks tuples behind it as strictly as others.
        """
        if not callable(function):
            raise GraphError(f"operator {name!r}: function must be callable, not {function!r}")
        return self._add(Operator(name, "python", inputs, 1, function=function, preserves=preserves))

    def sink(self, name: str, inputs: int = 1) -> Operator:
        """Add a sink."""
        return self._add(Operator(name, "sink", inputs, 0))

    def connect(self, source: Operator | PortId, target: Operator | PortId) -> None:
        """Add a stream from an output port to an input port; an operator stands for its port 0.

        Raises GraphError if the port does not exist or the two are connected already.
        """
        output = source if isinstance(source, PortId) else PortId(source.name, 0)
        input_ = target if isinstance(target, PortId) else PortId(target.name, 0)
        for port, count, side in ((output, "outputs", "output"), (input_, "inputs", "input")):
            operator = self.operators.get(port.operator)
            if operator is None:
                raise GraphError(f"graph {self.name!r}: no operator is named {port.operator!r}")
            ports = getattr(operator, count)
            if not 0 <= port.port < ports:
                raise GraphError(f"operator {operator.name!r} has {ports} {side} port(s); port {port.port} does not exist")
        self.streams.append(Stream(output, input_))

    def _add(self, operator: Operator) -> Operator:
        if not isinstance(operator.name, str) or not operator.name or not operator.name.isprintable():
            raise GraphError(f"graph {self.name!r}: an operator's name must be non-empty printable text, not {operator.name!r}")
        if operator.name in self.operators:
            raise GraphError(f"graph {self.name!r}: two operators are named {operator.name!r}")
        if operator.kind != "source":
            _whole(f"inputs of operator {operator.name!r}", operator.inputs, 1, MAX_PORTS, "ports")
        if operator.kind != "sink":
            _whole(f"outputs of operator {operator.name!r}", operator.outputs, 1, MAX_PORTS, "ports")
        self.operators[operator.name] = operator
        return operator

    # -- reading --------------------------------------------------------------------------------------------------------------

    def successors(self) -> dict[PortId, list[PortId]]:
        """Input ports fed by each output port; every output port has an entry."""
        table: dict[PortId, list[PortId]] = {
            PortId(operator.name, port): [] for operator in self.operators.values() for port in range(operator.outputs)
        }
        for stream in self.streams:
            table[stream.source].append(stream.target)
        return table

    def predecessors(self) -> dict[PortId, list[PortId]]:
        """Output ports that feed each input port; every input port has an entry."""
        table: dict[PortId, list[PortId]] = {
            PortId(operator.name, port): [] for operator in self.operators.values() for port in range(operator.inputs)
        }
        for stream in self.streams:
            table[stream.target].append(stream.source)
        return table

    def input_ports(self) -> Iterator[PortId]:
        """All input ports, in the order in which their operators were added."""
        for operator in self.operators.values():
            for port in range(operator.inputs):
                yield PortId(operator.name, port)

    def downstream(self) -> dict[str, list[str]]:
        """The operators that each operator feeds, in port order, with repetitions."""
        table: dict[str, list[str]] = {name: [] for name in self.operators}
        for stream in self.streams:
            table[stream.source.operator].append(stream.target.operator)
        return table

    def topological_order(self) -> list[str]:
        """Operator names, each after all that feed it. Raises GraphError, naming a cycle, if there is one."""
        order, cycle = self._order_or_cycle()
        if cycle:
            raise GraphError(f"graph {self.name!r}: cycle {' -> '.join(cycle)}")
        return order

    def _order_or_cycle(self) -> tuple[list[str], list[str]]:
        """A topological order, and the operators of one cycle that keeps others out of it (none: the order is complete)."""
        downstream = self.downstream()
        waiting = dict.fromkeys(self.operators, 0)
        for targets in downstream.values():
            for target in targets:
                waiting[target] += 1
        ready = [name for name, count in waiting.items() if count == 0]
        order: list[str] = []
        while ready:
            name = ready.pop()
            order.append(name)
            for target in downstream[name]:
                waiting[target] -= 1
                if waiting[target] == 0:
                    ready.append(target)
        return order, _cycle(downstream, set(order)) if len(order) < len(self.operators) else []

    def flow(self) -> Flow:
        """Average hops and copies of a tuple; splits and round-robin outputs share evenly, fan-out multiplies."""
        order = self.topological_order()
        leaving: dict[str, list[Stream]] = {name: [] for name in order}
        for stream in self.streams:
            leaving[stream.source.operator].append(stream)
        rate = {name: 1.0 if self.operators[name].kind == "source" else 0.0 for name in order}
        arrivals: list[float] = []  # added up exactly: a million small shares must not drift
        for name in order:
            share = rate[name] / max(self.operators[name].outputs, 1)
            for stream in leaving[name]:
                target = stream.target.operator
                rate[target] += share
                if self.operators[target].kind == "sink":
                    arrivals.append(share)
        passed = math.fsum(rate[name] for name in order if self.operators[name].kind in ("work", "merge", "python"))
        arrived = math.fsum(arrivals)
        copies: dict[str, int | None] = {}
        for name in reversed(order):
            operator = self.operators[name]
            if operator.kind == "sink":
                copies[name] = 1
                continue
            per_port: list[int | None] = [0] * operator.outputs
            for stream in leaving[name]:
                so_far, more = per_port[stream.source.port], copies[stream.target.operator]
                per_port[stream.source.port] = None if so_far is None or more is None else so_far + more
            alike = operator.preserves and per_port.count(per_port[0]) == len(per_port)
            copies[name] = per_port[0] if alike else None
        of_sources = {copies[name] for name in order if self.operators[name].kind == "source"}
        return Flow(round(passed / arrived, 9) if arrived else 0.0, of_sources.pop() if len(of_sources) == 1 else None, copies)

    # -- checking -------------------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Raise GraphError listing every rule that the graph breaks, with the operator or port that breaks it."""
        problems: list[str] = []
        kinds = {operator.kind for operator in self.operators.values()}
        if "source" not in kinds:
            problems.append("no source: a graph needs an operator without input ports")
        if "sink" not in kinds:
            problems.append("no sink: a graph needs an operator without output ports")
        problems += [f"output port {port} feeds nothing" for port, targets in self.successors().items() if not targets]
        problems += [f"input port {port} is fed by nothing" for port, origins in self.predecessors().items() if not origins]
        seen: set[Stream] = set()
        for stream in self.streams:
            if stream in seen:
                problems.append(f"stream {stream.source} -> {stream.target} is connected twice")
            seen.add(stream)
        _, cycle = self._order_or_cycle()
        problems += [f"cycle {' -> '.join(cycle)}"] if cycle else self._merge_problems()
        if problems:
            shown = problems[:8] + ([f"and {len(problems) - 8} more"] if len(problems) > 8 else [])
            raise GraphError(f"graph {self.name!r}: " + "; ".join(shown))

    def _merge_problems(self) -> list[str]:
        """A merge waits for every tuple of its split: all of the split's tuples must reach it, each once."""
        problems: list[str] = []
        merges = [operator.name for operator in self.operators.values() if operator.kind == "merge"]
        if not merges:
            return problems
        downstream = self.downstream()
        upstream: dict[str, list[str]] = {name: [] for name in self.operators}
        for name, targets in downstream.items():
            for target in targets:
                upstream[target].append(name)
        fan_out = {port.operator for port, targets in self.successors().items() if len(targets) > 1}
        for merge in merges:
            splits: set[str] = set()
            for name in _reach(upstream, merge, stop=lambda name: self.operators[name].kind == "split"):
                operator = self.operators[name]
                if operator.kind == "split":
                    splits.add(name)
                    if name in fan_out:
                        problems.append(f"merge {merge!r}: an output port of its split {name!r} feeds more than one input port")
                elif operator.kind in ("source", "merge"):
                    problems.append(f"merge {merge!r}: {name!r} reaches it without passing a split")
                elif not operator.preserves or operator.outputs > 1 or name in fan_out:
                    problems.append(f"merge {merge!r}: {name!r}, between it and its split, may drop, double or divert tuples")
            if len(splits) > 1:
                problems.append(f"merge {merge!r}: more than one split feeds it ({', '.join(sorted(splits))})")
            for split in splits:
                for name in _reach(downstream, split, stop=lambda name: self.operators[name].kind in ("merge", "sink")):
                    if name != merge and self.operators[name].kind in ("merge", "sink"):
                        problems.append(f"merge {merge!r}: tuples of its split {split!r} also go to {name!r}")
        return problems


def _whole(what: str, value: object, low: int, high: int, unit: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise GraphError(f"{what} must be a whole number from {low} to {high} {unit}, not {value!r}")


def _reach(edges: dict[str, list[str]], start: str, stop: Callable[[str], bool]) -> Iterator[str]:
    """Operators reachable from `start` (itself not among them), not looking beyond those where `stop` holds."""
    seen: set[str] = set()
    frontier = list(edges[start])
    while frontier:
        name = frontier.pop()
        if name in seen:
            continue
        seen.add(name)
        yield name
        if not stop(name):
            frontier.extend(edges[name])


def _cycle(downstream: dict[str, list[str]], outside: set[str]) -> list[str]:
    """One cycle among the operators that are not in `outside`: every one of them lies on a cycle or behind one."""
    upstream: dict[str, str] = {}
    for name, targets in downstream.items():
        if name not in outside:
            for target in targets:
                upstream.setdefault(target, name)
    name = next(name for name in downstream if name not in outside)
    walked: dict[str, None] = {}
    while name not in walked:
        walked[name] = None
        name = upstream[name]
    names = list(walked)
    loop = [name, *reversed(names[names.index(name) :])]
    return loop if len(loop) <= 12 else [*loop[:6], "…", *loop[-5:]]

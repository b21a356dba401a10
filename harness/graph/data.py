"""A graph as data: operators, the streams between their ports, and look-ups."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from harness.graph.lines import FileLines
from harness.graph.operator import SCOPE, Operator, PortId, Stream
from harness.graph.order import Numbered, cycle_of, describe_cycle, number
from harness.graph.values import MAX_OPERATORS, MAX_PAYLOAD, MAX_PORTS, GraphError, shown, whole


class OperatorGraph:
    """Operators joined by streams; tuples carry `payload` bytes (0 .. 64 MiB) besides their header.

    `threaded`: the input ports that are threaded by hand, and buffers, with the capacity of their
    queues in tuples.
    """

    def __init__(self, name: str, payload: int = 128) -> None:
        whole("payload", payload, 0, MAX_PAYLOAD, "bytes")
        self.name = name
        self.payload = payload
        self.operators: dict[str, Operator] = {}
        self.streams: list[Stream] = []
        self.threaded: dict[PortId, int] = {}
        # of an application: what it has counted, when a run is over
        self.counts: Callable[[], dict[str, int]] | None = None
        # operators with a thread of their own, and the sources that stand for these threads
        self.own_threads: dict[str, str] = {}
        self.written: FileLines | None = None  # where; None: not in a graph file
        self._names_taken: dict[str, int] = {}  # by regions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OperatorGraph):
            return NotImplemented
        return self._content() == other._content()

    def _content(self) -> tuple[object, ...]:
        return self.name, self.payload, list(self.operators.values()), self.streams, self.threaded

    def connect(
        self, source: Operator | PortId | tuple[PortId, ...], target: Operator | PortId
    ) -> None:
        """Add a stream from an output port, or one from each of several, to an input port; an
        operator means its port 0.

        Raises GraphError if a port does not exist.
        """
        port = self.input_port(target)
        several = isinstance(source, tuple) and not isinstance(source, PortId)
        for each in source if several else (source,):
            leaving = self.output_port(each)
            self.streams.append(Stream(leaving, port))
            if leaving.operator in self.own_threads:
                thread = self.own_threads[leaving.operator]
                self.streams.append(Stream(PortId(thread, leaving.port), port))

    def chain(
        self, first: Operator | PortId | tuple[PortId, ...], *rest: Operator | PortId
    ) -> Operator:
        """Connect each place to the one behind it: `chain(source, filter, barrier.input(1))`.
        Returns the last one's operator.

        The first may be what `connect` takes as a source, the others are input ports; the way goes
        on from output port 0 of their operators. Raises GraphError if a port does not exist, or
        there is none to connect to.
        """
        if not rest:
            raise GraphError(f"graph {self.name!r}: a chain must have two places at least")
        last = first
        for place in rest:
            self.connect(last, place)
            last = self.operators[self.input_port(place).operator]
        return last

    def input_port(self, place: Operator | PortId) -> PortId:
        """Return the input port; an operator means its port 0. Raises GraphError if it does not
        exist, or is a buffer's.
        """
        port = self._port(place, "inputs", "input")
        owner = self.operators[port.operator].buffers
        if owner:
            raise GraphError(
                f"operator {port.operator!r} is a buffer of {owner!r}, which alone may feed it and "
                "says how"
            )
        return port

    def output_port(self, place: Operator | PortId) -> PortId:
        """Return the output port; an operator means its port 0. Raises GraphError if it does not
        exist.

        Tuples leave a `threaded_split` or `elastic_load_balance` by its buffers, so the port
        returned is a buffer's.
        """
        port = self._port(place, "outputs", "output")
        if self.operators[port.operator].kind.balances:
            return PortId(f"{port.operator}.{port.port + 1}", 0)
        return port

    def free_name(self, name: str, suffix: str) -> str:
        """Return `name` if no region has it yet, else `name` with the lowest number that makes it
        free.
        """
        scope = SCOPE.get()
        while True:
            number = self._names_taken[scope + name] = self._names_taken.get(scope + name, 0) + 1
            free = name if number == 1 else f"{name}{number}"
            if f"{scope}{free}{suffix}" not in self.operators:
                return free

    @property
    def typed_graph(self) -> bool:
        """True if the streams have schemas."""
        return any(operator.typed is not None for operator in self.operators.values())

    def predecessors(self) -> dict[PortId, list[PortId]]:
        """Output ports that feed each input port; every input port has an entry."""
        table: dict[PortId, list[PortId]] = {port: [] for port in self.input_ports()}
        for stream in self.streams:
            table[stream.target].append(stream.source)
        return table

    def input_ports(self) -> Iterator[PortId]:
        """Yield all input ports, in the order in which their operators were added."""
        for operator in self.operators.values():
            for port in range(operator.inputs):
                yield PortId(operator.name, port)

    def output_ports(self) -> Iterator[PortId]:
        """Yield all output ports, in the order in which their operators were added."""
        for operator in self.operators.values():
            for port in range(operator.outputs):
                yield PortId(operator.name, port)

    def downstream(self) -> dict[str, list[str]]:
        """Return the operators that each operator feeds, in port order, with repetitions."""
        table: dict[str, list[str]] = {name: [] for name in self.operators}
        for stream in self.streams:
            table[stream.source.operator].append(stream.target.operator)
        return table

    def topological_order(self) -> list[str]:
        """Operator names, each after all that feed it. Raises GraphError, naming a cycle, if there
        is one.
        """
        names = list(self.operators)
        return [names[index] for index in self.numbered().order]

    def numbered(self) -> Numbered:
        """Return the graph by numbers. Raises GraphError, naming a cycle, if there is one."""
        numbered = number(self.operators, self.streams)
        if len(numbered.order) < len(self.operators):
            raise GraphError(
                f"graph {self.name!r}: {describe_cycle(cycle_of(list(self.operators), numbered))}"
            )
        return numbered

    def _port(self, place: Operator | PortId, count: str, side: str) -> PortId:
        """Return the port meant. Raises GraphError if it does not exist."""
        if not isinstance(place, PortId | Operator):
            raise GraphError(
                f"graph {self.name!r}: a port is given by its operator or its PortId, not "
                f"{named_or_shown(place)}"
            )
        port = PortId(*place) if isinstance(place, PortId) else PortId(place.name, 0)
        operator = self.operators.get(port.operator)
        if operator is None:
            raise GraphError(f"graph {self.name!r}: no operator is named {port.operator!r}")
        ports = getattr(operator, count)
        if not isinstance(port.port, int) or not 0 <= port.port < ports:
            raise GraphError(
                f"operator {operator.name!r} has {ports} {side} port(s); port {port.port} does not "
                "exist"
            )
        return port

    def put(self, operator: Operator) -> Operator:
        if (
            not isinstance(operator.name, str)
            or not operator.name
            or not operator.name.isprintable()
        ):
            raise GraphError(
                f"graph {self.name!r}: an operator's name must be non-empty printable text, not "
                f"{operator.name!r}"
            )
        if operator.name in self.operators:
            raise GraphError(f"graph {self.name!r}: two operators are named {operator.name!r}")
        whole(
            f"inputs of operator {operator.name!r}",
            operator.inputs,
            operator.kind.least_inputs,
            MAX_PORTS,
            "ports",
        )
        whole(
            f"outputs of operator {operator.name!r}",
            operator.outputs,
            operator.kind.least_outputs,
            MAX_PORTS,
            "ports",
        )
        if len(self.operators) >= MAX_OPERATORS:
            raise GraphError(f"graph {self.name!r}: must have at most {MAX_OPERATORS} operators")
        object.__setattr__(operator, "graph", self)  # it is frozen from now on
        self.operators[operator.name] = operator
        return operator


def named_or_shown(value: object) -> str:
    """Return an operator by its name, anything else as it is."""
    return repr(value.name) if isinstance(value, Operator) else shown(value)

"""A graph of operators: how it is built, port by port, and what it says of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from inspect import iscoroutinefunction
from itertools import islice
from typing import TYPE_CHECKING

from harness.graph.flow import Flow, flow_of
from harness.graph.kinds import (
    BARRIER,
    BUFFER,
    CONTROL,
    FILTER,
    LOOP,
    MERGE,
    NATIVE,
    PYTHON,
    SINK,
    SOURCE,
    SPLIT,
    TYPED,
    WORK,
    Kind,
)
from harness.graph.operator import IN_FORCE, SCOPE, Operator, PortId, Stream
from harness.graph.order import Numbered, cycle_of, describe_cycle, number
from harness.graph.values import (
    DEFAULT_THREADED_CAPACITY,
    MAX_BARRIER,
    MAX_BURST_S,
    MAX_BUSY_US,
    MAX_COST,
    MAX_KEYS,
    MAX_OPERATORS,
    MAX_PAYLOAD,
    MAX_PORTS,
    MAX_QUEUE_CAPACITY,
    MAX_RATE,
    MAX_TUPLES,
    MIN_BURST_S,
    MIN_RATE,
    GraphError,
    pairs,
    promise,
    real,
    shown,
    whole,
)

if TYPE_CHECKING:
    from harness.graph.schema import Schema


class Graph:
    """Operators joined by streams; tuples carry `payload` bytes (0 .. 64 MiB) besides their header.

    `threaded`: the input ports that are threaded by hand, and buffers, with the capacity of their queues in tuples.
    """

    def __init__(self, name: str, payload: int = 128) -> None:
        whole("payload", payload, 0, MAX_PAYLOAD, "bytes")
        self.name = name
        self.payload = payload
        self.operators: dict[str, Operator] = {}
        self.streams: list[Stream] = []
        self.threaded: dict[PortId, int] = {}
        self.counts: Callable[[], dict[str, int]] | None = None  # of an application: what it has counted, when a run is over
        self._names_taken: dict[str, int] = {}  # by regions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return self._content() == other._content()

    def _content(self) -> tuple[object, ...]:
        return self.name, self.payload, list(self.operators.values()), self.streams, self.threaded

    # -- building -------------------------------------------------------------------------------------------------------------

    def source(
        self, name: str, rate: float | None = None, rates: Sequence[tuple[float, float | None]] = (), window: int = 0
    ) -> Operator:
        """Add a source with one output port.

        `rate`: tuples/s, whatever happens downstream. `rates`: bursts (seconds, tuples/s), over and over; None instead of the
        tuples/s: full speed, 0: silence. Neither: as fast as it is allowed to. `window`: a window punctuation after every so
        many tuples, 0 for none.
        """
        of = f"of source {name!r}"
        if rate is not None and rates:
            raise GraphError(f"source {name!r}: rate and rates exclude each other")
        if rate is not None:
            rate = real(f"rate {of}", rate, MIN_RATE, MAX_RATE, "tuples/s")
        bursts = tuple(
            (
                real(f"rates[{place}] {of}: length", seconds, MIN_BURST_S, MAX_BURST_S, "seconds"),
                tuples_per_s
                if tuples_per_s is None
                else real(f"rates[{place}] {of}", tuples_per_s, MIN_RATE, MAX_RATE, "tuples/s, or 0 for silence", or_zero=True),
            )
            for place, (seconds, tuples_per_s) in pairs(f"rates {of}", rates, "(seconds, tuples/s)")
        )
        if bursts and all(tuples_per_s == 0 for _, tuples_per_s in bursts):
            raise GraphError(f"rates {of} must send something, not be silence alone")
        whole(f"window {of}", window, 0, MAX_TUPLES, "tuples")
        return self._add(Operator(name, SOURCE, 0, 1, rate=rate, rates=bursts, window=window))

    def work(
        self,
        name: str,
        cost: int = 0,
        inputs: int = 1,
        outputs: int = 1,
        busy_us: float = 0.0,
        costs: Sequence[tuple[int, int]] = (),
        selectivity: float = 1.0,
        keys: int = 0,
    ) -> Operator:
        """Add an operator that computes for `cost` FLOP a tuple; with several outputs it sends tuples round-robin.

        Instead of `cost`: `busy_us`, the time in µs that a tuple keeps it busy, or `costs`, bursts (tuples, FLOP) by the
        tuples' sequence numbers, over and over. `selectivity`: the share of tuples, from 0 to 1, that it passes on when it is
        done with them (C-Stream §5.1). A hash of its place in the graph and of their sequence numbers chooses them: the same
        ones in every run, and each operator for itself. With `keys` its replicas do as those of an operator that has a state
        for each key: they work on one tuple of a key at a time, in the order in which these came (`python`).
        """
        of = f"of operator {name!r}"
        whole(f"cost {of}", cost, 0, MAX_COST, "FLOP")
        busy_us = real(f"busy_us {of}", busy_us, 0.0, MAX_BUSY_US, "µs")
        bursts = tuple(pairs(f"costs {of}", costs, "(tuples, FLOP)"))
        for place, (tuples, flop) in bursts:
            whole(f"costs[{place}] {of}: length", tuples, 1, MAX_TUPLES, "tuples")
            whole(f"costs[{place}] {of}", flop, 0, MAX_COST, "FLOP")
        given = [word for word, value in (("cost", cost), ("busy_us", busy_us), ("costs", bursts)) if value]
        if len(given) > 1:
            raise GraphError(f"operator {name!r}: {' and '.join(given)} exclude each other")
        costs = tuple((tuples, flop) for _, (tuples, flop) in bursts)
        selectivity = real(f"selectivity {of}", selectivity, 0.0, 1.0, "of the tuples")
        whole(f"keys {of}", keys, 0, MAX_KEYS, "keys")
        told = {"busy_us": busy_us, "costs": costs, "selectivity": selectivity, "keys": keys}
        return self._add(Operator(name, WORK, inputs, outputs, cost, preserves=selectivity == 1.0, **told))

    def filter(self, name: str, selectivity: float) -> Operator:
        """Add an operator that passes on a share of the tuples, from 0 to 1, chosen by a hash of their sequence numbers."""
        selectivity = real(f"selectivity of filter {name!r}", selectivity, 0.0, 1.0, "of the tuples")
        return self._add(Operator(name, FILTER, 1, 1, preserves=selectivity == 1.0, selectivity=selectivity))

    def split(self, name: str, outputs: int, keys: int = 0) -> Operator:
        """Add a splitter with `outputs` output ports: round-robin, or by a tuple's key if there are `keys` of them."""
        whole(f"keys of split {name!r}", keys, 0, MAX_KEYS, "keys")
        return self._add(Operator(name, SPLIT, 1, outputs, keys=keys))

    def merge(self, name: str) -> Operator:
        """Add a merge that restores the order in which the split upstream saw the tuples."""
        return self._add(Operator(name, MERGE, 1, 1))

    def barrier(self, name: str, inputs: int = 2) -> Operator:
        """Add an operator that takes a tuple of each of its `inputs` and sends one: that of input 0, its value the sum of all.

        So input 0 may not get further ahead of the others than queues hold, nor they of it. It ends when an input has ended and
        has no tuples left; what the other inputs bring from then on is taken and goes no further. Window punctuation ends here.
        """
        whole(f"inputs of barrier {name!r}", inputs, 2, MAX_BARRIER, "ports")
        return self._add(Operator(name, BARRIER, inputs, 1, preserves=False, selectivity=1.0 / inputs))

    def threaded_split(self, name: str, outputs: int, buffer_size: int) -> Operator:
        """Add an operator that shares tuples out among `outputs` threads, one an output port: SPL's ThreadedSplit.

        A tuple goes into the next buffer in turn that is not full; each holds `buffer_size` tuples. Where all are full, whoever
        submits waits. The buffers are operators of their own named `NAME.1` and so on.
        """
        from harness.graph.balance import threaded_split

        return self._balance(threaded_split(name, outputs, buffer_size))

    def elastic_load_balance(
        self,
        name: str,
        outputs: int,
        buffer_size: int,
        congestion_tolerance: float = 0.5,
        throughput_tolerance: float = 0.05,
        measure_period: float = 5.0,
        rapid_scaling: bool = False,
        elastic: bool = True,
        initial_active_ports: int | None = None,
    ) -> Operator:
        """Add a `threaded_split` of whose output ports only the first few are active; a law finds out how many are best.

        Every `measure_period` seconds it looks at the throughput and at how full the active buffers are (ElasticLoadBalance).
        The threads of the other ports sleep. It begins with `initial_active_ports`; None: with 1 if `elastic`, else with all.
        """
        from harness.graph.balance import elastic_load_balance

        settings = (congestion_tolerance, throughput_tolerance, measure_period, rapid_scaling, elastic, initial_active_ports)
        return self._balance(elastic_load_balance(name, outputs, buffer_size, *settings))

    def python(
        self,
        name: str,
        function: Callable[[int, float], float | None],
        inputs: int = 1,
        preserves: bool = False,
        reentrant: bool = False,
        stateless: bool = False,
        keys: int = 0,
    ) -> Operator:
        """Add an operator that calls `function(sequence, value)`; it returns the new value, or None to drop the tuple.

        Each call takes the interpreter's lock, so such operators run one at a time whatever the model. An exception ends the
        run, which then reports it. `preserves` promises that it drops nothing and returns `value` itself; the oracle then
        checks tuples behind it as strictly as others. `reentrant` promises that it locks its own state: its input ports may
        then be executed at the same time, as an operator needs that waits on one port for what comes on another. `stateless`
        promises that what it does with a tuple depends on nothing that came before: under the coroutine model it may have
        replicas, which call the function at the same time (`Engine.set_replicas`). `keys` promises that this depends on tuples
        of the same key alone, of so many keys (`harness.graph.keys.key_of`): replicas call the function for one tuple of a key at a
        time, in the order in which these came (C-Stream §4.2).
        """
        if not callable(function):
            raise GraphError(f"operator {name!r}: function must be callable, not {function!r}")
        promise(name, stateless, keys)
        return self._add(
            Operator(
                name,
                PYTHON,
                inputs,
                1,
                function=function,
                preserves=bool(preserves),
                reentrant=bool(reentrant),
                stateless=bool(stateless),
                keys=keys,
            )
        )

    def native(
        self,
        name: str,
        function: object,
        inputs: int = 1,
        preserves: bool = False,
        reentrant: bool = False,
        state: object = None,
        stateless: bool = False,
        keys: int = 0,
    ) -> Operator:
        """Add an operator that calls a compiled function with `state`; all promises, and `keys`, as in `python`.

        What it may be given, and what it must not do, is in docs/operators.md; `harness.graph.functions.compiled` checks what can be
        checked. Raises GraphError for a function or state that it cannot call.
        """
        from harness.graph.functions.compiled import NativeFunction

        try:
            native = NativeFunction.of(function, state)
        except GraphError as problem:
            raise GraphError(f"operator {name!r}: {problem}") from None
        promise(name, stateless, keys)
        return self._add(
            Operator(
                name,
                NATIVE,
                inputs,
                1,
                preserves=bool(preserves),
                native=native,
                reentrant=bool(reentrant),
                stateless=bool(stateless),
                keys=keys,
            )
        )

    def loop(self, name: str, function: object, inputs: int = 1, outputs: int = 1, state: object = None) -> Operator:
        """Add an operator with a loop of its own, which the coroutine model runs (C-Stream §2.3).

        `function`: `async def function(context)`, or compiled and then called with `state`; it is called once a run, and ends
        when a wait has told it that no more tuples come. docs/operators.md says what it may call. Raises GraphError for a
        function or state that it cannot call.
        """
        return self._loop(name, function, inputs, outputs, state)

    def typed_loop(
        self,
        name: str,
        function: object,
        takes: Schema | Sequence[Schema],
        gives: Schema | Sequence[Schema],
        state: object = None,
    ) -> Operator:
        """Add an operator with a loop of its own for tuples of the schemas `takes` and `gives`, one a port; else as `loop`."""
        from harness.graph.typed import schemas_of

        several = schemas_of(f"takes of operator {name!r}", takes), schemas_of(f"gives of operator {name!r}", gives)
        return self._loop(name, function, len(several[0]), len(several[1]), state, several)

    def _loop(
        self,
        name: str,
        function: object,
        inputs: int,
        outputs: int,
        state: object,
        schemas: tuple[tuple[Schema, ...], tuple[Schema, ...]] | None = None,
    ) -> Operator:
        from harness.graph.functions.compiled import LoopFunction, is_compiled
        from harness.graph.typed import Typed

        native = None
        if is_compiled(function):
            try:
                native = LoopFunction.of(function, state)
            except GraphError as problem:
                raise GraphError(f"operator {name!r}: {problem}") from None
        elif not iscoroutinefunction(function):
            raise GraphError(f"operator {name!r}: function must be an async function or compiled, not {function!r:.60}")
        elif state is not None:
            raise GraphError(f"operator {name!r}: state is for compiled functions; an async function has its own")
        typed = None if schemas is None else Typed(*schemas, function if native is None else native)
        called = function if native is None else None
        return self._add(Operator(name, LOOP, inputs, outputs, function=called, preserves=False, native=native, typed=typed))

    def typed_source(
        self, name: str, function: object, gives: Schema | Sequence[Schema], state: object = None, cost: int | None = None
    ) -> Operator:
        """Add a source whose tuples have attributes: one output port for each schema in `gives`.

        `function`, `state` and `cost` as in `typed`; here it is called again and again, for what is to be sent next.
        """
        return self._typed(SOURCE, name, (), gives, function, None, state, cost)

    def typed(
        self,
        name: str,
        function: object,
        takes: Schema | Sequence[Schema],
        gives: Schema | Sequence[Schema],
        state: object = None,
        finish: object = None,
        cost: int | None = None,
    ) -> Operator:
        """Add an operator that gets tuples of the schemas `takes` and may send any number of the schemas `gives`, one a port.

        `function`: compiled, and called with `state`, or a Python callable; `finish`: called when the last stream into it has
        ended. docs/operators.md says how each is called. `cost`: about what a tuple costs [FLOP], for the size of batches.
        Raises GraphError for a function or state that it cannot call.
        """
        return self._typed(TYPED, name, takes, gives, function, finish, state, cost)

    def typed_sink(
        self,
        name: str,
        function: object,
        takes: Schema | Sequence[Schema],
        state: object = None,
        finish: object = None,
        cost: int | None = None,
    ) -> Operator:
        """Add a sink that gets tuples of the schemas `takes`, one a port; all else as in `typed`."""
        return self._typed(SINK, name, takes, (), function, finish, state, cost)

    def _typed(
        self,
        kind: Kind,
        name: str,
        takes: Schema | Sequence[Schema],
        gives: Schema | Sequence[Schema],
        function: object,
        finish: object,
        state: object,
        cost: int | None,
    ) -> Operator:
        from harness.graph.typed import COMPILED_FLOP, PYTHON_FLOP, schemas_of, typed_of

        inputs, outputs = schemas_of(f"takes of operator {name!r}", takes), schemas_of(f"gives of operator {name!r}", gives)
        typed = typed_of(name, kind is SOURCE, inputs, outputs, function, finish, state)
        if cost is None:
            cost = COMPILED_FLOP if typed.compiled else PYTHON_FLOP
        whole(f"cost of operator {name!r}", cost, 0, MAX_COST, "FLOP")
        return self._add(Operator(name, kind, len(inputs), len(outputs), cost, preserves=False, typed=typed))

    def sink(self, name: str, inputs: int = 1) -> Operator:
        """Add a sink."""
        return self._add(Operator(name, SINK, inputs, 0))

    def control(self, operator: Operator) -> PortId:
        """Give an operator of the kinds work, filter, python, native or loop a control port; returns the port.

        It is an operator of its own named `NAME.control`, annotated like the operator that it controls.
        """
        if not isinstance(operator, Operator) or self.operators.get(operator.name) is not operator:
            raise GraphError(f"graph {self.name!r}: control takes an operator of the graph, not {_named(operator)}")
        if operator.typed is not None and operator.kind is LOOP:
            raise GraphError(
                f"operator {operator.name!r}: a typed loop cannot have a control port, whose tuples have no schema"
            )
        if not operator.kind.controllable:
            raise GraphError(f"operator {operator.name!r}: a {operator.kind} cannot have a control port")
        name = f"{operator.name}.control"
        if name in self.operators and self.operators[name].kind is CONTROL:
            raise GraphError(f"operator {operator.name!r} has a control port already")
        return self._put(Operator(name, CONTROL, 1, 0, controls=operator.name, threading=operator.threading)).input(0)

    def threaded_port(self, port: Operator | PortId, capacity: int = DEFAULT_THREADED_CAPACITY) -> None:
        """Put a queue of `capacity` tuples with a thread of its own before an input port, under every model.

        This is what developers place by hand (P17 §2.2). An operator stands for its input port 0.
        """
        port = self.input_port(port)
        whole(f"capacity of threaded port {port}", capacity, 1, MAX_QUEUE_CAPACITY, "tuples")
        if port in self.threaded:
            raise GraphError(f"input port {port} is threaded twice")
        self.threaded[port] = capacity

    def connect(self, source: Operator | PortId | tuple[PortId, ...], target: Operator | PortId) -> None:
        """Add a stream from an output port, or one from each of several, to an input port; an operator stands for its port 0.

        Raises GraphError if a port does not exist.
        """
        port = self.input_port(target)
        several = isinstance(source, tuple) and not isinstance(source, PortId)
        self.streams += [Stream(self.output_port(each), port) for each in (source if several else (source,))]

    def chain(self, first: Operator | PortId | tuple[PortId, ...], *rest: Operator | PortId) -> Operator:
        """Connect each place to the one behind it: `chain(source, filter, barrier.input(1))`. Returns the last one's operator.

        The first may be what `connect` takes as a source, the others are input ports; the way goes on from output port 0 of
        their operators. Raises GraphError if a port does not exist, or there is none to connect to.
        """
        if not rest:
            raise GraphError(f"graph {self.name!r}: a chain must have two places at least")
        last = first
        for place in rest:
            self.connect(last, place)
            last = self.operators[self.input_port(place).operator]
        return last

    def input_port(self, place: Operator | PortId) -> PortId:
        """The input port meant; an operator stands for its port 0. Raises GraphError if it is not there, or not to be used."""
        port = self._port(place, "inputs", "input")
        owner = self.operators[port.operator].buffers
        if owner:
            raise GraphError(f"operator {port.operator!r} is a buffer of {owner!r}, which alone may feed it and says how")
        return port

    def output_port(self, place: Operator | PortId) -> PortId:
        """The output port meant; an operator stands for its port 0. Raises GraphError if it does not exist.

        What leaves a `threaded_split` or `elastic_load_balance` leaves it by a buffer, so that is whose port it is.
        """
        port = self._port(place, "outputs", "output")
        if self.operators[port.operator].kind.balances:
            return PortId(f"{port.operator}.{port.port + 1}", 0)
        return port

    def free_name(self, name: str, suffix: str) -> str:
        """`name`, or with the lowest number behind it with which it is not the name of a region yet."""
        scope = SCOPE.get()
        while True:
            number = self._names_taken[scope + name] = self._names_taken.get(scope + name, 0) + 1
            free = name if number == 1 else f"{name}{number}"
            if f"{scope}{free}{suffix}" not in self.operators:
                return free

    def _port(self, place: Operator | PortId, count: str, side: str) -> PortId:
        """The port meant. Raises GraphError if it does not exist."""
        if not isinstance(place, PortId | Operator):
            raise GraphError(f"graph {self.name!r}: a port is given by its operator or its PortId, not {_named(place)}")
        port = place if isinstance(place, PortId) else PortId(place.name, 0)
        operator = self.operators.get(port.operator)
        if operator is None:
            raise GraphError(f"graph {self.name!r}: no operator is named {port.operator!r}")
        ports = getattr(operator, count)
        if not isinstance(port.port, int) or not 0 <= port.port < ports:
            raise GraphError(f"operator {operator.name!r} has {ports} {side} port(s); port {port.port} does not exist")
        return port

    def _add(self, operator: Operator) -> Operator:
        annotation, scope = IN_FORCE.get(), SCOPE.get()
        if annotation is not None:
            operator = replace(operator, threading=annotation)
        if scope and isinstance(operator.name, str) and operator.name:
            operator = replace(operator, name=scope + operator.name)
        return self._put(operator)

    def _balance(self, operator: Operator) -> Operator:
        """Add an operator with a buffer before each of its output ports."""
        added = self._add(operator)
        ports = [self.output_port(added.output(index)) for index in range(added.outputs)]
        for port in ports:
            self._put(Operator(port.operator, BUFFER, 1, 1, buffers=added.name, threading=added.threading))
        self.threaded |= dict.fromkeys(ports, added.buffer_size)
        self.streams += [Stream(added.output(index), port) for index, port in enumerate(ports)]
        return added

    def _put(self, operator: Operator) -> Operator:
        if not isinstance(operator.name, str) or not operator.name or not operator.name.isprintable():
            raise GraphError(f"graph {self.name!r}: an operator's name must be non-empty printable text, not {operator.name!r}")
        if operator.name in self.operators:
            raise GraphError(f"graph {self.name!r}: two operators are named {operator.name!r}")
        whole(f"inputs of operator {operator.name!r}", operator.inputs, operator.kind.least_inputs, MAX_PORTS, "ports")
        whole(f"outputs of operator {operator.name!r}", operator.outputs, operator.kind.least_outputs, MAX_PORTS, "ports")
        if len(self.operators) >= MAX_OPERATORS:
            raise GraphError(f"graph {self.name!r}: must have at most {MAX_OPERATORS} operators")
        object.__setattr__(operator, "graph", self)  # it is frozen from now on
        self.operators[operator.name] = operator
        return operator

    # -- reading --------------------------------------------------------------------------------------------------------------

    @property
    def typed_graph(self) -> bool:
        """Whether its streams have schemas."""
        return any(operator.typed is not None for operator in self.operators.values())

    def successors(self) -> dict[PortId, list[PortId]]:
        """Input ports fed by each output port; every output port has an entry."""
        table: dict[PortId, list[PortId]] = {port: [] for port in self.output_ports()}
        for stream in self.streams:
            table[stream.source].append(stream.target)
        return table

    def predecessors(self) -> dict[PortId, list[PortId]]:
        """Output ports that feed each input port; every input port has an entry."""
        table: dict[PortId, list[PortId]] = {port: [] for port in self.input_ports()}
        for stream in self.streams:
            table[stream.target].append(stream.source)
        return table

    def input_ports(self) -> Iterator[PortId]:
        """All input ports, in the order in which their operators were added."""
        for operator in self.operators.values():
            for port in range(operator.inputs):
                yield PortId(operator.name, port)

    def output_ports(self) -> Iterator[PortId]:
        """All output ports, in the order in which their operators were added."""
        for operator in self.operators.values():
            for port in range(operator.outputs):
                yield PortId(operator.name, port)

    def downstream(self) -> dict[str, list[str]]:
        """The operators that each operator feeds, in port order, with repetitions."""
        table: dict[str, list[str]] = {name: [] for name in self.operators}
        for stream in self.streams:
            table[stream.source.operator].append(stream.target.operator)
        return table

    def topological_order(self) -> list[str]:
        """Operator names, each after all that feed it. Raises GraphError, naming a cycle, if there is one."""
        names = list(self.operators)
        return [names[index] for index in self.numbered().order]

    def numbered(self) -> Numbered:
        """The graph by numbers. Raises GraphError, naming a cycle, if there is one."""
        numbered = number(self)
        if len(numbered.order) < len(self.operators):
            raise GraphError(f"graph {self.name!r}: {describe_cycle(cycle_of(self, numbered))}")
        return numbered

    def flow(self) -> Flow:
        """Average hops and copies of a tuple. Raises GraphError for a graph with a cycle."""
        return flow_of(self)

    # -- checking -------------------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Raise GraphError listing the rules that the graph breaks, with the operator or port that breaks each."""
        from harness.graph.checks import problems_of

        problems = problems_of(self)
        first = list(islice(problems, 8))
        if first:
            more = sum(1 for _ in problems)
            raise GraphError(f"graph {self.name!r}: " + "; ".join(first + [f"and {more} more"] * bool(more)))


def _named(value: object) -> str:
    """An operator by its name, anything else as it is."""
    return repr(value.name) if isinstance(value, Operator) else shown(value)

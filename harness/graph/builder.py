"""The graph that users build: a method for each kind of operator, which checks its parameters
(docs/how-to/graphs.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from inspect import iscoroutinefunction
from itertools import islice
from typing import Any

from harness.graph.balance import elastic_load_balance, threaded_split
from harness.graph.checks import BrokenRule, problems_of
from harness.graph.data import OperatorGraph, named_or_shown
from harness.graph.flow import Flow, flow_of
from harness.graph.functions.compiled import LoopFunction, NativeFunction, is_compiled
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
from harness.graph.schema import Schema
from harness.graph.typed import (
    COMPILED_FLOP,
    PYTHON_FLOP,
    Typed,
    check_joined,
    filter_of,
    joined,
    key_attributes,
    schemas_of,
    split_of,
    typed_of,
)
from harness.graph.values import (
    DEFAULT_THREADED_CAPACITY,
    MAX_BARRIER,
    MAX_BURST_S,
    MAX_BUSY_US,
    MAX_COST,
    MAX_KEYS,
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
    whole,
)


class Graph(OperatorGraph):
    """Operators joined by streams, built one by one. Each method checks what it is given and raises
    GraphError.

    Parameters
    ----------
    name : str
        Name of the graph, for records and messages.
    payload : int
        Bytes that a tuple carries besides its header, from 0 to 64 MiB.
    """

    def source(
        self,
        name: str,
        rate: float | None = None,
        rates: Sequence[tuple[float, float | None]] = (),
        window: int = 0,
    ) -> Operator:
        """Add a source with one output port.

        `rate`: tuples/s, whatever happens downstream. `rates`: bursts (seconds, tuples/s), over and
        over; None instead of the tuples/s: full speed, 0: silence. Neither: as fast as it is
        allowed to. `window`: a window punctuation after every so many tuples, 0 for none.
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
                else real(
                    f"rates[{place}] {of}",
                    tuples_per_s,
                    MIN_RATE,
                    MAX_RATE,
                    "tuples/s, or 0 for silence",
                    or_zero=True,
                ),
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
        """Add an operator that computes for `cost` FLOP a tuple; with several outputs it sends
        tuples round-robin.

        Instead of `cost`: `busy_us`, the time in µs that a tuple keeps it busy, or `costs`, bursts
        (tuples, FLOP) by the tuples' sequence numbers, over and over. `selectivity`: the share of
        tuples, from 0 to 1, that it passes on when it is done with them (C-Stream §5.1). A hash of
        its place in the graph and of their sequence numbers chooses them: the same ones in every
        run, and each operator for itself. With `keys` its replicas do as those of an operator that
        has a state for each key: they work on one tuple of a key at a time, in the order in which
        these came (`python`).
        """
        of = f"of operator {name!r}"
        whole(f"cost {of}", cost, 0, MAX_COST, "FLOP")
        busy_us = real(f"busy_us {of}", busy_us, 0.0, MAX_BUSY_US, "µs")
        bursts = tuple(pairs(f"costs {of}", costs, "(tuples, FLOP)"))
        for place, (tuples, flop) in bursts:
            whole(f"costs[{place}] {of}: length", tuples, 1, MAX_TUPLES, "tuples")
            whole(f"costs[{place}] {of}", flop, 0, MAX_COST, "FLOP")
        given = [
            word
            for word, value in (("cost", cost), ("busy_us", busy_us), ("costs", bursts))
            if value
        ]
        if len(given) > 1:
            raise GraphError(f"operator {name!r}: {' and '.join(given)} exclude each other")
        costs = tuple((tuples, flop) for _, (tuples, flop) in bursts)
        selectivity = real(f"selectivity {of}", selectivity, 0.0, 1.0, "of the tuples")
        whole(f"keys {of}", keys, 0, MAX_KEYS, "keys")
        options = {"busy_us": busy_us, "costs": costs, "selectivity": selectivity, "keys": keys}
        return self._add(
            Operator(name, WORK, inputs, outputs, cost, preserves=selectivity == 1.0, **options)
        )

    def filter(self, name: str, selectivity: float) -> Operator:
        """Add an operator that passes on a share of the tuples, from 0 to 1, chosen by a hash of
        their sequence numbers.
        """
        selectivity = real(
            f"selectivity of filter {name!r}", selectivity, 0.0, 1.0, "of the tuples"
        )
        return self._add(
            Operator(name, FILTER, 1, 1, preserves=selectivity == 1.0, selectivity=selectivity)
        )

    def split(self, name: str, outputs: int, keys: int = 0) -> Operator:
        """Add a splitter with `outputs` output ports: round-robin, or by a tuple's key if there are
        `keys` of them.
        """
        whole(f"keys of split {name!r}", keys, 0, MAX_KEYS, "keys")
        return self._add(Operator(name, SPLIT, 1, outputs, keys=keys))

    def merge(self, name: str) -> Operator:
        """Add a merge that restores the order in which the split upstream saw the tuples."""
        return self._add(Operator(name, MERGE, 1, 1))

    def barrier(self, name: str, inputs: int = 2) -> Operator:
        """Add an operator that takes a tuple of each of its `inputs` and sends one: that of input
        0, its value the sum of all.

        So no input can get further ahead of the others than its queues hold. It ends when an input
        has ended and has no tuples left; what the other inputs bring from then on is taken and goes
        no further. Window punctuation ends here.
        """
        whole(f"inputs of barrier {name!r}", inputs, 2, MAX_BARRIER, "ports")
        return self._add(
            Operator(name, BARRIER, inputs, 1, preserves=False, selectivity=1.0 / inputs)
        )

    def threaded_split(self, name: str, outputs: int, buffer_size: int) -> Operator:
        """Add an operator that shares tuples out among `outputs` threads, one an output port: SPL's
        ThreadedSplit.

        A tuple goes into the next buffer in turn that is not full; each holds `buffer_size` tuples.
        If all are full, the submitting thread waits. The buffers are operators of their own named
        `NAME.1` and so on.
        """
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
        """Add a `threaded_split` that sends to its first output ports only; a control law finds out
        how many are best.

        Every `measure_period` seconds it looks at the throughput and at how full the active buffers
        are (ElasticLoadBalance). The threads of the other ports sleep. It begins with
        `initial_active_ports`; None: with 1 if `elastic`, else with all.
        """
        settings = (
            congestion_tolerance,
            throughput_tolerance,
            measure_period,
            rapid_scaling,
            elastic,
            initial_active_ports,
        )
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
        """Add an operator that calls `function(sequence, value)`; it returns the new value, or None
        to drop the tuple.

        Each call takes the interpreter's lock, so such operators run one at a time whatever the
        model; in a free-threaded interpreter, which has none, they run at the same time. An
        exception ends the run, which then reports it. `preserves` promises that it drops
        nothing and returns `value` itself; the oracle then checks tuples behind it as strictly as
        others. `reentrant` promises that it locks its own state: its input ports may then be
        executed at the same time, as an operator needs that waits on one port for what comes on
        another. `stateless` promises that what it does with a tuple depends on nothing that came
        before: under the coroutine model it may have replicas, which call the function at the same
        time (`Engine.set_replicas`). `keys` promises that this depends on tuples of the same key
        alone, of this number of keys (`harness.graph.keys.key_of`): replicas call the function for
        one tuple of a key at a time, in the order in which these came (C-Stream §4.2).
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
        """Add an operator that calls a compiled function with `state`; all promises, and `keys`, as
        in `python`.

        What it may be given, and what it must not do, is in docs/how-to/operators.md;
        `harness.graph.functions.compiled` checks what can be checked. Raises GraphError for a
        function or state that it cannot call.
        """
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

    def loop(
        self,
        name: str,
        function: object,
        inputs: int = 1,
        outputs: int = 1,
        state: object = None,
        stateless: bool = False,
        keys: int = 0,
    ) -> Operator:
        """Add an operator with a loop of its own, which the coroutine model runs (C-Stream §2.3).

        `function`: `async def function(context)`, or compiled and then called with `state`; it is
        called once a run, and usually ends when a wait returns that no more tuples come.
        docs/how-to/operators.md says what it may call. Without inputs it is a source. `stateless`
        and `keys` are promises as in `python`; each replica calls the function. Raises GraphError
        for a function or state that it cannot call.
        """
        promise(name, stateless, keys)
        options = {"stateless": bool(stateless), "keys": keys}
        return self._loop(name, function, inputs, outputs, state, None, **options)

    def typed_loop(
        self,
        name: str,
        function: object,
        takes: Schema | Sequence[Schema],
        gives: Schema | Sequence[Schema],
        state: object = None,
        stateless: bool = False,
        by: str | Sequence[str] = (),
    ) -> Operator:
        """Add a loop operator as `loop` does, for tuples of the schemas `takes` and `gives`, one a
        port. `by`: attributes of the key for which it has a state.
        """
        several = (
            schemas_of(f"takes of operator {name!r}", takes),
            schemas_of(f"gives of operator {name!r}", gives),
        )
        key = key_attributes(name, several[0], by)
        promise(name, stateless, len(key))
        return self._loop(
            name,
            function,
            len(several[0]),
            len(several[1]),
            state,
            several,
            key,
            stateless=bool(stateless),
        )

    def _loop(
        self,
        name: str,
        function: object,
        inputs: int,
        outputs: int,
        state: object,
        schemas: tuple[tuple[Schema, ...], tuple[Schema, ...]] | None,
        key: tuple[str, ...] = (),
        **promises: Any,
    ) -> Operator:
        native = None
        if is_compiled(function):
            try:
                native = LoopFunction.of(function, state)
            except GraphError as problem:
                raise GraphError(f"operator {name!r}: {problem}") from None
        elif not iscoroutinefunction(function):
            raise GraphError(
                f"operator {name!r}: function must be an async function or compiled, not "
                f"{function!r:.60}"
            )
        elif state is not None:
            raise GraphError(
                f"operator {name!r}: state is for compiled functions; an async function has its own"
            )
        if inputs == 0 and outputs == 0:
            raise GraphError(f"operator {name!r}: a loop must have a port")
        typed = (
            None
            if schemas is None
            else Typed(*schemas, function if native is None else native, by=key)
        )
        called = function if native is None else None
        return self._add(
            Operator(
                name,
                LOOP,
                inputs,
                outputs,
                function=called,
                preserves=False,
                native=native,
                typed=typed,
                **promises,
            )
        )

    def typed_source(
        self,
        name: str,
        function: object,
        gives: Schema | Sequence[Schema],
        state: object = None,
        cost: int | None = None,
    ) -> Operator:
        """Add a source whose tuples have attributes: one output port for each schema in `gives`.

        `function`, `state` and `cost` as in `typed`; here it is called again and again, and returns
        the tuples to send next.
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
        one_for_one: bool = False,
        stateless: bool = False,
        by: str | Sequence[str] = (),
        thread: object = None,
    ) -> Operator:
        """Add an operator that gets tuples of the schemas `takes` and may send any number of the
        schemas `gives`, one a port.

        `function`: compiled, and called with `state`, or a Python callable; `finish`: called when
        the last stream into it has ended. docs/how-to/operators.md says how each is called. `cost`:
        about what a tuple costs [FLOP], for the size of batches. `one_for_one`: it promises to send
        one tuple for each that it gets, by its one output port; the run fails if it does not.
        `stateless`: it promises that what it sends depends on the tuple alone; `by`: or on a state
        for each value of these attributes. Then it may have replicas, which call the function at
        the same time. `thread`: a function as of `typed_source`, for a thread of the operator's own
        that sends tuples by the same output ports (P17 §2.3); it is a source named `NAME.thread`.
        Raises GraphError for a function or state that it cannot call.
        """
        if thread is not None and (one_for_one or not schemas_of("gives", gives)):
            raise GraphError(
                f"operator {name!r}: thread needs an output port, and excludes one_for_one"
            )
        if one_for_one and (len(schemas_of("gives", gives)) != 1 or finish is not None):
            raise GraphError(f"operator {name!r}: one_for_one needs one output port, and no finish")
        added = self._typed(
            TYPED,
            name,
            takes,
            gives,
            function,
            finish,
            state,
            cost,
            key_attributes(name, schemas_of(f"takes of operator {name!r}", takes), by),
            preserves=bool(one_for_one),
            stateless=bool(stateless),
        )
        if thread is not None:
            own = self.typed_source(f"{name}.thread", thread, gives, state, cost)
            self.own_threads[added.name] = own.name
        return added

    def typed_sink(
        self,
        name: str,
        function: object,
        takes: Schema | Sequence[Schema],
        state: object = None,
        finish: object = None,
        cost: int | None = None,
    ) -> Operator:
        """Add a sink that gets tuples of the schemas `takes`, one a port; the other parameters are
        those of `typed`.
        """
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
        key: tuple[str, ...] = (),
        **options: Any,
    ) -> Operator:
        promise(name, options.get("stateless"), len(key))
        inputs = schemas_of(f"takes of operator {name!r}", takes)
        outputs = schemas_of(f"gives of operator {name!r}", gives)
        typed = typed_of(name, kind is SOURCE, inputs, outputs, function, finish, state)
        typed = replace(typed, by=key)
        return self._put_typed(kind, name, typed, cost, **options)

    def _put_typed(
        self, kind: Kind, name: str, typed: Typed, cost: int | None, **options: Any
    ) -> Operator:
        if cost is None:
            cost = COMPILED_FLOP if typed.compiled else PYTHON_FLOP
        whole(f"cost of operator {name!r}", cost, 0, MAX_COST, "FLOP")
        options = {"preserves": False, "typed": typed} | options
        return self._add(Operator(name, kind, len(typed.takes), len(typed.gives), cost, **options))

    def typed_filter(
        self,
        name: str,
        accepts: object,
        takes: Schema,
        state: object = None,
        cost: int | None = None,
    ) -> Operator:
        """Add an operator that passes on the tuples of schema `takes` that `accepts` says yes to.

        `accepts`: compiled, and called with `state`, or a Python callable of the attributes;
        `cost` as in `typed`. Raises GraphError for a function or state that it cannot call.
        """
        (schema,) = schemas_of(f"takes of operator {name!r}", takes)
        return self._put_typed(FILTER, name, filter_of(name, accepts, schema, state), cost)

    def typed_split(
        self, name: str, outputs: int, takes: Schema, by: str | Sequence[str] = ()
    ) -> Operator:
        """Add a splitter with `outputs` output ports for tuples of the schema `takes`: round-robin,
        or by the values of the attributes `by`.
        """
        (schema,) = schemas_of(f"takes of split {name!r}", takes)
        whole(f"outputs of split {name!r}", outputs, 1, MAX_PORTS, "ports")
        typed = split_of(name, schema, outputs, by)
        return self._put_typed(SPLIT, name, typed, None, preserves=True)

    def typed_merge(self, name: str, takes: Schema) -> Operator:
        """Add a merge that restores the order in which the typed split upstream saw the tuples of
        the schema `takes`.
        """
        (schema,) = schemas_of(f"takes of merge {name!r}", takes)
        return self._put_typed(MERGE, name, Typed((schema,), (schema,)), None, preserves=True)

    def typed_barrier(
        self, name: str, takes: Sequence[Schema], gives: Schema | None = None
    ) -> Operator:
        """Add an operator that takes a tuple of each of its inputs, of the schemas `takes`, and
        sends one with their attributes (C-Stream, Listing 2).

        `gives`: the attributes that it sends; without it, all. An attribute that several inputs
        have is that of the first. The barrier ends as `barrier` does.
        """
        inputs = schemas_of(f"takes of barrier {name!r}", takes)
        whole(f"inputs of barrier {name!r}", len(inputs), 2, MAX_BARRIER, "ports")
        (output,) = schemas_of(f"gives of barrier {name!r}", gives or joined(inputs))
        check_joined(name, inputs, output)
        return self._put_typed(
            BARRIER, name, Typed(inputs, (output,)), None, selectivity=1.0 / len(inputs)
        )

    def sink(self, name: str, inputs: int = 1) -> Operator:
        """Add a sink."""
        return self._add(Operator(name, SINK, inputs, 0))

    def control(self, operator: Operator) -> PortId:
        """Give an operator of the kinds work, filter, python, native or loop a control port;
        returns the port.

        It is an operator of its own named `NAME.control`, annotated like the operator that it
        controls.
        """
        if not isinstance(operator, Operator) or self.operators.get(operator.name) is not operator:
            raise GraphError(
                f"graph {self.name!r}: control takes an operator of the graph, not "
                f"{named_or_shown(operator)}"
            )
        if operator.typed is not None and operator.kind is LOOP:
            raise GraphError(
                f"operator {operator.name!r}: a typed loop cannot have a control port, whose "
                "tuples have no schema"
            )
        if not operator.kind.controllable:
            raise GraphError(
                f"operator {operator.name!r}: a {operator.kind} cannot have a control port"
            )
        name = f"{operator.name}.control"
        if name in self.operators and self.operators[name].kind is CONTROL:
            raise GraphError(f"operator {operator.name!r} has a control port already")
        return self.put(
            Operator(name, CONTROL, 1, 0, controls=operator.name, threading=operator.threading)
        ).input(0)

    def threaded_port(
        self, port: Operator | PortId, capacity: int = DEFAULT_THREADED_CAPACITY
    ) -> None:
        """Put a queue of `capacity` tuples with a thread of its own before an input port, under
        every model.

        This is what developers place by hand (P17 §2.2). An operator stands for its input port 0.
        """
        port = self.input_port(port)
        whole(f"capacity of threaded port {port}", capacity, 1, MAX_QUEUE_CAPACITY, "tuples")
        if port in self.threaded:
            raise GraphError(f"input port {port} is threaded twice")
        self.threaded[port] = capacity

    def _add(self, operator: Operator) -> Operator:
        annotation, scope = IN_FORCE.get(), SCOPE.get()
        if annotation is not None:
            operator = replace(operator, threading=annotation)
        if scope and isinstance(operator.name, str) and operator.name:
            operator = replace(operator, name=scope + operator.name)
        return self.put(operator)

    def _balance(self, operator: Operator) -> Operator:
        """Add an operator with a buffer before each of its output ports."""
        added = self._add(operator)
        ports = [self.output_port(added.output(index)) for index in range(added.outputs)]
        for port in ports:
            self.put(
                Operator(port.operator, BUFFER, 1, 1, buffers=added.name, threading=added.threading)
            )
        self.threaded |= dict.fromkeys(ports, added.buffer_size)
        self.streams += [Stream(added.output(index), port) for index, port in enumerate(ports)]
        return added

    def flow(self) -> Flow:
        """Average hops and copies of a tuple. Raises GraphError for a graph with a cycle."""
        return flow_of(self)

    def check(self) -> None:
        """Raise GraphError listing the rules that the graph breaks, with the operator or port that
        breaks each.
        """
        problems = problems_of(self)
        first = [self._placed(broken) for broken in islice(problems, 8)]
        if first:
            more = sum(1 for _ in problems)
            text = "; ".join(first + [f"and {more} more"] * bool(more))
            if self.written is None:
                raise GraphError(f"graph {self.name!r}: {text}")
            after = ", " if text.startswith("line ") else ": "
            raise GraphError(f"{self.written.file}{after}{text}")

    def _placed(self, broken: BrokenRule) -> str:
        """Return the text of a broken rule behind its line, if that is known."""
        if self.written is None:
            return broken.text
        line = self.written.last(broken.about, self.operators, self.streams)
        return f"line {line}: {broken.text}" if line else broken.text

"""Parts of a graph: operators, their ports, the streams between them, and threading annotations."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from harness.graph.kinds import LOOP, SINK, SOURCE, SPLIT, Kind
from harness.graph.typed import Typed
from harness.graph.values import MAX_THREADS, GraphError, shown, whole


class PortId(NamedTuple):
    """A port, named by its operator and its index; the context decides if it is an input or an
    output port.
    """

    operator: str
    port: int

    def __str__(self) -> str:
        return f"{self.operator}[{self.port}]"


class OwnedPort(PortId):
    """A port that knows its graph, so that `>>` can connect it."""

    graph: Chaining

    @classmethod
    def of(cls, operator: Operator, port: int) -> OwnedPort:
        """Return the port of an operator with that index."""
        made = cls(operator.name, port)
        made.graph = operator.graph
        return made

    def __rshift__(self, target: Target) -> Operator | OwnedPort:
        """Connect this output port to an input port; see `Operator.__rshift__`."""
        if self.graph is None:
            raise GraphError(f"operator {self.operator!r} is in no graph")
        return _connect(self.graph, self, target)


class Stream(NamedTuple):
    """An ordered FIFO from an output port to an input port."""

    source: PortId
    target: PortId


@dataclass(frozen=True)
class Threading:
    """A threading annotation for the operators of a composite (SPL's @threading). Raises GraphError
    for invalid values.

    `threads`: scheduler threads that the pool should have at least; `elastic`: True if their number
    may change. Both are for the model dynamic only; None: not given.
    """

    model: str
    threads: int | None = None
    elastic: bool | None = None

    def __post_init__(self) -> None:
        models = ("manual", "dedicated", "dynamic")
        if self.model == "automatic":
            raise GraphError(
                "threading: model 'automatic' is none of ours: name manual, dedicated or dynamic"
            )
        if self.model not in models:
            raise GraphError(
                f"threading: model must be one of {', '.join(models)}, not {self.model!r}"
            )
        for option, value in (("threads", self.threads), ("elastic", self.elastic)):
            if value is not None and self.model != "dynamic":
                raise GraphError(
                    f"threading: {option} applies to the model dynamic only, not to {self.model}"
                )
        if self.threads is not None:
            whole("threading: threads", self.threads, 1, MAX_THREADS, "threads")
        if self.elastic is not None and not isinstance(self.elastic, bool):
            raise GraphError(f"threading: elastic must be True or False, not {self.elastic!r}")


IN_FORCE: ContextVar[Threading | None] = ContextVar("threading annotation in force", default=None)
"""The annotation that operators get when they are added. `harness.graph.annotations` sets it."""

SCOPE: ContextVar[str] = ContextVar("prefix of names", default="")
"""Prefix of the names of operators that are added: inside a region, the region's name and the
replica's number.
"""


class Chaining(Protocol):
    """The part of a graph that its operators use: it connects them."""

    def chain(
        self, first: Operator | PortId | tuple[PortId, ...], *rest: Operator | PortId
    ) -> Operator: ...


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator. `inputs` and `outputs` are numbers of ports; fields that a kind does not have
    keep their defaults.
    """

    name: str
    kind: Kind
    inputs: int
    outputs: int
    cost: int = 0  # work: FLOP a tuple
    # python: (sequence, value) -> value or None; loop: a co-routine of a context
    function: Callable[..., object] | None = None
    # passes on every tuple, its value unchanged; the run's oracle relies on it, and so checks it
    preserves: bool = True
    busy_us: float = 0.0  # work: busy time a tuple [µs], instead of cost
    # work: bursts (tuples, FLOP) by sequence number, cyclic, instead of cost
    costs: tuple[tuple[int, int], ...] = ()
    # source: tuples/s whatever happens downstream; None: as fast as it is allowed to
    rate: float | None = None
    # source: bursts (s, tuples/s; None: full speed; 0: silence), cyclic
    rates: tuple[tuple[float, float | None], ...] = ()
    window: int = 0  # source: a window punctuation after every so many tuples; 0: none
    selectivity: float = 1.0  # filter, work, barrier: share of tuples passed on
    # split: distinct keys, all tuples of one go to the same output port; 0: round-robin. Others:
    # keys of their state
    keys: int = 0
    native: object | None = None  # native, loop: a harness.graph.functions.compiled.NativeFunction
    # python, native: locks its own state, so its input ports may be executed at the same time
    reentrant: bool = False
    # python, native: what it does with a tuple depends on that tuple alone, so it may have replicas
    stateless: bool = False
    controls: str = ""  # control: the operator whose control port this is
    buffers: str = ""  # buffer: the operator before whose output port it is
    buffer_size: int = 0  # threaded_split, elastic_load_balance: tuples that each buffer holds
    # threaded_split, elastic_load_balance: output ports that get tuples at the start
    initial_active_ports: int = 0
    elastic: bool = False  # elastic_load_balance: whether a law changes their number
    # elastic_load_balance: mean fill of the active buffers above which there is congestion
    congestion_tolerance: float = 0.5
    # elastic_load_balance: throughputs that differ by a smaller share are the same
    throughput_tolerance: float = 0.05
    measure_period: float = 5.0  # elastic_load_balance: seconds between two decisions
    # elastic_load_balance: whether the number of active ports grows by a factor
    rapid_scaling: bool = False
    threading: Threading | None = None  # annotation in force where the operator was added
    typed: Typed | None = None  # typed, and sources and sinks that are typed
    graph: Chaining | None = field(default=None, compare=False, repr=False)  # that it was added to

    @property
    def is_source(self) -> bool:
        """True if it makes tuples, of which no other operator sends it any: a source, or a loop
        without input ports.
        """
        return self.kind is SOURCE or (self.kind is LOOP and self.inputs == 0)

    @property
    def counts_output(self) -> bool:
        """True if it may send fewer tuples than it gets, or more, or later, so that its output is
        counted apart.
        """
        return self.kind.counts_output or self.selectivity < 1.0

    @property
    def chooses_output(self) -> bool:
        """True if the output port of a tuple depends on the tuple, or on which buffer has room."""
        return (
            self.kind.chooses_output
            or self.typed is not None
            or (self.kind is SPLIT and self.keys > 0)
        )

    @property
    def is_sink(self) -> bool:
        """True if what it gets has arrived: a sink, or a loop without output ports."""
        return self.kind is SINK or (self.kind is LOOP and self.outputs == 0)

    @property
    def users(self) -> bool:
        """True if a user's own function is called in it, which may take for ever."""
        return self.kind.calls_user_function or self.kind is LOOP or self.typed is not None

    @property
    def in_python(self) -> bool:
        """True if it calls a Python function, for which it takes the interpreter's lock."""
        called = (self.function or self.native) if self.typed is None else self.typed.function
        return called is not None and bool(getattr(called, "is_python", True))

    def input(self, port: int) -> OwnedPort:
        """Return the id of input port `port`."""
        return OwnedPort.of(self, port)

    def output(self, port: int) -> OwnedPort:
        """Return the id of output port `port`."""
        return OwnedPort.of(self, port)

    def owner(self) -> Chaining:
        """Return the graph that it was added to. Raises GraphError if there is none."""
        if self.graph is None:
            raise GraphError(f"operator {self.name!r} is in no graph")
        return self.graph

    def __rshift__(self, target: Target) -> Operator | OwnedPort:
        """Connect output port 0 to an input port, as in C-Stream's Listing 1 (§2.2): `source >>
        filter >> barrier.input(1)`.

        An operator means its port 0. A target may also be as the paper writes it: `(input,
        operator, output)`, or `(input, operator)`. Returns the operator that is fed, or its output
        port if that was given, so that chains go on. Raises GraphError if a port does not exist.
        """
        return _connect(self.owner(), self, target)


Target = Operator | PortId | tuple[int, Operator] | tuple[int, Operator, int]
"""The right side of `>>`."""


def _connect(graph: Chaining, source: Operator | PortId, target: Target) -> Operator | OwnedPort:
    """Connect a place to what stands on the right side of `>>`, and return where the chain goes
    on.
    """
    if not isinstance(target, tuple) or isinstance(target, PortId):
        return graph.chain(source, target)
    if len(target) not in (2, 3) or not isinstance(target[1], Operator):
        raise GraphError(
            f">> {shown(target)}: what is fed must be an operator, an input port, (input, "
            "operator) or (input, operator, output)"
        )
    fed = graph.chain(source, target[1].input(target[0]))
    return fed if len(target) == 2 else fed.output(target[2])

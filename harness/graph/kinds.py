"""The kinds of operator: a record for each, with its parameters and the facts that other code asks
for.

A new kind gets its record here, a method of `Graph` that checks its parameters, and what executes
it in each engine (docs/how-to/extending.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

REQUIRED = object()
"""Placeholder for the default of a parameter that has none."""


@dataclass(frozen=True, eq=False, repr=False)
class Kind:
    """Facts that hold for every operator of a kind. Two kinds are equal only if they are one
    object.
    """

    name: str
    # those of a graph file, each with its default
    parameters: Mapping[str, object] = field(default_factory=dict)
    in_files: bool = True  # a graph file may have operators of the kind
    least_inputs: int = 1  # input ports
    least_outputs: int = 1  # output ports
    hop: bool = False  # it does something with a tuple, so it counts as a hop of the tuple's way
    calls_user_function: bool = False  # once a tuple, and the function may take for ever
    # it may send fewer tuples than it gets, or later, so its output is counted apart
    counts_output: bool = False
    changes_values: bool = False  # it may send on another value than it got
    stateless: bool = False  # it keeps nothing from tuple to tuple, so it may have replicas
    may_be_stateless: bool = False  # a user may promise that, or that it has a state for each key
    # the output port of a tuple depends on the tuple, or on which buffer has room
    chooses_output: bool = False
    # each tuple that it gets, or makes, is submitted on its output ports, if it is not dropped
    submits: bool = True
    balances: bool = False  # each of its output ports has a buffer with a thread
    # it only chooses a way, so it runs on the thread that submits to it and waits with that thread
    on_submitter: bool = False
    ends_windows: bool = False  # window punctuation goes no further
    controllable: bool = False  # it may have a control port
    # assumed cost of a user's function a tuple, for the size of batches (a guess, not tuned)
    flop: int = 0
    simulated: bool = True  # the simulator can execute it from the graph alone

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return kind_called, (self.name,)  # a copy is the same object

    @property
    def required(self) -> tuple[str, ...]:
        """Parameters that a graph file must give."""
        return tuple(name for name, default in self.parameters.items() if default is REQUIRED)


def kind_called(name: str) -> Kind:
    """Return the kind of that name. Raises KeyError if there is none."""
    return KINDS[name]


SOURCE = Kind("source", parameters={"rate": None, "rates": (), "window": 0}, least_inputs=0)
WORK = Kind(
    "work",
    parameters={
        "cost": 0,
        "costs": (),
        "busy_us": 0.0,
        "selectivity": 1.0,
        "inputs": 1,
        "outputs": 1,
        "keys": 0,
    },
    hop=True,
    stateless=True,
    controllable=True,
)
FILTER = Kind(
    "filter",
    parameters={"selectivity": REQUIRED},
    hop=True,
    counts_output=True,
    stateless=True,
    controllable=True,
)
SPLIT = Kind("split", parameters={"outputs": REQUIRED, "keys": 0}, on_submitter=True)
MERGE = Kind("merge", hop=True, counts_output=True)
BARRIER = Kind(
    "barrier",
    parameters={"inputs": 2},
    hop=True,
    counts_output=True,
    changes_values=True,
    ends_windows=True,
)
THREADED_SPLIT = Kind(
    "threaded_split",
    parameters={"outputs": REQUIRED, "buffer_size": REQUIRED},
    chooses_output=True,
    submits=False,  # its buffers do
    balances=True,
    on_submitter=True,
)
ELASTIC_LOAD_BALANCE = Kind(
    "elastic_load_balance",
    parameters={
        "outputs": REQUIRED,
        "buffer_size": REQUIRED,
        "elastic": True,
        "initial_active_ports": None,
        "congestion_tolerance": 0.5,
        "throughput_tolerance": 0.05,
        "measure_period": 5.0,
        "rapid_scaling": False,
    },
    chooses_output=True,
    submits=False,  # its buffers do
    balances=True,
    on_submitter=True,
)
BUFFER = Kind("buffer", in_files=False)
_PROMISES = {"inputs": 1, "preserves": False, "reentrant": False, "stateless": False, "keys": 0}
PYTHON = Kind(
    "python",
    parameters={"function": REQUIRED, **_PROMISES},
    hop=True,
    calls_user_function=True,
    may_be_stateless=True,
    counts_output=True,
    changes_values=True,
    controllable=True,
    flop=1000,
    simulated=False,
)
NATIVE = replace(PYTHON, name="native", flop=100)
TYPED = Kind(
    "typed",
    in_files=False,
    hop=True,
    may_be_stateless=True,
    counts_output=True,
    chooses_output=True,
    simulated=False,
)
LOOP = Kind(
    "loop",
    parameters={"function": REQUIRED, "inputs": 1, "outputs": 1, "stateless": False, "keys": 0},
    least_inputs=0,
    least_outputs=0,
    hop=True,
    may_be_stateless=True,
    counts_output=True,
    changes_values=True,
    chooses_output=True,
    ends_windows=True,
    controllable=True,
    simulated=False,
)
SINK = Kind("sink", parameters={"inputs": 1}, least_outputs=0, submits=False, ends_windows=True)
CONTROL = Kind("control", least_outputs=0, submits=False, ends_windows=True)

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        *(
            SOURCE,
            WORK,
            FILTER,
            SPLIT,
            MERGE,
            BARRIER,
            THREADED_SPLIT,
            ELASTIC_LOAD_BALANCE,
            BUFFER,
        ),
        *(PYTHON, NATIVE, TYPED, LOOP, SINK, CONTROL),
    )
}

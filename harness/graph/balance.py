"""Checks of the parameters of `threaded_split` and `elastic_load_balance`. An error is one line
that names the parameter, the operator, the rule and the value.
"""

from __future__ import annotations

from harness.graph.data import OperatorGraph
from harness.graph.kinds import ELASTIC_LOAD_BALANCE, THREADED_SPLIT
from harness.graph.operator import Operator, PortId
from harness.graph.values import MAX_QUEUE_CAPACITY, MAX_THREADS, GraphError, real, shown, whole

MAX_PERIOD_S = 86_400.0  # a day


def threaded_split(name: str, outputs: int, buffer_size: int) -> Operator:
    """Return the operator, its buffers not included. Raises GraphError for a value out of range."""
    _check_buffers(f"of threaded_split {name!r}", outputs, buffer_size)
    return Operator(
        name, THREADED_SPLIT, 1, outputs, buffer_size=buffer_size, initial_active_ports=outputs
    )


def elastic_load_balance(
    name: str,
    outputs: int,
    buffer_size: int,
    congestion_tolerance: float,
    throughput_tolerance: float,
    measure_period: float,
    rapid_scaling: bool,
    elastic: bool,
    initial_active_ports: int | None,
) -> Operator:
    """Return the operator, its buffers not included. Raises GraphError for a value out of range."""
    of = f"of elastic_load_balance {name!r}"
    _check_buffers(of, outputs, buffer_size)
    for parameter, value in (("rapid_scaling", rapid_scaling), ("elastic", elastic)):
        if not isinstance(value, bool):
            raise GraphError(f"{parameter} {of} must be True or False, not {shown(value)}")
    number = isinstance(measure_period, int | float) and not isinstance(measure_period, bool)
    if not number or not 0 < measure_period <= MAX_PERIOD_S:
        rule = f"more than 0 and at most {MAX_PERIOD_S:g} seconds"
        raise GraphError(f"measure_period {of} must be {rule}, not {shown(measure_period)}")
    if initial_active_ports is None:
        initial_active_ports = 1 if elastic else outputs
    whole(f"initial_active_ports {of}", initial_active_ports, 1, outputs, "output ports")
    return Operator(
        name,
        ELASTIC_LOAD_BALANCE,
        1,
        outputs,
        buffer_size=buffer_size,
        initial_active_ports=initial_active_ports,
        elastic=elastic,
        congestion_tolerance=real(
            f"congestion_tolerance {of}", congestion_tolerance, 0.0, 1.0, "of the buffers"
        ),
        throughput_tolerance=real(
            f"throughput_tolerance {of}", throughput_tolerance, 0.0, 1.0, "of the throughput"
        ),
        measure_period=float(measure_period),
        rapid_scaling=rapid_scaling,
    )


def outer_port(graph: OperatorGraph, port: PortId) -> PortId:
    """Return an output port as users name it: a buffer's port is a port of the operator that owns
    the buffer.
    """
    owner = graph.operators[port.operator].buffers
    return PortId(owner, int(port.operator.removeprefix(f"{owner}.")) - 1) if owner else port


def _check_buffers(of: str, outputs: object, buffer_size: object) -> None:
    """Check the number of output ports, each with a thread, and the size of their buffers."""
    whole(f"outputs {of}", outputs, 1, MAX_THREADS, "ports")
    whole(f"buffer_size {of}", buffer_size, 1, MAX_QUEUE_CAPACITY, "tuples")

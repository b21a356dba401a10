"""Tests of what cannot be simulated is refused in one line that names it; a run that does not end
has a bound.
"""

from __future__ import annotations

import itertools
import math

import pytest
from harness.simulator.engine import SimulatorCore

from harness.engine import Engine, open_engine
from harness.engine.simulated import SimulatedEngine
from harness.errors import RunFailed, UserError
from harness.graph import Graph, PortId, Threading
from harness.graph.operator import IN_FORCE
from harness.machines.machine import load_machine
from harness.machines.software import load_software
from harness.models import Dedicated, Dynamic, Manual
from harness.models.layout import layout_of
from tests.runtime.shapes import GRAPHS, native, pipeline, split_and_join
from tests.simulator.runs import simulated


def refused(*words: str) -> object:
    """One line that has all these words, in this order."""
    return pytest.raises(UserError, match="^[^\n]*" + "[^\n]*".join(words) + "[^\n]*$")


def bounded(events: int) -> Engine:
    """An engine that may take so many events."""
    layout = layout_of(pipeline(), Dynamic(2))
    core = SimulatorCore(layout, load_machine("xeon"), load_software("millrace"), events=events)
    return SimulatedEngine(core)


@pytest.mark.parametrize("kind", ["python", "native"])
def test_operators_of_users_cannot_be_simulated(kind: str) -> None:
    graph = Graph("users", 8)
    operator = (
        graph.python("mine", lambda sequence, value: value)
        if kind == "python"
        else native(graph, "mine", lambda *_: 1)
    )
    graph.connect(graph.source("source"), operator)
    graph.connect(operator, graph.sink("sink"))
    with refused("'mine'", kind, "cannot be simulated"):
        simulated(graph, Manual())


def test_a_machine_that_nobody_has_described_is_named() -> None:
    with refused("machine 'xenon' is unknown", "did you mean 'xeon'"):
        simulated(pipeline(), Manual(), "xenon")


def test_software_that_nobody_has_described_is_named() -> None:
    with refused("software 'streams' is unknown", "streams-4.2"):
        simulated(pipeline(), Manual(), software="streams")


@pytest.mark.parametrize(
    ("constants", "word"),
    [({"atomic.fense": 1.0}, "atomic.fense"), ({"atomic.fence": 1.0, "x": 2.0}, "'x'")],
)
def test_a_constant_that_the_machine_does_not_have_is_named(
    constants: dict[str, float], word: str
) -> None:
    with refused("constants", word, "no constant"):
        simulated(pipeline(), Manual(), constants=constants)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, True, "fast"])
def test_a_constant_is_a_number_above_0(value: object) -> None:
    with refused("atomic.fence must be a number above 0", "not"):
        simulated(pipeline(), Manual(), constants={"atomic.fence": value})


def annotated(threads: int | None) -> Graph:
    """A graph that asks for a pool by itself, of so many threads or of as many as there are
    CPUs.
    """
    graph = Graph("annotated", 8)
    token = IN_FORCE.set(Threading("dynamic", threads))
    work = graph.work("work", 1)
    IN_FORCE.reset(token)
    graph.connect(graph.source("source"), work)
    graph.connect(work, graph.sink("sink"))
    return graph


@pytest.mark.parametrize(("machine", "cpus"), [("local", 2), ("xeon:16", 16), ("power8", 184)])
def test_a_pool_that_nobody_said_the_size_of_has_the_described_machines_cpus(
    machine: str, cpus: int
) -> None:
    for engine in (
        simulated(annotated(None), Manual(), machine),
        simulated(pipeline(), Dynamic(), machine),
    ):
        assert engine.threads == 1 + cpus  # and the source's thread


def test_a_graph_that_asks_for_more_threads_than_the_machine_has_cpus_is_refused() -> None:
    assert simulated(annotated(12), Manual(), "cstream").threads == 13
    with refused("threads must be at most 12", "'cstream'", "not 13", "graph 'annotated'"):
        simulated(annotated(13), Manual(), "cstream")


@pytest.mark.parametrize(
    ("machine", "cpus"), [("local", 2), ("cstream", 12), ("xeon", 176), ("power8", 184)]
)
def test_a_pool_has_no_more_threads_than_the_machine_has_cpus(machine: str, cpus: int) -> None:
    assert simulated(pipeline(), Dynamic(cpus), machine).threads == cpus + 1
    with refused("threads must be at most", str(cpus), f"'{machine}'", str(cpus + 1)):
        simulated(pipeline(), Dynamic(cpus + 1), machine)


@pytest.mark.parametrize("level", [0, -1, 177, 10_000, 2.0, True, None])
def test_a_level_is_a_whole_number_that_the_machine_has_cpus_for(level: object) -> None:
    engine = simulated(pipeline(), Dynamic(2))
    engine.start()
    engine.set_threads(176)
    with refused("threads must be from 1 to 176", "not"):
        engine.set_threads(level)


def test_a_graph_without_scheduled_ports_has_no_level() -> None:
    engine = simulated(pipeline(), Dedicated())
    engine.start()
    with refused("set_threads", "no port is scheduled"):
        engine.set_threads(2)


@pytest.mark.parametrize("period", [-1.0, -1e-12, math.nan, math.inf, "long", None, True])
def test_a_period_is_a_number_of_seconds(period: object) -> None:
    engine = simulated(pipeline(), Manual())
    engine.start()
    with refused("period_s must be from 0 to 1,000,000 seconds", "not"):
        engine.sample(period)
    assert engine.sample(0.0).elapsed_s == 0.0


@pytest.mark.parametrize("events", [0, -5, 1.5, True, None])
def test_a_number_of_events_is_a_whole_one(events: object) -> None:
    engine = simulated(pipeline(), Manual())
    engine.start()
    with refused("events must be a whole number above 0", "not"):
        engine.sample_events(events)


def test_an_engine_starts_once_and_before_all_else() -> None:
    engine = simulated(pipeline(), Dynamic(1))
    with refused("sample was called before start"):
        engine.sample(0.1)
    with refused("set_threads was called before start"):
        engine.set_threads(1)
    engine.start()
    with refused("an engine runs once"):
        engine.start()


def test_an_engine_that_was_never_started_can_be_stopped_again_and_again() -> None:
    engine = simulated(pipeline(), Dynamic(1))
    totals = engine.stop(drain=True, timeout_s=1.0)
    assert totals is engine.stop(drain=False, timeout_s=1.0)
    assert totals.sent == 0 and totals.correct


def test_ports_that_do_not_exist_or_have_no_queue_are_named() -> None:
    graph = split_and_join()
    engine = simulated(graph, Dynamic(1))
    engine.start()
    scheduled = engine.queued()
    with refused("no input port is named", "nowhere"):
        engine.set_queued([PortId("nowhere", 0)], queued=False)
    with refused("set_queued", "split", "not scheduled"):
        engine.set_queued([graph.operators["split"].input(0)], queued=False)
    assert engine.queued() == scheduled


@pytest.mark.parametrize("active", [0, 5, -1, 1.0, True])
def test_active_ports_are_those_that_the_operator_has(active: object) -> None:
    engine = simulated(GRAPHS["load balance"](), Manual())
    engine.start()
    with refused("set_active_ports", "from 1 to 4", "not"):
        engine.set_active_ports("balance", active)
    with refused("set_active_ports", "'sink'"):
        engine.set_active_ports("sink", 1)


@pytest.mark.parametrize("events", [1, 1000, 54_321])
def test_a_run_fails_when_it_has_taken_all_its_events_and_says_so(events: int) -> None:
    engine = bounded(events)
    engine.start()
    with pytest.raises(
        RunFailed, match=rf"reached its bound of {events} events after .* virtual s"
    ):
        for _ in itertools.count():
            engine.sample(1e-4)
    assert (
        events <= engine.simulation["events"] < events + 100
    )  # a turn of a thread may execute several batches
    assert str(events) in engine.simulation["bound"]
    totals = engine.stop(drain=False, timeout_s=1.0)
    assert totals.correct and not totals.drained


def test_a_drain_that_takes_all_events_is_cut_and_everything_is_accounted_for() -> None:
    engine = bounded(5000)
    engine.start()
    engine.sample_events(4900)
    totals = engine.stop(drain=True, timeout_s=1.0)
    assert totals.correct and not totals.drained and totals.in_flight > 0
    assert "reached its bound of 5000 events" in engine.simulation["bound"]
    assert engine.stop(drain=True, timeout_s=1.0) is totals


def test_a_run_within_its_bound_says_nothing_of_it() -> None:
    engine = bounded(10_000)
    engine.start()
    engine.sample_events(5000)
    assert engine.simulation["bound"] is None
    assert 5000 <= engine.simulation["events"] < 5100


def test_a_machine_that_is_simulated_is_never_the_one_at_hand() -> None:
    assert isinstance(open_engine(pipeline(), Manual(), "xeon"), SimulatedEngine)
    assert isinstance(open_engine(pipeline(), Manual(), "local", simulated=True), SimulatedEngine)
    assert not isinstance(open_engine(pipeline(), Manual(), "local"), SimulatedEngine)

"""Tests of what the constants of a runtime's profile say is paid: by those who do it, as often as
they do it.
"""

from __future__ import annotations

import pytest

from harness.graph import Graph
from harness.machines.machine import load_machine
from harness.machines.software import load_software
from harness.models import Dedicated, Dynamic, Manual, Model
from tests.runtime.shapes import diamond, pipeline
from tests.simulator.runs import simulated
from topologies import build

DEAR = 2000.0  # ns: more than anything else that these tuples cost


def time_of_a_tuple(
    graph: Graph, model: Model, software: str, sample_s: float = 5e-3, **constants: float
) -> float:
    """Virtual time between two tuples at the sinks [ns], with constants of the software
    replaced.
    """
    replaced = {f"cost.{name}": value for name, value in constants.items()}
    engine = simulated(graph, model, software=software, constants=replaced)
    engine.start()
    engine.sample(1e-3)
    sample = engine.sample(sample_s)
    return 1e9 * sample.elapsed_s / sample.sink_tuples


def two_ways_to_one_sink() -> Graph:
    """Two sources, each with work that is dear beside an entry into the sink, so that they seldom
    meet there.
    """
    graph = Graph("two ways", 64)
    sink = graph.sink("sink")
    for name in "ab":
        work = graph.work(f"work_{name}", 10_000)
        graph.connect(graph.source(f"source_{name}"), work)
        graph.connect(work, sink)
    return graph


@pytest.mark.parametrize("software", ["millrace", "streams-4.2"])
def test_an_entry_into_an_operator_that_two_threads_call_costs_its_lock_once(software: str) -> None:
    machine = load_machine("xeon")
    scale = load_software(software).scale(machine.table("core.clock_ghz")[1], machine["core.ipc"])
    cheap, dear = (
        time_of_a_tuple(two_ways_to_one_sink(), Manual(), software, 0.2, lock=lock)
        for lock in (10.0, 1010.0)
    )
    assert 2 * (dear - cheap) == pytest.approx(
        1000.0 * scale, rel=0.25
    )  # two threads, each at half of this rate


def test_a_step_around_an_atomic_operation_is_as_slow_as_its_core() -> None:
    """Each of the two threads has a socket to itself, and its clock is half of the highest one."""
    xeon = load_machine("xeon")
    half = {
        "core.clock_ghz.1": max(xeon.table("core.clock_ghz").values()),
        "core.clock_ghz.2": 2 * xeon.table("core.clock_ghz")[1],
    }

    def of_a_lock(**constants: float) -> float:
        times = []
        for lock in (100.0, 1100.0):
            engine = simulated(
                two_ways_to_one_sink(), Manual(), constants={"cost.lock": lock, **constants}
            )
            engine.start()
            engine.sample(1e-3)
            sample = engine.sample(0.2)
            times.append(sample.elapsed_s / sample.sink_tuples)
        return times[1] - times[0]

    assert half["core.clock_ghz.2"] == 2 * half["core.clock_ghz.1"]
    scaled = of_a_lock(**half) / of_a_lock()
    assert scaled == pytest.approx(
        1.0, rel=0.1
    )  # costs are scaled to the highest clock, and from there to a core's


@pytest.mark.parametrize("software", ["millrace", "streams-4.2"])
def test_only_those_who_lock_pay_for_locks_and_only_those_who_drain_for_flags(
    software: str,
) -> None:
    alone, meeting = (pipeline, Dynamic(2)), (diamond, Manual())
    for constant, payer, other in (("lock", meeting, alone), ("flag", alone, meeting)):
        (graph, model), (other_graph, other_model) = payer, other
        assert time_of_a_tuple(
            graph(), model, software, **{constant: DEAR}
        ) > 1.1 * time_of_a_tuple(graph(), model, software)
        as_before = time_of_a_tuple(other_graph(), other_model, software)
        assert (
            time_of_a_tuple(other_graph(), other_model, software, **{constant: DEAR}) == as_before
        )


@pytest.mark.parametrize("software", ["millrace", "streams-4.2"])
def test_queues_between_two_threads_of_their_own_have_no_flags(software: str) -> None:
    """P17 s2.2 and s5.1: dedicated's are free of synchronization."""
    as_before = time_of_a_tuple(pipeline(), Dedicated(), software)
    assert time_of_a_tuple(pipeline(), Dedicated(), software, flag=DEAR) == as_before


def through(kind: str, **how: float) -> Graph:
    """A source, a split or filter, and sinks behind it, all called."""
    graph = Graph("through", 64)
    operator = (
        graph.split("split", 4, int(how["keys"]))
        if kind == "split"
        else graph.filter("filter", how["share"])
    )
    graph.connect(graph.source("source"), operator)
    for port in range(4) if kind == "split" else [0]:
        graph.connect(
            operator.output(port) if kind == "split" else operator, graph.sink(f"sink{port}")
        )
    return graph


@pytest.mark.parametrize(
    ("graph", "constant", "times"),
    [
        (through("split", keys=0), "way_tuple", 1.0),
        (through("split", keys=0), "key_tuple", 0.0),
        (through("split", keys=100), "key_tuple", 1.0),
        (through("split", keys=100), "way_tuple", 0.0),
        (through("filter", share=1.0), "filter_run", 1 / 32),
        (through("filter", share=0.5), "filter_tuple", 2.0),  # of a tuple at the sink
        (through("filter", share=0.5), "filter_run", (0.5 + 31 * 0.25) / 16),
        (through("filter", share=0.5), "filter_cut", 31 * 0.25 / 16),
    ],
)
def test_who_decides_by_the_tuple_pays_by_the_tuple_and_a_filter_by_the_run(
    graph: Graph, constant: str, times: float
) -> None:
    machine = load_machine("xeon")
    scale = load_software("millrace").scale(machine.table("core.clock_ghz")[1], machine["core.ipc"])
    cheap, dear = (
        time_of_a_tuple(graph, Manual(), "millrace", **{constant: value}) for value in (1.0, 1001.0)
    )
    assert (dear - cheap) / (1000.0 * scale) == pytest.approx(times, rel=0.02, abs=1e-9)


def drained_at_a_time(software: str) -> float:
    """Tuples that a scheduler thread takes from a port before it gives that back, where sources
    fill queues faster.
    """
    graph, _ = build("pipeline", {"operators": 2, "cost": 1000}, 0)
    engine = simulated(graph, Dynamic(1), software=software)
    engine.start()
    engine.sample(20e-3)
    totals = engine.stop(drain=False, timeout_s=0.0)
    return sum(totals.processed) / totals.scheduling["drains"]


def test_a_port_that_never_runs_empty_is_given_back_after_a_queue_of_tuples_or_as_p17_prints_it_never() -> (
    None
):
    assert (
        drained_at_a_time("streams-4.2") < 3 * 1002
    )  # of each port; the source's thread drains full queues, too
    assert drained_at_a_time("p17-printed") > 10 * 1002


def chain_of(operators: int, **work: object) -> Graph:
    graph = Graph("chain", 64)
    last = graph.source("source")
    for number in range(operators):
        operator = graph.work(f"work{number}", **work)
        graph.connect(last, operator)
        last = operator
    graph.connect(last, graph.sink("sink"))
    return graph


def test_a_tuple_with_a_cost_of_its_own_begins_before_its_neighbour_is_done_and_one_of_a_chain_does_not() -> (
    None
):
    machine, operators = load_machine("xeon"), 10
    chained, bursts = (
        time_of_a_tuple(chain_of(operators, **how), Manual(), "millrace")
        for how in ({"cost": 200}, {"costs": [(7, 200)]})
    )
    ahead = round(load_software("millrace")["cost.flop_ahead"])
    flop_ns = machine["core.fmul_latency_cycles"] / max(machine.table("core.clock_ghz").values())
    assert (chained - bursts) / operators == pytest.approx(ahead * flop_ns, rel=0.02)

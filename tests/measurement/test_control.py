"""The loop between samples and laws, on samples made by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.engine import Sample
from harness.graph import Graph, PortId
from harness.graph.kinds import ELASTIC_LOAD_BALANCE
from harness.measurement.control import (
    SETTLED_PERIODS,
    ControlFailed,
    Controller,
    mean_latency_s,
    pool_time_s,
)
from harness.measurement.laws import pool_law
from harness.models import Dynamic, Model, Multilevel
from harness.models.layout import layout_of

ELASTIC = Dynamic(elastic=True, maximum=8)


def controller_of(engine: Any, graph: Graph, model: Model, period_s: float) -> Controller:
    """The laws of a graph under a model."""
    return Controller(engine, graph, pool_law(layout_of(graph, model)), period_s)


class Doors:
    """Takes note of what an engine is asked for."""

    queue_capacity = 0
    batch = 32

    def __init__(self) -> None:
        self.levels: list[int] = []
        self.ports: list[tuple[str, int]] = []
        self.passed: tuple[float, int] = (0.0, 0)

    def since_sample(self) -> tuple[float, int]:
        """See `Engine`."""
        return self.passed

    def set_threads(self, level: int) -> None:
        """See `Engine`."""
        self.levels.append(level)

    def set_queued(self, ports: list[PortId], queued: bool) -> None:
        """See `Engine`."""

    def set_active_ports(self, operator: str, ports: int) -> None:
        """See `Engine`."""
        self.ports.append((operator, ports))


@pytest.fixture
def graph() -> Graph:
    graph = Graph("chain", 8)
    graph.connect(graph.source("source"), graph.work("work"))
    graph.connect(graph.operators["work"], graph.sink("sink"))
    return graph


@pytest.fixture
def moment(sample):
    """`moment(time_s, …)`: a sample of 0.25 s, 300 tuples submitted, each law at level 1 as asked."""

    def make(
        time_s: float,
        requested: int = 1,
        active: int | None = None,
        elapsed_s: float = 0.25,
        **changes: Any,
    ) -> Sample:
        level = {
            "threads_requested": requested,
            "threads_active": requested if active is None else active,
        }
        return replace(sample(elapsed_s, 100, 100, time_s), **level | changes)

    return make


def test_a_law_sees_each_period_by_its_true_length_and_its_decision_is_done(graph, moment, script):
    made, doors = script([3, 3, 2]), Doors()
    controller = controller_of(doors, graph, ELASTIC, 0.25)
    steps = [
        controller.see(moment(0.25)),
        controller.see(moment(0.55, 3, elapsed_s=0.3)),
        controller.see(moment(0.8, 3)),
    ]
    assert doors.levels == [3, 2], "nothing is to be done where the level stays"
    assert [(seen.time_s, seen.elapsed_s, seen.threads) for seen in made[0].readings] == [
        (0.25, 0.25, 1),
        (0.55, 0.3, 3),
        (0.8, 0.25, 3),
    ]
    assert [seen.throughput for seen in made[0].readings] == [1200.0, 1000.0, 1200.0]
    assert [(step.state, step.reason) for step in steps] == [
        ("playing", f"because of {level}") for level in (1, 3, 3)
    ]
    assert made[0].asked == ["millrace"] and made[0].bounds.maximum == 8


def test_what_passes_while_a_law_thinks_is_not_in_its_next_period(graph, moment, script):
    """It thought for 0.1 s of its own at 500 tuples/s; 250 of the next sample's tuples came after
    that.
    """
    made, doors = script([3, 3, 3]), Doors()
    controller = controller_of(doors, graph, ELASTIC, 0.25)
    doors.passed = (0.1, 50)
    first = controller.see(moment(0.25))
    doors.passed = (0.0, 0)
    second = controller.see(moment(0.6, 3, elapsed_s=0.35, submitted_tuples=300))
    third = controller.see(moment(0.85, 3))
    assert [(seen.elapsed_s, seen.throughput) for seen in made[0].readings] == [
        (0.25, 1200.0),
        (pytest.approx(0.25), pytest.approx(1000.0)),
        (0.25, 1200.0),
    ]
    assert [step.throughput for step in (first, second, third)] == [
        seen.throughput for seen in made[0].readings
    ]


def test_a_run_that_ends_while_a_law_thinks_is_no_period(graph, moment, script):
    made, doors = script([3]), Doors()
    controller = controller_of(doors, graph, ELASTIC, 0.25)
    doors.passed = (0.2, 100)
    controller.see(moment(0.25))
    assert controller.see(moment(0.45, 3, elapsed_s=0.2, submitted_tuples=90)).state is None
    assert len(made[0].readings) == 1


def test_short_samples_are_put_together_to_a_period(graph, moment, script):
    made, doors = script([2, 4]), Doors()
    controller = controller_of(doors, graph, ELASTIC, 1.0)
    controller.sample_s = 0.25
    shares = [(0.2, 0.1, 0.5), (0.4, 0.1, 0.7), (0.6, 0.1, 0.9), (0.8, 0.5, None)]
    samples = [
        moment(
            0.25 * n,
            submitted_tuples=100 * n,
            system_cpu=system,
            others_cpu=others,
            utilisation=use,
        )
        for n, (system, others, use) in enumerate(shares, start=1)
    ]
    steps = [controller.see(each) for each in samples]
    (reading,) = made[0].readings
    assert (reading.elapsed_s, reading.throughput) == (1.0, 1000.0)
    assert (reading.system_cpu, reading.others_cpu) == (pytest.approx(0.5), pytest.approx(0.2))
    assert reading.utilisation is None, "not known of a part"
    assert [step.state for step in steps] == [None, None, None, "playing"]
    assert [controller.step_after(each) for each in samples] == steps
    assert doors.levels == [2]


def test_what_arrives_at_the_sinks_is_that_of_the_whole_period(graph, moment, script):
    made, doors = script([2, 2]), Doors()
    controller = controller_of(doors, graph, ELASTIC, 0.5)
    controller.sample_s = 0.25
    counts = [(0, 0), (400, 100), (0, 0), (0, 7)]
    samples = [
        moment(0.25 * n, submitted_tuples=sent, sink_tuples=came)
        for n, (sent, came) in enumerate(counts, start=1)
    ]
    steps = [controller.see(each) for each in samples]
    assert [reading.arrived for reading in made[0].readings] == [0.25, None]
    assert [step.arrived for step in steps] == [None, 0.25, None, None]


def test_a_period_in_which_a_thread_did_not_suspend_is_put_off_and_the_law_never_sees_it(
    graph, moment, script
):
    made, doors = script([2, 3]), Doors()
    controller = controller_of(doors, graph, ELASTIC, 0.25)
    controller.see(moment(0.25))
    late = controller.see(moment(0.5, requested=2, active=4))
    assert (late.state, late.reason) == ("waiting", "put off: 2 thread(s) would not suspend")
    controller.see(moment(0.75, requested=2, active=2))
    assert [reading.time_s for reading in made[0].readings] == [0.25, 0.75]
    assert made[0].readings[1].elapsed_s == 0.25, "the period that was put off is forgotten"
    assert doors.levels == [2, 3]


def test_one_thread_that_an_operator_keeps_from_the_first_period_on_puts_that_off(
    graph, moment, script
):
    made = script()
    controller = controller_of(Doors(), graph, ELASTIC, 0.25)
    first = controller.see(moment(0.25, requested=2, active=2, threads_unsuspendable=1))
    assert first.reason == "put off: 1 thread(s) would not suspend"
    controller.see(moment(0.5, requested=2, active=2, threads_unsuspendable=1))
    assert len(made[0].readings) == 1


def test_a_thread_that_an_operator_keeps_for_good_holds_the_law_up_for_a_while_only(
    graph, moment, script
):
    made = script()
    controller = controller_of(Doors(), graph, ELASTIC, 0.25)
    reasons = [
        controller.see(
            moment(0.25 * n, requested=2, active=active, threads_unsuspendable=stuck)
        ).reason
        for n, (active, stuck) in enumerate(
            [(4, 0), (4, 2), (4, 2), (4, 2), (4, 3), (4, 3), (2, 0)], start=1
        )
    ]
    put_off = ["put off: 2 thread(s) would not suspend", "put off: 3 thread(s) would not suspend"]
    assert [reason if reason in put_off else None for reason in reasons] == [
        *put_off[:1] * 2,
        None,
        None,
        put_off[1],
        None,
        None,
    ]
    assert len(made[0].readings) == 4


def test_a_thread_that_has_not_woken_puts_a_step_off(graph, moment, script):
    script()
    controller = controller_of(Doors(), graph, ELASTIC, 0.25)
    assert (
        controller.see(moment(0.25, requested=5, active=2)).reason
        == "put off: 3 thread(s) did not wake"
    )
    assert controller.see(moment(0.5, requested=5, active=5)).reason == "because of 1"


@pytest.mark.parametrize(
    ("decided", "told"),
    [
        (ZeroDivisionError("by zero"), "law scripted: ZeroDivisionError: by zero"),
        (9, "law scripted: level must be from 1 to 8, not 9"),
        (0, "law scripted: level must be from 1 to 8, not 0"),
    ],
)
def test_a_law_that_fails_is_told_by_name_and_nothing_is_done(graph, moment, script, decided, told):
    script([decided])
    doors = Doors()
    controller = controller_of(doors, graph, ELASTIC, 0.25)
    with pytest.raises(ControlFailed) as caught:
        controller.see(moment(0.25))
    assert str(caught.value) == told
    assert doors.levels == []


def test_a_clock_that_stands_still_is_a_failure_of_the_law(graph, moment, script):
    script()
    controller = controller_of(Doors(), graph, ELASTIC, 0.25)
    controller.see(moment(0.25))
    with pytest.raises(ControlFailed, match="law scripted: time_s must grow"):
        controller.see(moment(0.25))


def test_levels_that_stay_are_counted(graph, moment, script):
    script([2, 2, 2, 3, 3])
    controller = controller_of(Doors(), graph, ELASTIC, 0.25)
    kept = []
    for n, level in enumerate([1, 2, 2, 2, 3, 3], start=1):
        controller.see(moment(0.25 * n, level))
        kept.append(controller.kept)
    assert kept == [0, 1, 2, 0, 1, 2]


def test_a_law_that_says_that_it_still_learns_has_not_settled(graph, moment, script):
    made = script()
    controller = controller_of(Doors(), graph, ELASTIC, 0.25)
    (law,) = made
    for n in range(1, 12):
        law.state = "learning" if n % 2 else "searching"
        controller.see(moment(0.25 * n))
        assert not controller.settled
    law.state = "settled"
    controller.see(moment(3.0))
    assert controller.settled and controller.kept == 12


@pytest.fixture
def after(graph, moment, script):
    """`after(states)`: periods kept, and whether the law has settled, after a period in each of its
    states.
    """

    def see(states: list[str]) -> list[tuple[int, bool]]:
        made = script()
        controller = controller_of(Doors(), graph, ELASTIC, 0.25)
        found = []
        for n, state in enumerate(states, start=1):
            made[-1].state = state
            controller.see(moment(0.25 * n))
            found.append((controller.kept, controller.settled))
        return found

    return see


@pytest.mark.parametrize("state", ["noise", "waiting", "idle", "crowded"])
def test_periods_that_say_nothing_bring_no_law_nearer_to_being_settled(after, state):
    assert after(["settled"] * 7 + [state] * 5 + ["settled"])[6:] == [(7, False)] * 6 + [(8, True)]


@pytest.mark.parametrize("state", ["noise", "waiting"])
def test_a_law_that_may_be_about_to_begin_anew_is_not_settled(after, state):
    assert after(["settled"] * 8 + [state, "settled"])[7:] == [(8, True), (8, False), (9, True)]


def test_a_law_that_begins_anew_has_to_keep_its_level_anew(after):
    assert after(["settled"] * 8 + ["load changed"] + ["settled"] * 8)[7:] == [
        (8, True),
        (0, False),
        *((kept, kept == 8) for kept in range(1, 9)),
    ]


def test_a_law_that_is_frozen_at_its_maximum_is_not_settled_before_it_begins_anew(graph, moment):
    """`streams` believes its start to bring nothing, takes that for noise, and then for a change in
    load.
    """
    doors, states, settled = Doors(), [], []
    controller = controller_of(doors, graph, Multilevel(law="streams", minimum=2, maximum=2), 0.25)
    for n in range(1, 40):
        states.append(controller.see(moment(0.25 * n, 2)).state)
        settled.append(controller.settled)
    begun_anew = states.index("load changed")
    assert not any(settled[: begun_anew + SETTLED_PERIODS]) and settled[-1]


def test_where_nothing_is_elastic_there_is_nothing_to_control(graph, moment):
    controller = controller_of(Doors(), graph, Dynamic(2), 1.0)
    assert not controller.controls and controller.terms is None
    assert controller.see(moment(0.25)) == controller.step_after(moment(0.5))


def test_a_record_can_say_what_the_law_was_given(graph, script):
    script()
    model = Dynamic(
        threads=3,
        elastic=True,
        law="pldi17",
        law_settings=(("gain", "2.5"), ("bold", "yes")),
        minimum=2,
        maximum=6,
    )
    terms = controller_of(Doors(), graph, model, 0.5).terms
    assert terms == {
        "law": "scripted", "settings": {"gain": 2.5, "bold": True}, "period_s": 0.5, "minimum": 2, "maximum": 6,
        "start": 3, "places": None, "replicable": None,
    }  # fmt: skip


TRACES = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 10**9)), min_size=1, max_size=60)


@given(trace=TRACES, parts=st.integers(1, 5))
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=50,
)
def test_no_tuple_and_no_second_is_seen_twice_or_not_at_all(graph, moment, script, trace, parts):
    made = script()
    controller = controller_of(Doors(), graph, ELASTIC, 0.01 * 20 * parts)
    controller.sample_s = 0.2
    time_s = seen_s = seen = 0.0
    for hundredths, tuples in trace:
        time_s += hundredths / 100
        step = controller.see(moment(time_s, elapsed_s=hundredths / 100, submitted_tuples=tuples))
        if step.state is not None:
            reading = made[-1].readings[-1]
            seen_s += reading.elapsed_s
            seen += reading.throughput * reading.elapsed_s
            assert seen_s == pytest.approx(time_s)
    all_of_it = sum(tuples for _, tuples in trace)
    left = all_of_it - seen
    assert left >= -1e-6 * all_of_it
    assert time_s - seen_s < controller.period_s


# -- operators that balance load -------------------------------------------------------------------


def balancing(name: str = "spread", **changes: Any) -> SimpleNamespace:
    """An operator as the graph has it."""
    usual = {
        "name": name, "kind": ELASTIC_LOAD_BALANCE, "inputs": 1, "outputs": 5, "threading": None, "elastic": True,
        "initial_active_ports": 1, "congestion_tolerance": 0.5, "throughput_tolerance": 0.05, "rapid_scaling": False,
        "measure_period": 0.5,
    }  # fmt: skip
    return SimpleNamespace(is_source=False, **usual | changes)


def with_balancers(sample: Sample, **balances: tuple[int, int, float]) -> Sample:
    """The sample, with active ports, tuples submitted and congestion of each balancer."""
    made = {
        name: SimpleNamespace(active=active, ports=5, submitted=submitted, congestion=congestion)
        for name, (active, submitted, congestion) in balances.items()
    }
    return replace(sample, balancers=made)


@pytest.fixture
def balancers(monkeypatch) -> Any:
    """`balancers(operator, …)`: a graph of these; their settings are given to the scripted law as
    they are.
    """
    monkeypatch.setattr(
        "harness.measurement.control.balancer_law", lambda operator: law_of(operator)
    )

    def law_of(operator: SimpleNamespace) -> Any:
        from harness import elasticity
        from harness.elasticity.law import Bounds

        return elasticity.make_law(
            operator.kind.name, Bounds(1, operator.outputs, operator.initial_active_ports)
        )

    return lambda *operators: SimpleNamespace(
        operators={each.name: each for each in operators}, threaded={}, name="balance"
    )


def test_each_balancer_has_a_law_of_its_own_with_its_own_period(balancers, moment, script):
    made, doors = script([2, 2, 3]), Doors()
    graph = balancers(
        balancing("a"),
        balancing("b", measure_period=1.0, initial_active_ports=2),
        balancing("c", elastic=False),
    )
    controller = Controller(doors, graph, None, 1.0)
    assert controller.pool is None and controller.controls
    assert (controller.sample_s, [law.asked for law in made]) == (
        0.5,
        [["elastic_load_balance"]] * 2,
    )
    assert [law.bounds.start for law in made] == [1, 2]
    both = [(1, 100, 0.9), (2, 300, 0.2)]
    steps = []
    for n in range(1, 5):
        seen = with_balancers(
            moment(0.5 * n, 0, elapsed_s=0.5), a=both[0], b=both[1], c=(5, 1, 0.1)
        )
        steps.append(controller.see(seen))
    assert [sorted(step.balancers) for step in steps] == [["a"], ["a", "b"], ["a"], ["a", "b"]]
    assert [reading.throughput for reading in made[0].readings] == [200.0] * 4
    assert [(reading.throughput, reading.congestion) for reading in made[1].readings] == [
        (600.0, 0.2)
    ] * 2
    assert doors.ports == [("a", 2), ("a", 2), ("a", 3), ("a", 3)] and doors.levels == []
    assert steps[0].state is None, "there is no pool"


def test_a_balancer_and_a_pool_are_controlled_side_by_side(balancers, graph, moment, script):
    script([2])
    law = pool_law(layout_of(graph, ELASTIC))
    graph.operators["spread"] = balancing(measure_period=0.25)
    controller = Controller(Doors(), graph, law, 1.0)
    assert controller.sample_s == 0.25
    steps = [
        controller.see(with_balancers(moment(0.25 * n), spread=(1, 9, 0.5))) for n in range(1, 5)
    ]
    assert [step.state for step in steps] == [None, None, None, "playing"]
    assert all("spread" in step.balancers for step in steps)


NEEDS_ALL = frozenset(("useful_s", "tuples", "full", "latency_s"))


def test_operators_and_ports_are_told_to_a_law_that_needs_them_summed_over_its_period(
    graph, moment, script, runtime
):
    made = script([1])
    controller = controller_of(Doors(), graph, ELASTIC, 0.75)
    made[0].NEEDS = NEEDS_ALL
    first = {
        "useful_s": (0.1, 0.2, 0.0),
        "processed": (10, 10, 9),
        "queue_full": (1.0, 0.0),
        "replicas": (1, 2, 1),
    }
    second = {
        "useful_s": (0.1, 0.4, 0.1),
        "processed": (30, 20, 20),
        "queue_full": (0.1, 0.2),
        "replicas": (1, 3, 1),
    }
    controller.see(moment(0.25, **first, latency_counts=(0, 4, 0, 0)))
    controller.see(moment(0.75, **second, elapsed_s=0.5, latency_counts=(0, 0, 4, 0)))
    (reading,) = made[0].readings
    assert reading.useful_s == pytest.approx((0.2, 0.6, 0.1))
    assert reading.tuples == (40, 30, 29)
    assert reading.full == pytest.approx((0.4, 0.4 / 3))
    assert reading.replicas == (1, 3, 1), "those at the end"
    assert reading.latency_s == pytest.approx((4 * 55e-9 + 4 * 550e-9) / 8), (
        "the middles of the buckets"
    )


def test_a_law_that_needs_nothing_of_operators_is_not_told(graph, moment, script):
    made = script([1])
    controller_of(Doors(), graph, ELASTIC, 0.25).see(
        moment(0.25, useful_s=(0.1, 0.2, 0.0), processed=(1, 1, 1))
    )
    assert (
        made[0].readings[0].useful_s,
        made[0].readings[0].tuples,
        made[0].readings[0].latency_s,
    ) == ((), (), None)


def test_without_tuples_at_the_sinks_there_is_no_latency(runtime):
    assert mean_latency_s((0, 0, 0)) is None


def test_without_useful_time_a_profile_and_the_threads_utilisation_tell_what_the_pool_did(moment):
    sample = moment(1.0, 4, elapsed_s=0.5, operator_cost=(0.2, 0.6, 0.2), utilisation=0.5)
    assert pool_time_s(sample, [0]) == pytest.approx([0.0, 0.75, 0.25]), (
        "four threads, busy for half of half a second"
    )
    assert pool_time_s(moment(1.0, 4, utilisation=0.5), [0]) == ()
    assert pool_time_s(moment(1.0, 4, operator_cost=(0.2, 0.6, 0.2)), [0]) == ()


def test_a_step_keeps_what_its_law_needs(graph, moment, script, runtime):
    made = script([1])
    controller = controller_of(Doors(), graph, ELASTIC, 0.25)
    made[0].NEEDS = frozenset(("latency_s", "target", "layout"))
    step = controller.see(moment(0.25, latency_counts=(0, 4, 0, 0)))
    assert step.read == {"latency_s": pytest.approx(55e-9), "target": None}


def test_a_step_keeps_the_shares_of_a_period_of_several_samples(graph, moment, script):
    """Each sample has the shares of its own stretch alone, so a replay could not show what the law
    saw.
    """
    made = script([1, 1])
    controller = controller_of(Doors(), graph, ELASTIC, 1.0)
    controller.sample_s = 0.5
    shares = [(0.1, 0.5), (0.5, 0.5), (0.25, None), (0.25, None)]
    samples = [
        moment(n, elapsed_s=0.5, others_cpu=o, system_cpu=s)
        for n, (o, s) in enumerate(shares, start=1)
    ]
    steps = [controller.see(each) for each in samples]
    assert steps[1].read == {"others_cpu": pytest.approx(0.3)}
    assert made[0].readings[0].others_cpu == steps[1].read["others_cpu"]
    assert steps[3].read == {}

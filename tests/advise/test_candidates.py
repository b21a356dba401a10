"""Bounds rank the arms; each model's best is among those that are tried."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.advise.candidates import candidates, choose, levels
from harness.advise.costs import GraphCosts, costs_of
from harness.graph import Graph
from harness.machines.place import find_place
from harness.models import Dedicated, Dynamic, Manual
from tests.advise.made_costs import HOPS, chain, made
from tests.explain.known import explained, pipeline

WORK = (100, 400, 200, 100)


def costs_named_as(graph, work):
    """Costs of a pipeline, with the names of the graph."""
    made = chain(*work, 5)
    renamed = dict(zip(made.operators, graph.operators, strict=True))
    operators = {
        renamed[name]: replace(
            each, name=renamed[name], behind=tuple(renamed[before] for before in each.behind)
        )
        for name, each in made.operators.items()
    }
    return replace(made, operators=operators)


def arms(place="cstream"):
    graph = pipeline([1] * len(WORK))
    return candidates(graph, costs_named_as(graph, WORK), find_place(place))


def test_the_bound_of_the_manual_model_is_all_work_in_a_row():
    manual = next(each for each in arms() if each.arm.model == Manual())
    assert manual.bound_per_s == pytest.approx(1e9 / (1 + sum(WORK) + 5))


def test_the_bound_of_a_queue_everywhere_is_the_most_expensive_operator():
    dedicated = next(each for each in arms() if isinstance(each.arm.model, Dedicated))
    assert dedicated.bound_per_s == pytest.approx(1e9 / (400 + HOPS["dedicated"]))


def test_replicas_raise_the_bound():
    best = max(arms(), key=lambda each: each.bound_per_s)
    assert best.arm.model.name == "coroutine" and best.arm.model.replicas > 1


def arms_in_python(*names, place="cstream"):
    """Arms of the pipeline whose operators of these names hold the interpreter's lock."""
    graph = pipeline([1] * len(WORK))
    costs = costs_named_as(graph, WORK)
    operators = {
        name: replace(each, interpreter_ns=each.tuple_ns) if name in names else each
        for name, each in costs.operators.items()
    }
    return candidates(graph, replace(costs, operators=operators), find_place(place))


def test_operators_in_python_are_bound_together():
    found = arms_in_python("w1", "w2")
    assert max(each.bound_per_s for each in found) == pytest.approx(1e9 / (400 + 200))


def test_no_replicas_are_offered_that_would_wait_for_the_interpreters_lock():
    found = arms_in_python("w0", "w1", "w2", "w3")
    assert {getattr(each.arm.model, "replicas", 1) for each in found} == {1}


def test_replicas_of_compiled_operators_are_offered_beside_python():
    found = arms_in_python("w0")
    best = max(found, key=lambda each: each.bound_per_s)
    assert best.arm.model.replicas > 1
    assert best.bound_per_s <= 1e9 / (WORK[0] + HOPS["coroutine"])


def test_a_threaded_port_raises_the_bound_of_the_manual_model():
    graph = pipeline([1] * len(WORK))
    graph.threaded_port(graph.operators["w1"])
    found = candidates(graph, costs_named_as(graph, WORK), find_place("cstream"))
    manual = next(each for each in found if each.arm.model == Manual())
    assert manual.bound_per_s == pytest.approx(1e9 / (sum(WORK[1:]) + 5))


def test_several_threads_may_be_in_an_operator_that_locks_its_own_state():
    graph = pipeline([1] * len(WORK))
    costs = costs_named_as(graph, WORK)
    shared = replace(costs.operators["w1"], most_threads=2)
    costs = replace(costs, operators={**costs.operators, "w1": shared})
    found = candidates(graph, costs, find_place("cstream"))
    dedicated = next(each for each in found if isinstance(each.arm.model, Dedicated))
    assert dedicated.bound_per_s == pytest.approx(1e9 / (WORK[2] + HOPS["dedicated"]))
    manual = next(each for each in found if each.arm.model == Manual())
    assert manual.bound_per_s == pytest.approx(1e9 / (1 + sum(WORK) + 5))


def paced_arms(rate):
    """Arms of the pipeline whose source has a rate."""
    graph = pipeline([1] * len(WORK), rate=rate)
    return candidates(graph, costs_named_as(graph, WORK), find_place("cstream"))


def test_of_arms_that_can_do_twice_the_rate_that_with_the_fewest_threads_is_first():
    assert paced_arms(1e5)[0].arm.model == Manual()
    first, *others = paced_arms(1e6)
    assert first.bound_per_s >= 0.95 * 2e6
    assert first.arm.model.batch is None
    able = [each for each in others if each.bound_per_s >= 2e6]
    assert all((first.arm.threads or 0) <= (each.arm.threads or 0) for each in able)


def test_arms_that_move_one_tuple_at_a_time_are_tried_for_latency_alone():
    def batches(found):
        return {each.arm.model.batch for each in found}

    assert batches(arms()) == {None}
    assert batches(paced_arms(1e6)) == {None, 1}


FAST, SLOW = 100.0, 2000.0  # of an operator [ns]
OF_FAST, OF_SLOW = 8, 1  # operators


def arms_of_two_parts(*, share_of_fast=0.5, fast_rate=None, slow_rate=None):
    """Arms of two pipelines side by side, of which the first one sent so much of all tuples."""
    graph, operators = Graph("two parts"), {}
    for part, ns, count, rate, share in (
        ("fast", FAST, OF_FAST, fast_rate, share_of_fast),
        ("slow", SLOW, OF_SLOW, slow_rate, 1.0 - share_of_fast),
    ):
        flow = [graph.source(part, rate=rate)]
        flow += [graph.work(f"{part}{place}", 1) for place in range(count)]
        graph.chain(*flow)
        names = [each.name for each in flow]
        costs = made(
            **{
                name: (ns if before else 1.0, before)
                for name, before in zip(names, [(), *((name,) for name in names)], strict=False)
            }
        )
        operators |= {name: replace(each, share=share) for name, each in costs.operators.items()}
    return candidates(graph, GraphCosts(operators, HOPS), find_place("cstream"))


def bound_of(found, model):
    return next(each.bound_per_s for each in found if each.arm.model == model)


@pytest.mark.parametrize("share_of_fast", [0.1, 0.5, 0.99])
def test_the_bound_of_parts_that_no_stream_connects_is_the_sum_of_their_bounds(share_of_fast):
    found = arms_of_two_parts(share_of_fast=share_of_fast)
    both = 1e9 / (1 + OF_FAST * FAST) + 1e9 / (1 + OF_SLOW * SLOW)
    assert bound_of(found, Manual()) == pytest.approx(both)
    hop_ns = HOPS["dedicated"]
    assert bound_of(found, Dedicated()) == pytest.approx(
        1e9 / (FAST + hop_ns) + 1e9 / (SLOW + hop_ns)
    )


def test_parts_share_the_threads_of_a_pool():
    hop_ns = HOPS["dynamic"]
    both = 1e9 / (FAST + hop_ns) + 1e9 / (SLOW + hop_ns)
    found = arms_of_two_parts()
    assert bound_of(found, Dynamic(12)) == pytest.approx(both)
    assert bound_of(found, Dynamic(8)) == pytest.approx(both * 8 / (OF_FAST + OF_SLOW))


def test_a_slow_part_does_not_hide_that_others_need_more_threads():
    first = next(each for each in arms_of_two_parts() if each.arm.model.name == "dynamic")
    assert first.arm.model.threads >= OF_FAST


def test_beside_a_part_at_full_speed_a_paced_part_has_its_rate_at_most():
    found = arms_of_two_parts(fast_rate=1000.0)
    assert bound_of(found, Manual()) == pytest.approx(1000.0 + 1e9 / (1 + OF_SLOW * SLOW))


def test_parts_that_all_have_rates_are_bound_in_the_proportion_of_their_rates():
    found = arms_of_two_parts(share_of_fast=0.9, fast_rate=9000.0, slow_rate=1000.0)
    assert bound_of(found, Manual()) == pytest.approx(1e9 / (0.9 * (1 + OF_FAST * FAST)))


def test_no_arm_has_more_threads_than_cpus():
    assert max(each.arm.threads or 0 for each in arms("cstream")) == 12


def test_each_name_stands_for_one_arm():
    names = [each.arm.name for each in arms()]
    assert len(set(names)) == len(names)


def test_arms_with_few_queues_name_them():
    few = [each for each in arms() if getattr(each.arm.model, "queued", "all") != "all"]
    assert any(each.arm.model.queued == "w1,w2" for each in few)
    assert all("queued" in each.words for each in few)


def test_the_best_of_each_model_is_tried_first():
    chosen = choose(arms(), 5)
    assert len(chosen) == 5
    assert {each.arm.model.name for each in chosen} == {
        "manual", "dedicated", "dynamic", "coroutine"
    }  # fmt: skip


@pytest.mark.parametrize(("cpus", "found"), [(1, [1]), (2, [1, 2]), (12, [1, 2, 4, 8, 12])])
def test_levels_are_powers_of_two_and_all_cpus(cpus, found):
    assert levels(cpus) == found


def test_costs_come_from_explained_runs():
    graph = pipeline([100, 1000])
    runs = {
        model.name: explained(graph, model, "cstream", duration_s=0.003)[0]
        for model in (Manual(), Dynamic(4))
    }
    costs = costs_of(runs, "manual")
    cheap, dear = costs.operators["w0"], costs.operators["w1"]
    assert 5 < dear.tuple_ns / cheap.tuple_ns < 12
    assert dear.share == pytest.approx(1.0, abs=0.05)
    assert dear.behind == ("w0",)
    assert 20 < costs.hop_ns["dynamic"] < 2000

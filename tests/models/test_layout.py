"""Tests of what a graph gets under a model, before any memory or thread is there: queues, locks,
paths, regions, sizes.

Whatever can be counted by walking through the graph is: along each way from the sources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

from harness.errors import UserError
from harness.graph import Graph, Operator
from harness.graph.kinds import BARRIER
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Model, Queue
from harness.models.layout import RunLayout, chosen_by, ends_of, layout_of, paces_of, slots_of
from harness.models.replicas import REPLICA_ROOM
from tests.runtime.shapes import (
    MODELS,
    barriers,
    chain,
    diamond,
    pipeline,
    split_and_join,
    split_fan_out,
)


def laid_out(graph: Graph, model: Model, flop_ns: Callable[[], float] = lambda: 0.5) -> RunLayout:
    return layout_of(graph, model, cpus=4).timed(flop_ns)


def ports(layout: RunLayout, which: Callable[[object], bool]) -> list[str]:
    return [str(layout.input_ports[queue.port]) for queue in layout.queues if which(queue)]


def names(layout: RunLayout, which: tuple[bool, ...]) -> list[str]:
    return [
        operator.name for operator, chosen in zip(layout.operators, which, strict=True) if chosen
    ]


def doubled(times: int) -> Graph:
    """Operators that are fed twice each: twice as many paths lead to the next."""
    graph = Graph("doubled")
    last: Operator = graph.source("source")
    for number in range(times):
        left = graph.work(f"left{number}", 1)
        right = graph.work(f"right{number}", 1)
        join = graph.work(f"join{number}", 1)
        for way in (left, right):
            graph.connect(last, way)
            graph.connect(way, join)
        last = join
    graph.connect(last, graph.sink("sink"))
    return graph


# -- who executes what -----------------------------------------------------------------------------


def test_locks_and_flags_stand_only_where_more_than_one_thread_can_get():
    layout = laid_out(diamond(), Dynamic(2))
    assert names(layout, layout.locked) == ["join", "far"]
    assert ports(layout, lambda queue: queue.shared) == ["join[1]"] and layout.divided
    layout = laid_out(split_and_join(3), Dynamic(2))
    assert (names(layout, layout.locked), ports(layout, lambda queue: queue.shared)) == (
        [],
        ["sink[0]"],
    )
    layout = laid_out(split_fan_out(), Dynamic(2))
    assert names(layout, layout.locked) == ["entry"]
    for model in (Manual(), Dedicated(), Dynamic(4)):
        layout = laid_out(pipeline(3), model)
        assert not any(layout.locked) and not layout.divided


def test_what_one_thread_alone_sends_may_put_wake_ups_off():
    for model, lazy in (
        (Manual(), ["source", "work0", "work1"]),
        (Dedicated(), ["source", "work0", "work1"]),
        (Coroutine(2), ["source", "work0", "work1"]),
        (Dynamic(2), ["source"]),
    ):
        layout = laid_out(pipeline(2), model)
        assert [layout.operators[way.source].name for way in layout.ways if way.lazy] == lazy
    layout = laid_out(diamond(), Manual())
    assert {layout.operators[way.source].name for way in layout.ways if not way.lazy} == {
        "join",
        "spread",
    }, "from under a lock"


def test_threads_are_those_of_sources_then_of_ports_then_of_the_pool():
    layout = laid_out(diamond(), Dedicated())
    assert layout.first_scheduler == layout.most_threads == 2 + len(layout.input_ports)
    assert [layout.thread_name(index) for index in (0, 1, 2)] == [
        "source first",
        "source second",
        "port thread of head",
    ]
    names = [layout.thread_name(index) for index in range(layout.most_threads)]
    assert len(set(names)) == len(names)
    layout = laid_out(diamond(), Dynamic(3))
    assert (layout.first_scheduler, layout.most_threads, layout.pool_threads) == (2, 2 + 1024, 3)
    assert [layout.thread_name(index) for index in (1, 2, 4)] == [
        "source second",
        "scheduler thread 0",
        "scheduler thread 2",
    ]
    layout = laid_out(pipeline(2), Coroutine(3))
    assert (layout.sources, layout.coroutines, layout.first_scheduler) == ([], [0, 1, 2, 3], 0)
    assert laid_out(pipeline(2), Dynamic(1)).most_threads == 1 + 1024
    assert laid_out(pipeline(2), Manual()).most_threads == 1


def test_a_pool_has_a_thread_for_each_port_at_which_a_users_operator_may_block():
    graph = Graph("blocking")
    user, sink = graph.python("user", lambda sequence, value: value, inputs=5), graph.sink("sink")
    for number in range(5):
        graph.connect(graph.source(f"source{number}"), user.input(number))
    graph.connect(user, sink)
    layout = layout_of(graph, Dynamic(2))
    assert (layout.pool_threads, layout.minimum_threads) == (6, 6)
    assert layout_of(graph, Dynamic(9)).pool_threads == 9
    layout = laid_out(graph, Manual())
    assert (layout.pool_threads, layout.minimum_threads) == (0, 1)


def wide(add: Callable[[Graph], Operator], inputs: int) -> Graph:
    graph = Graph("wide")
    source, operator = graph.source("source"), add(graph)
    for number in range(inputs):
        graph.connect(source, operator.input(number))
    graph.connect(operator, graph.sink("sink"))
    return graph


def test_a_graph_that_needs_more_threads_than_a_pool_may_have_is_refused():
    def user(inputs: int) -> Graph:
        return wide(
            lambda graph: graph.python("user", lambda sequence, value: value, inputs=inputs), inputs
        )

    assert layout_of(user(1023), Dynamic(2)).pool_threads == 1024
    with pytest.raises(
        UserError,
        match=r"^operator 'user': inputs must be at most 1023 of a user's operator .*, not 1024$",
    ):
        layout_of(user(1024), Dynamic(2))
    assert (
        layout_of(wide(lambda graph: graph.barrier("barrier", 1023), 1023), Dynamic(2)).pool_threads
        == 1024
    )
    with pytest.raises(
        UserError,
        match=r"^graph 'wide': a pool must have a thread for each of the 1024 input ports of barr",
    ):
        layout_of(wide(lambda graph: graph.barrier("barrier", 1024), 1024), Dynamic(2))


# -- ways through the graph ------------------------------------------------------------------------


def walked(layout: RunLayout, index: int) -> Iterator[tuple[int, int, int]]:
    """Return for each way from a source to an operator: its number, its length, and how many of its
    last steps are calls.
    """
    if not layout.incoming[index]:
        yield 0, 1, 1
    for way in (layout.ways[each] for each in layout.incoming[index]):
        for path, length, calls in walked(layout, way.source):
            yield path + way.path_step, length + 1, calls + 1 if way.queue is None else 1


GRAPHS = (pipeline, diamond, split_fan_out, split_and_join, barriers, lambda: doubled(4))


@pytest.mark.parametrize("graph", GRAPHS)
def test_each_path_to_an_operator_has_a_number_of_its_own(graph):
    layout = laid_out(graph(), Dynamic(2))
    for index, paths in enumerate(layout.paths):
        numbers = sorted(path for path, _, _ in walked(layout, index))
        kinds = {
            layout.operators[at].kind
            for at in range(len(layout.operators))
            if layout.longest[at] > layout.longest[index]
        }
        if BARRIER not in kinds | {layout.operators[index].kind}:
            assert numbers == list(range(paths))


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("model", [Manual(), Dynamic(2), Coroutine(2)])
def test_stacks_are_as_deep_as_the_longest_ways(graph, model):
    layout = laid_out(graph(), model)
    ends = [index for index, operator in enumerate(layout.operators) if operator.is_sink]
    ways = [way for end in ends for way in walked(layout, end)]
    sources = [index for index in range(len(layout.operators)) if not layout.incoming[index]]
    assert max(layout.longest[index] for index in sources) == max(length for _, length, _ in ways)
    assert max(layout.calls) == max(
        calls for index in range(len(layout.operators)) for _, _, calls in walked(layout, index)
    )
    assert {layout.calls[end] for end in ends} == {layout.longest[end] for end in ends} == {1}


def test_more_paths_than_a_million_are_not_told_apart():
    layout = laid_out(doubled(20), Manual())
    assert layout.paths[layout.index_of["sink"]] == 2**20
    layout = laid_out(doubled(21), Manual())
    assert layout.paths[layout.index_of["join19"]] == 2**20
    assert layout.paths[layout.index_of["join20"]] is layout.paths[layout.index_of["sink"]] is None


def test_branches_between_a_split_and_its_merge_are_one_path():
    layout = laid_out(split_and_join(3, ordered=True), Dynamic(2))
    assert set(layout.paths) == {1}
    assert not any(way.path_step for way in layout.ways)


@pytest.mark.parametrize(
    ("seen_by", "paths"), [("left", 1), ("joined", None), ("behind", None), ("merge", 1)]
)
def test_there_is_no_order_on_what_a_control_port_gets_from_where_branches_have_joined(
    seen_by, paths
):
    graph = Graph("joined")
    split, merge, after = graph.split("split", 2), graph.merge("merge"), graph.work("after", 1)
    joined, behind = graph.work("joined", 1), graph.work("behind", 1)
    graph.connect(graph.source("source"), split)
    for port, name in enumerate(("left", "right")):
        graph.connect(split.output(port), graph.work(name, 1))
        graph.connect(graph.operators[name], joined)
    for one, other in pairwise((joined, behind, merge, after, graph.sink("sink"))):
        graph.connect(one, other)
    graph.connect(graph.operators[seen_by], graph.control(after))
    graph.check()
    layout = laid_out(graph, Dynamic(2))
    assert layout.paths[layout.index_of["after.control"]] == paths
    assert {
        layout.paths[layout.index_of[name]]
        for name in ("left", "joined", "behind", "merge", "after", "sink")
    } == {1}
    (region,) = layout.regions
    assert len(region.queues) == 5, "before left, right, joined, behind and merge"


def test_values_are_others_behind_a_users_operator():
    graph = Graph("changing")
    last = graph.source("source")
    for operator in (
        graph.filter("filter", 0.5),
        graph.python("looks", lambda sequence, value: value, preserves=True),
        graph.work("before", 1),
        graph.python("user", lambda sequence, value: 2 * value),
        graph.work("behind", 1),
    ):
        graph.connect(last, operator)
        last = operator
    graph.connect(last, graph.sink("sink"))
    graph.connect(graph.operators["before"], graph.sink("beside"))
    layout = laid_out(graph, Manual())
    assert names(layout, layout.changed) == ["behind", "sink"]


# -- sizes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "payload", "costs", "capacity"),
    [
        (
            Dynamic(2),
            128,
            (1, 31),
            896,
        ),  # three of 192 bytes a tuple fit into 512 KiB, to a multiple of 64
        (Dynamic(2), 128, (1, 32), 1000),  # or need not, beside work
        (Dynamic(2), 4096, (1, 32), 128),
        (Dynamic(2), 2**20, (1, 1), 64),
        (Dynamic(2), 64 * 2**20, (1, 1), 10),  # three of 64 MiB a tuple in 2 GiB
        (Coroutine(2), 128, (1, 31), 896),
        (Dedicated(), 96, (1, 1), 1000),
        (Dedicated(), 4096, (1, 1), 252),
        (Dedicated(), 64 * 2**20, (1, 1), 10),
        (Manual(), 96, (1, 1), 0),
    ],
)
def test_queues_hold_as_many_tuples_as_memory_has_room_for(model, payload, costs, capacity):
    graph = Graph("sized", payload)
    last = graph.source("source")
    for number, cost in enumerate(costs):
        graph.connect(last, graph.work(f"work{number}", cost))
        last = graph.operators[f"work{number}"]
    graph.connect(last, graph.sink("sink"))
    layout = laid_out(graph, model)
    assert layout.capacity == capacity
    assert [queue.capacity for queue in layout.queues] == [capacity] * (3 if capacity else 0)
    assert layout.capacity_chosen is (capacity > 0)
    given = laid_out(graph, type(model)(queue_capacity=7)) if capacity else layout
    assert (given.capacity, given.capacity_chosen) == ((7, False) if capacity else (0, False))


@pytest.mark.parametrize("dear", [{"cost": 32}, {"costs": [(9, 1), (1, 2)]}, {"busy_us": 0.001}])
def test_queues_before_dear_operators_are_longer(dear):
    graph = Graph("dear", 128)
    graph.connect(graph.source("source"), graph.work("dear", **dear))
    graph.connect(chain(graph, graph.operators["dear"], 2), graph.sink("sink"))
    assert laid_out(graph, Dynamic(2)).capacity == 1000


def test_a_port_threaded_by_hand_has_its_own_capacity_and_does_not_say_that_of_the_others():
    graph = pipeline(3, payload=128)
    graph.threaded_port(graph.operators["work1"].input(0), 17)
    layout = laid_out(graph, Dynamic(2))
    assert [queue.capacity for queue in layout.queues] == [
        layout.capacity,
        17,
        layout.capacity,
        layout.capacity,
    ]
    assert layout.capacity == 896 and layout.capacity_chosen
    assert [queue.kind for queue in layout.queues].count(Queue.THREADED) == 1
    layout = laid_out(graph, Manual())
    assert (layout.capacity, layout.capacity_chosen, layout.queue_of_port) == (
        17,
        False,
        (None, 0, None, None),
    )
    layout = laid_out(graph, Dedicated(queue_capacity=5))
    assert (layout.capacity, layout.capacity_chosen) == (5, False)


def test_between_a_split_and_its_merge_there_is_room_for_what_the_queues_hold():
    layout = laid_out(split_and_join(3, 2, ordered=True), Dynamic(2, queue_capacity=10))
    (region,) = layout.regions
    assert [layout.operators[index].name for index in (region.split, region.merge)] == [
        "split",
        "merge",
    ]
    between = [str(layout.input_ports[layout.queues[queue].port]) for queue in region.queues]
    assert sorted(between) == [
        "merge[0]",
        *(f"w{branch}_{step}[0]" for branch in range(3) for step in range(2)),
    ]
    assert region.marks == region.ahead == 7 * 10 + 32 * (7 + 2)
    assert slots_of(region) == 1024, "a power of two with room for 256 more"
    (region,) = laid_out(
        split_and_join(3, 2, ordered=True), Dynamic(2, queue_capacity=1000)
    ).regions
    assert (region.marks, region.ahead, slots_of(region)) == (7 * 1000 + 32 * 9, 4096 - 256, 4096)
    (region,) = laid_out(
        split_and_join(60, 2, ordered=True), Dynamic(2, queue_capacity=1000)
    ).regions
    assert region.ahead == 4 * 32 * 121, "four batches for each of the queues"


@pytest.mark.parametrize(
    ("spread", "room"), [(0, 8 * 32), (1, 9 * 32 + 1), (3, 11 * 32 + 3), (60, 64 * 32 + 60)]
)
def test_a_barrier_has_room_for_a_batch_of_each_operator_that_sends_to_several_inputs(spread, room):
    graph = Graph("met")
    barrier = graph.barrier("barrier", 2)
    ways = [
        chain(graph, graph.source("a"), 1, prefix="a_"),
        chain(graph, graph.source("b"), 1, prefix="b_"),
    ]
    for number in range(spread):
        operator = graph.work(f"spread{number}", 1, outputs=2)
        graph.connect(ways[0], operator)
        joined = graph.work(f"joined{number}", 1)
        for port in range(2):
            graph.connect(operator.output(port), joined)
        ways[0] = joined
    for port, way in enumerate(ways):
        graph.connect(way, barrier.input(port))
    graph.connect(barrier, graph.sink("sink"))
    (place,) = laid_out(graph, Manual()).barriers
    assert (place.operator, place.room) == (0, room)
    assert place.paths == (2**spread if spread <= 20 else None, 1)


# -- costs and schedules ---------------------------------------------------------------------------


def test_what_a_tuple_costs_is_known_of_each_operator_and_guessed_of_users():
    graph = Graph("priced")
    operators = [
        graph.source("source"),
        graph.work("plain", 70),
        graph.work("bursts", costs=[(10, 5), (1, 900), (3, 20)]),
        graph.work("busy", busy_us=2.0),
        graph.work("hardly busy", busy_us=1e-4),
        graph.python("python", lambda sequence, value: value),
        graph.sink("sink"),
    ]
    for one, other in pairwise(operators):
        graph.connect(one, other)
    asked = []
    layout = laid_out(graph, Manual(), flop_ns=lambda: asked.append(1) or 0.5)
    assert layout.flop == (0, 70, 900, 4000, 1, 1000, 0) and layout.copies_known
    assert len(asked) == 1, "equal times are equal work"
    with pytest.raises(
        UserError,
        match=r"^operator 'busy': busy_us 2 is 20000000000 FLOP on this machine; at most "
        r"4294967295$",
    ):
        laid_out(graph, Manual(), flop_ns=lambda: 1e-7)


def test_a_loop_in_python_is_guessed_to_cost_what_other_functions_in_python_do():
    async def forward(context):
        """Never called here."""

    graph = Graph("looped")
    loop = graph.loop("loop", forward)
    graph.connect(graph.source("source"), loop)
    graph.connect(loop, graph.sink("sink"))
    assert laid_out(graph, Coroutine(2)).flop == (1000, 0, 0)


def test_a_source_sends_in_stretches_with_gaps():
    graph = Graph("paced")
    assert paces_of(graph.source("free")) == []
    assert paces_of(graph.source("steady", rate=1000)) == [(0, 1e6)]
    assert paces_of(graph.source("bursts", rates=[(0.5, 2000), (2, None), (1, 0)])) == [
        (500_000_000, 5e5),
        (2_000_000_000, 0.0),
        (1_000_000_000, -1.0),
    ]


def test_bursts_of_cost_end_one_behind_the_other():
    assert ends_of(Graph("g").work("work", costs=[(30, 1), (10, 500), (60, 2)])) == [
        (30, 1),
        (40, 500),
        (100, 2),
    ]
    assert ends_of(Graph("g").work("work", 5)) == []


def test_filters_agree_on_what_they_pass_and_work_operators_choose_each_for_themselves():
    graph = Graph("chosen")
    assert (
        chosen_by(graph.work("all", 1), 3)
        is chosen_by(graph.filter("none dropped", 1.0), 3)
        is None
    )
    assert (
        chosen_by(graph.filter("half", 0.5), 3)
        == chosen_by(graph.filter("other half", 0.5), 9)
        == (0, 2**63)
    )
    work = graph.work("quarter", 1, selectivity=0.25)
    mixes = {chosen_by(work, index)[0] for index in range(1000)}
    assert len(mixes) == 1000 and 0 not in mixes and max(mixes) < 2**64
    assert {chosen_by(work, index)[1] for index in range(10)} == {2**62}
    assert chosen_by(graph.barrier("barrier"), 0) is None


# -- replicas --------------------------------------------------------------------------------------


def test_replicas_are_asked_of_an_operator_that_may_have_as_many():
    layout = laid_out(pipeline(2), Coroutine(2))
    most = layout.replicas[1]
    assert set(layout.replicas) == {1, 2} and most > 1
    assert layout.replicated("work1", 1) == layout.replicated("work1", most) == 2
    for number in (0, most + 1, 1.0, True, "2", None):
        with pytest.raises(
            UserError, match=rf"replicas of 'work1' must be from 1 to {most}, not {number!r}$"
        ):
            layout.replicated("work1", number)
    for name in ("nobody", None, ["work1"]):
        with pytest.raises(UserError, match="no operator is named"):
            layout.replicated(name, 1)
    with pytest.raises(UserError, match=r"^set_replicas: operator 'source' "):
        layout.replicated("source", 1)
    many = laid_out(pipeline(REPLICA_ROOM + 1), Coroutine(2))
    assert many.replicas == {} and many.replicated("work1", 1) == 2
    plain = laid_out(pipeline(2), Dynamic(2))
    assert plain.replicas == {} and plain.single_for(1) != ""
    with pytest.raises(UserError, match="operator 'work1' "):
        plain.replicated("work1", 1)


def test_only_coroutines_have_a_policy_and_a_quantum():
    for model in MODELS.values():
        layout = laid_out(pipeline(2), model)
        of_coroutines = isinstance(model, Coroutine)
        assert (layout.policy is not None) is of_coroutines
        assert layout.quantum_ns == (round(model.quantum_ms * 1e6) if of_coroutines else 0)

"""Deep graphs, large and small payloads, memory that is not there: clean ends or a clear error."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from harness.engine import open_engine
from harness.errors import UserError
from harness.graph import Graph
from harness.measurement.host import huge_pages
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Model
from tests.runtime.shapes import pipeline, run_to_end


@pytest.mark.plain_build
@pytest.mark.parametrize(
    "model",
    [
        Manual(),
        Dynamic(1, queue_capacity=1),
        Dynamic(3, queue_capacity=2),
        pytest.param(Dedicated(queue_capacity=8), marks=pytest.mark.slow),
        Coroutine(1, queue_capacity=1),
        pytest.param(Coroutine(3, "highest_rate", queue_capacity=8), marks=pytest.mark.slow),
    ],
    ids=lambda model: model.name,
)
def test_ten_thousand_operators_deep_do_not_overflow_a_stack(model: Model) -> None:
    """Queues of one tuple make every push drain the next queue from within: nested as deep as the
    graph.
    """
    totals = run_to_end(pipeline(10_000, payload=0), model, 50)
    assert totals.correct and totals.received == 50


@pytest.mark.parametrize(
    "model", [Manual(), Dedicated(), Dynamic(2), Coroutine(2)], ids=lambda model: model.name
)
@pytest.mark.parametrize("payload", [0, 1, 2**20])
def test_payloads_from_nothing_to_a_mebibyte(model: Model, payload: int) -> None:
    totals = run_to_end(pipeline(3, payload=payload), model, 200)
    assert totals.correct and totals.received == 200


def test_queues_are_by_default_as_long_as_caches_and_memory_allow() -> None:
    """Scheduled queues hold a multiple of 64 tuples, those with a thread of their own 1,000; of
    large tuples fewer.
    """

    def capacity(operators: int, payload: int, model: Model, cost: int = 1) -> int:
        return open_engine(pipeline(operators, payload=payload, cost=cost), model).queue_capacity

    assert capacity(1, 0, Dynamic(1)) == 1000
    assert capacity(10, 96, Dynamic(1)) == 320
    assert capacity(1000, 96, Dynamic(1)) == 64
    assert capacity(1000, 96, Dedicated()) == 1000
    assert capacity(1000, 128, Dynamic(1), cost=100) == 1000
    assert capacity(10, 1024, Dynamic(1), cost=100) == 512
    assert capacity(10, 4096, Dynamic(1), cost=100) == 128
    assert capacity(10, 16384, Dynamic(1), cost=100) == 64
    assert capacity(10, 1024, Dedicated()) == 963
    assert capacity(10, 4096, Dedicated()) == 252
    assert capacity(10, 16384, Dedicated()) == 64
    assert capacity(100, 2**20, Dynamic(1)) == 20
    assert capacity(100, 2**20, Dedicated()) == 20


@pytest.mark.parametrize(
    ("model", "capacity"),
    [
        (Dynamic(2, queue_capacity=500), 500),
        (Dynamic(2), 1000),
        (Dedicated(queue_capacity=500), 500),
        (Dedicated(), 1000),
        (Manual(), 10),
    ],
)
@pytest.mark.parametrize("threaded", ["work0", "sink"])
def test_the_capacity_that_is_told_is_the_models_also_beside_a_port_threaded_by_hand(
    threaded: str, model: Model, capacity: int
) -> None:
    graph = pipeline(2, payload=0)
    graph.threaded_port(graph.operators[threaded], 10)
    assert open_engine(graph, model).queue_capacity == capacity


def test_an_operator_that_could_block_more_threads_than_a_pool_has_is_refused_by_name() -> None:
    graph = Graph("wide", 0)
    source = graph.source("source")
    user = graph.python("user", lambda sequence, value: value, inputs=1024)
    for port in range(1024):
        graph.connect(source, user.input(port))
    graph.connect(user, graph.sink("sink"))
    for model in (Dynamic(2), Dynamic(2, queued="none")):
        with pytest.raises(
            UserError,
            match=r"^operator 'user': inputs must be at most 1023 of a user's .*, not 1024$",
        ):
            open_engine(graph, model)
    assert open_engine(graph, Manual()).threads == 1


def test_queues_that_cannot_fit_in_memory_are_refused_by_name() -> None:
    with pytest.raises(UserError, match=r"queue_capacity 1048576 needs [\d,]+ MiB for 1001 queues"):
        open_engine(pipeline(1000, payload=2**20), Dynamic(1, queue_capacity=2**20))


def test_tuples_too_large_for_the_memory_are_what_is_refused_if_nobody_chose_a_capacity() -> None:
    with pytest.raises(UserError, match=r"^payload 67108864 needs [\d,]+ MiB for 20001 queues"):
        open_engine(pipeline(20_000, payload=2**26), Dynamic(1))


@pytest.mark.plain_build
def test_memory_is_taken_only_as_queues_fill_and_never_beyond_them() -> None:
    """BOUND: the queues of 2,000 ports hold 1,024 slots of 128 bytes each, 250 MiB in all."""
    process = psutil.Process()
    before = process.memory_info().rss
    engine = open_engine(pipeline(2000), Dynamic(1))
    assert process.memory_info().rss - before < 40 * 2**20
    engine.start()
    engine.sample(0.5)
    engine.stop(drain=False, timeout_s=10.0)
    assert process.memory_info().rss - before < 1.2 * 2001 * 1024 * 128 + 60 * 2**20


@pytest.mark.plain_build
@pytest.mark.skipif(huge_pages() is None, reason="the system has no huge pages")
@pytest.mark.parametrize(("operators", "asks"), [(100, True), (10_000, False)])
def test_queues_ask_for_large_pages_unless_they_are_very_many(operators: int, asks: bool) -> None:
    """12 MiB and 1.2 GiB; of the latter one page would take in the beginnings of 16 queues,
    whatever is in them.
    """
    before = asking_bytes()
    engine = open_engine(pipeline(operators), Dynamic(1, queue_capacity=1024))
    asked = asking_bytes() - before
    del engine
    # operators' own memory asks too, in regions of a MiB
    assert (asked >= operators * 1024 * 128) if asks else (asked < 2 * 2**20)


def asking_bytes() -> int:
    """Memory of this process that asks for huge pages [bytes] (`hg` in proc(5), smaps)."""
    found, size = 0, 0
    for line in Path("/proc/self/smaps").read_text().splitlines():
        name, _, rest = line.partition(":")
        if name == "Size":
            size = int(rest.split()[0])
        elif name == "VmFlags" and "hg" in rest.split():
            found += size
    return 1024 * found


@pytest.mark.parametrize(("stages", "checked"), [(20, True), (21, False)])
def test_order_is_checked_on_up_to_a_million_paths_and_the_account_says_if_not(
    stages: int, checked: bool
) -> None:
    """Each stage doubles the number of ways to the sink."""
    graph = Graph("ladder", 8)
    before = graph.source("source")
    for stage in range(stages):
        fork, join = graph.work(f"fork{stage}", 1, outputs=2), graph.work(f"join{stage}", 1)
        graph.connect(before, fork)
        for port in range(2):
            graph.connect(fork.output(port), join)
        before = join
    graph.connect(before, graph.sink("sink"))
    totals = run_to_end(graph, Dynamic(2), 500)
    assert totals.correct and totals.received == 500
    assert totals.order_checked == checked

"""The threading models' options: what is accepted, what is refused in one line, what stands in for
what is not given.
"""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import pytest

from harness.elasticity import layout_of
from harness.errors import UserError
from harness.graph import Graph
from harness.graph.annotations import threading
from harness.machines.host import cpu
from harness.models import (
    DEFAULT_POLICY,
    MODELS,
    QUANTUM_MS,
    Coroutine,
    Dedicated,
    Dynamic,
    Manual,
    Multilevel,
    begins_queued,
    make_model,
    pool_of,
    port_queues,
)
from topologies import build


@pytest.mark.parametrize(
    ("name", "options", "model"),
    [
        ("manual", {}, Manual()),
        ("dedicated", {}, Dedicated()),
        ("dedicated", {"queue_capacity": 1}, Dedicated(queue_capacity=1)),
        (
            "dynamic",
            {"threads": 1024, "queue_capacity": 2**20},
            Dynamic(threads=1024, queue_capacity=2**20),
        ),
        ("dynamic", {"elastic": True}, Dynamic(elastic=True)),
        ("multilevel", {}, Multilevel()),
        (
            "multilevel",
            {"law": "streams", "threads": 2, "maximum": 4},
            Multilevel(law="streams", threads=2, maximum=4),
        ),
        ("coroutine", {}, Coroutine(policy=DEFAULT_POLICY, quantum_ms=QUANTUM_MS)),
        (
            "coroutine",
            {"threads": 2, "policy": "random", "quantum_ms": 0.5},
            Coroutine(2, "random", 0.5),
        ),
        ("coroutine", {"replicas": 3, "threads": 2}, Coroutine(2, replicas=3)),
        ("coroutine", {"elastic": True, "maximum": 12}, Coroutine(elastic=True, maximum=12)),
        ("coroutine", {"law": "cstream", "threads": 2}, Coroutine(2, elastic=True, law="cstream")),
        ("dynamic", {"law": "pldi17"}, Dynamic(elastic=True, law="pldi17")),
        (
            "dynamic",
            {"law": "", "law_settings": {"a": "1"}},
            Dynamic(elastic=True, law_settings=(("a", "1"),)),
        ),
        (
            "dynamic",
            {"elastic": True, "threads": 9, "minimum": 2, "maximum": 9},
            Dynamic(threads=9, elastic=True, minimum=2, maximum=9),
        ),
    ],
)
def test_a_model_is_made_with_its_options(name, options, model):
    assert make_model(name, **options) == model


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        (
            "elastic",
            {},
            "model 'elastic' is unknown; models are: manual, dedicated, dynamic, multilevel, "
            "coroutine",
        ),
        (
            "",
            {},
            "model '' is unknown; models are: manual, dedicated, dynamic, multilevel, coroutine",
        ),
        (
            "manual",
            {"threads": 1},
            "threads applies to dynamic, multilevel and coroutine only, not to the model manual",
        ),
        (
            "dedicated",
            {"threads": 1},
            "threads applies to dynamic, multilevel and coroutine only, not to the model dedicated",
        ),
        (
            "manual",
            {"queue_capacity": 9},
            "queue_capacity applies to dedicated, dynamic, multilevel and coroutine only, not to "
            "the model manual",
        ),
        ("dynamic", {"threads": 0}, "threads must be a whole number from 1 to 1024, not 0"),
        ("dynamic", {"threads": 1025}, "threads must be a whole number from 1 to 1024, not 1025"),
        (
            "dynamic",
            {"queue_capacity": 0},
            "queue_capacity must be a whole number from 1 to 1048576, not 0",
        ),
        (
            "dedicated",
            {"queue_capacity": 2**20 + 1},
            "queue_capacity must be a whole number from 1 to 1048576, not 1048577",
        ),
        (
            "manual",
            {"elastic": True},
            "elastic applies to dynamic and coroutine only, not to the model manual",
        ),
        (
            "dedicated",
            {"law": "pldi17"},
            "elastic applies to dynamic and coroutine only, not to the model dedicated",
        ),
        (
            "manual",
            {"minimum": 2},
            "minimum applies to dynamic, multilevel and coroutine only, not to the model manual",
        ),
        (
            "dynamic",
            {"minimum": 2},
            "minimum applies to an elastic pool only, not to one of a fixed level: 2",
        ),
        (
            "coroutine",
            {"minimum": 2},
            "minimum applies to an elastic pool only, not to one of a fixed level: 2",
        ),
        (
            "coroutine",
            {"law": "cstream", "minimum": 3, "maximum": 2},
            "minimum must be at most the maximum of 2 threads, not 3",
        ),
        ("coroutine", {"replicas": 0}, "replicas must be a whole number from 1 to 64, not 0"),
        (
            "dynamic",
            {"replicas": 2},
            "replicas applies to coroutine only, not to the model dynamic",
        ),
        (
            "dynamic",
            {"maximum": 2},
            "maximum applies to an elastic pool only, not to one of a fixed level: 2",
        ),
        (
            "dynamic",
            {"policy": "random"},
            "policy applies to coroutine only, not to the model dynamic",
        ),
        (
            "manual",
            {"quantum_ms": 1.0},
            "quantum_ms applies to coroutine only, not to the model manual",
        ),
        (
            "coroutine",
            {"quantum_ms": 0.0},
            "quantum_ms must be above 0 and at most 3,600,000 ms, not 0.0",
        ),
        (
            "coroutine",
            {"policy": "rando"},
            "policy must be one of random, max_queue_length, min_latency, least_recently_run, "
            "max_running_time, "
            "highest_rate, oldest_source, pressure, or FILE.py:NAME or FILE.so:SYMBOL, not 'rando' (did you mean "
            "'random'?)",
        ),
        (
            "dynamic",
            {"elastic": True, "minimum": 0},
            "minimum must be a whole number from 1 to 1024, not 0",
        ),
        (
            "dynamic",
            {"elastic": True, "maximum": 1025},
            "maximum must be a whole number from 1 to 1024, not 1025",
        ),
        (
            "dynamic",
            {"elastic": True, "minimum": 5, "maximum": 4},
            "minimum must be at most the maximum of 4 threads, not 5",
        ),
        (
            "dynamic",
            {"elastic": True, "threads": 5, "maximum": 4},
            "threads must be from 1 to 4, the levels of the law, not 5",
        ),
        (
            "dynamic",
            {"elastic": True, "threads": 1, "minimum": 2, "maximum": 4},
            "threads must be from 2 to 4, the levels of the law, not 1",
        ),
        (
            "dynamic",
            {"elastic": True, "threads": 4},
            "threads must be from 1 to 3, the levels of the law, as there are CPUs for if no "
            "maximum is given, not 4",
        ),
    ],
)
def test_bad_options_are_told_in_one_line(monkeypatch, name, options, told):
    monkeypatch.setattr(cpu, "usable_cpus", lambda: 3)
    with pytest.raises(UserError) as caught:
        make_model(name, **options)
    assert str(caught.value) == told


def test_an_option_that_no_model_has_is_told_with_those_there_are():
    with pytest.raises(
        UserError, match=r"^no model has an option 'colour'; options are: .*threads"
    ):
        make_model("dynamic", colour=4)


def test_dynamic_has_a_thread_for_each_cpu_of_the_machine_unless_told_otherwise(monkeypatch):
    monkeypatch.setattr(cpu.os, "sched_getaffinity", lambda pid: {3, 5, 7}, raising=False)
    graph, _ = build("pipeline", {"operators": 9}, seed=0)
    assert pool_of(graph, Dynamic()).threads == 3
    assert pool_of(graph, Dynamic(), cpus=176).threads == 176
    assert pool_of(graph, Dynamic(threads=2), cpus=176).threads == 2


def test_all_cpus_are_allowed_where_the_system_has_no_affinity(monkeypatch):
    monkeypatch.delattr(cpu.os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(cpu.os, "cpu_count", lambda: 6)
    assert cpu.allowed_cpus() == 6


def test_models_cannot_be_changed_and_are_listed_by_name():
    assert {name: model.name for name, model in MODELS.items()} == {name: name for name in MODELS}
    with pytest.raises(dataclasses.FrozenInstanceError):
        Dynamic(threads=2).threads = 3


def ports_of(queued: str) -> list[str]:
    graph, _ = build("pipeline", {"operators": 9}, seed=0)
    model = Dynamic(threads=1, queued=queued)
    return sorted(
        map(str, begins_queued(graph, model, port_queues(graph, model))),
        key=lambda name: (len(name), name),
    )


def test_queues_are_chosen_by_number_share_or_name() -> None:
    assert ports_of("1") == ["work6[0]"]
    assert len(ports_of("30%")) == 3 and len(ports_of("0%")) == len(ports_of("none")) == 0
    assert ports_of("100%") == ports_of("all") == ports_of("99")
    assert ports_of("work2, sink") == ["sink[0]", "work2[0]"]
    assert ports_of("work2[0]") == ["work2[0]"]


def test_a_chosen_number_of_queues_is_evenly_spread() -> None:
    places = [int(name[4:-3]) for name in ports_of("3") if name.startswith("work")]
    assert all(2 <= after - before <= 4 for before, after in pairwise(places))


@pytest.mark.parametrize("queued", ["", " ", "101%", "1.5", "-1", "%", "99999999"])
def test_what_chooses_no_ports_is_refused(queued: str) -> None:
    with pytest.raises(UserError, match="queued must be"):
        Dynamic(threads=1, queued=queued)


def test_a_port_that_is_not_there_cannot_be_queued() -> None:
    with pytest.raises(
        UserError, match="queued must name scheduled input ports of the graph, not 'work10'"
    ):
        ports_of("work10")


def test_a_region_annotated_manual_has_no_places() -> None:
    graph = Graph("annotated", 8)
    first = threading(model="manual")(lambda: graph.work("first", 1))()
    second = graph.work("second", 1)
    graph.connect(graph.source("source"), first)
    graph.connect(first, second)
    graph.connect(second, graph.sink("sink"))
    layout = layout_of(graph, Multilevel(), 2)
    assert [str(port) for port in layout.ports] == ["second[0]", "sink[0]"]
    assert [link.place for link in layout.links] == [None, 0, 1]
    assert list(layout.sources) == [list(graph.operators).index("source")]


def test_a_layout_tells_what_flows_where() -> None:
    graph, _ = build("data-parallel", {"width": 4, "cost": 10, "payload": 64}, seed=0)
    layout = layout_of(graph, Multilevel(), 8)
    workers = [layout.tuples[operator] for operator in layout.at][:4]
    assert workers == [0.25] * 4
    assert layout.tuples[-1] == pytest.approx(1.0)
    assert (layout.payload, layout.cpus) == (64, 8)
    assert [link.dealt for link in layout.links if link.tuples == 0.25] == [True] * 4 + [
        False
    ] * 4, "the split deals, they do not"

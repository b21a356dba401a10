"""Typed graphs are simulated with what a profiled run has shown: costs, and how many tuples go
where.
"""

import math
from dataclasses import replace

import pytest

import topologies
from harness.engine import open_engine
from harness.engine.profiled import Profiled
from harness.errors import RunFailed, UserError
from harness.graph import Graph
from harness.graph.schema import Schema
from harness.machines.machine import load_machine
from harness.measurement import profiling
from harness.measurement.run import run_once
from harness.measurement.spec import run_of
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Multilevel

ITEM = Schema("item", {"number": "uint64"})
WIDE = Schema("wide", {"text": "string[1000]"})


def graph():
    """A source of two ports -> a filter and a multiplier -> a sink; functions that are never
    called.
    """
    made = Graph("typed")
    source = made.typed_source("source", lambda: iter(()), [ITEM, ITEM])
    fewer = made.typed("fewer", lambda port, item: None, ITEM, WIDE)
    more = made.typed("more", lambda port, item: None, ITEM, WIDE)
    sink = made.typed_sink("sink", lambda port, item: None, WIDE)
    made.connect(source.output(0), fewer)
    made.connect(source.output(1), more)
    made.connect(fewer, sink)
    made.connect(more, sink)
    return made


PROFILED = Profiled(
    cpu="a CPU",
    cost_ns=(10.0, 100.0, 300.0, 20.0),
    sends=((0.75, 0.25), (0.5,), (3.5,), ()),
    tuples=(4000, 3000, 1000, 5000),
    interpreter_lock=False,
)
MODELS = {
    "manual": Manual(),
    "dedicated": Dedicated(),
    "dynamic": Dynamic(threads=2),
    "multilevel": Multilevel(),
    "coroutine": Coroutine(threads=2),
}


def simulate(model, tuples=None, seed=1, profiled=PROFILED):
    engine = open_engine(
        graph(), model, simulated=True, tuples=tuples, seed=seed, profiled=profiled
    )
    engine.start()
    sample = engine.sample(0.01)
    while tuples is not None and not engine.finished():
        engine.sample(0.01)
    return sample, engine.stop(drain=tuples is not None, timeout_s=10.0), engine


@pytest.mark.parametrize("model", MODELS)
def test_tuples_go_where_and_as_often_as_they_did(model):
    _, totals, _ = simulate(MODELS[model], tuples=4000)
    assert totals.correct and totals.drained and totals.order_checked, totals
    processed = list(totals.processed)
    assert processed[0] == 4000 and processed[1] == pytest.approx(
        3000, abs=32
    )  # a batch goes one way
    assert processed[2] == 4000 - processed[1]
    assert totals.received == processed[1] // 2 + math.floor(3.5 * processed[2])


@pytest.mark.parametrize("model", MODELS)
def test_a_run_that_is_cut_short_has_lost_nothing(model):
    _, totals, _ = simulate(MODELS[model])
    assert totals.correct and totals.sent > 1000, totals


def test_a_tuple_takes_what_it_took():
    sample, _, _ = simulate(Manual())
    here = 10 + 0.75 * 100 + 0.25 * 300 + (0.375 + 0.875) * 20
    assert 1e9 * sample.elapsed_s / sample.source_tuples == pytest.approx(here, rel=0.1)


def test_a_slower_machine_takes_longer():
    local, xeon = load_machine("local"), load_machine("xeon")
    scaled = PROFILED.on(xeon)
    speeds = [
        max(each.table("core.clock_ghz").values()) * each["core.ipc"] for each in (local, xeon)
    ]
    assert scaled.cost_ns == tuple(cost * speeds[0] / speeds[1] for cost in PROFILED.cost_ns)
    assert PROFILED.on(local) == PROFILED


def test_slots_are_of_the_mean_size():
    strides = [(64, 64), (1056,), (1056,), ()]
    tuples = 3000 + 1000 + 1500 + 3500
    assert PROFILED.stride(strides) == round((64 * 4000 + 1056 * 5000) / tuples / 8) * 8
    assert replace(PROFILED, tuples=(0, 0, 0, 0)).stride(strides) == 64


def test_the_same_seed_is_the_same_run():
    runs = [simulate(Dynamic(threads=2), seed=seed) for seed in (3, 3)]
    assert runs[0][0] == runs[1][0]


def test_more_threads_are_faster():
    assert simulate(Dynamic(threads=2))[0].source_tuples > 1.2 * simulate(Manual())[0].source_tuples


def test_without_a_profile_it_is_refused():
    with pytest.raises(
        UserError,
        match=r"^operator 'source' is of kind typed source: .* cannot be simulated without a profile$",
    ):
        simulate(Manual(), profiled=None)


@pytest.fixture
def quick(monkeypatch, tmp_path):
    for name, value in (
        ("SETTLE_S", 0.02),
        ("LOOK_S", 0.05),
        ("PROFILE_FOLDER", tmp_path / "profiled"),
    ):
        monkeypatch.setattr(profiling, name, value)


@pytest.mark.heavy
def test_a_profile_says_what_was_sent_and_what_is_dear(quick):
    built, _ = topologies.build("login-failures", {"records": 2000}, 1)
    found = profiling.profile(built)
    place = list(built.operators).index("failures only")
    # What was sent is read after what was processed: a pause of 20 ms between the two is 8 % here.
    assert sum(found.sends[0]) == pytest.approx(1.0, rel=0.1) and len(found.sends[0]) == 7
    assert sum(found.sends[place]) == pytest.approx(0.57, abs=0.05)
    assert sum(found.cost_ns) > 0 and found.cost_ns[1] == found.cost_ns[7]  # replicas are alike
    with pytest.raises(
        RunFailed, match=r"^login-failures cannot be profiled: its input ends within seconds; it"
    ):
        profiling.profile(topologies.build("login-failures", {"records": 10, "cycles": 1}, 1)[0])


@pytest.mark.heavy
def test_a_profile_is_taken_once_and_stands_in_the_record(quick, monkeypatch):
    spec = run_of(
        topology="login-failures",
        parameters={"records": 2000},
        model="manual",
        machine="xeon",
        duration_s=0.002,
    )
    record = run_once(spec)
    assert record["correct"] and record["simulation"]["profiled"]["tuple_ns"] > 10
    assert record["application"] is None  # it computes nothing
    monkeypatch.setattr(profiling, "profile", lambda graph: pytest.fail("it was taken again"))
    by_hand = replace(spec, parameters={"records": 2000, "placement": "hand"})
    again = run_once(by_hand)
    assert (
        again["simulation"]["profiled"] == record["simulation"]["profiled"]
        and again["threads_total"] == 14
    )

"""Runs under the model multilevel: a law's word on queues and threads is done, on both engines, and
recorded.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest

from harness import elasticity
from harness.elasticity.cpu_limit import LeaveToOthers
from harness.elasticity.law import Decides, Decision, Law
from harness.errors import RunFailed, UserError
from harness.measurement.laws import check_law, pool_law
from harness.measurement.records import record_line
from harness.measurement.run import run_once
from harness.measurement.spec import Run, run_of
from harness.models import Multilevel
from harness.models.layout import layout_of
from topologies import build


class Scripted(Law):
    """Queues at the places of its script, one entry a period, the last one for good."""

    name = "scripted"
    summary = "for tests"
    decides = Decides.QUEUES
    NEEDS = frozenset(("layout", "costs"))
    script = (frozenset({3}), frozenset({3, 7}), frozenset({7}))

    def decide(self, reading):
        """The next entry."""
        self.step_number = getattr(self, "step_number", -1) + 1
        self.seen = [*getattr(self, "seen", []), reading]
        queued = self.script[min(self.step_number, len(self.script) - 1)]
        return Decision(self.bounds.clamp(2), "as the script says", "scripted", queued)

    def cpu_limit(self):
        """Never asked."""
        return LeaveToOthers(0.8)


@pytest.fixture
def scripted(monkeypatch):
    monkeypatch.setattr(elasticity, "law_class", lambda name, decides: Scripted)
    return Scripted


def spec(simulated: bool) -> Run:
    return run_of(
        topology="pipeline",
        parameters={"operators": 12, "cost": 10},
        model="multilevel",
        maximum=2,
        elastic=True,
        duration_s=0.01 if simulated else 0.2,
        period_s=0.002 if simulated else 0.1,
        warmup=0.02 if simulated else 1.0,
        simulated=simulated,
    )


@pytest.mark.parametrize("simulated", [False, True], ids=["real", "simulated"])
def test_queues_come_and_go_as_the_law_says_and_the_record_tells(scripted, simulated):
    record = json.loads(record_line(run_once(spec(simulated))))
    assert record["correct"] and record["error"] is None
    terms = record["elastic"]
    assert terms["places"] == [*(f"work{i}[0]" for i in range(1, 13)), "sink[0]"]
    assert terms["settled_queued"] == 1 and terms["settled_level"] == 2
    first, second, third, *others = record["adaptation"]
    assert (first["switched_on"], first["switched_off"]) == (["work4[0]"], [])
    assert (second["switched_on"], second["switched_off"]) == (["work8[0]"], [])
    assert (third["switched_on"], third["switched_off"]) == ([], ["work4[0]"])
    assert all(sample["switched_on"] == sample["switched_off"] == [] for sample in others)
    assert [sample["queued_ports"] for sample in (first, second, third, others[0])] == [0, 1, 2, 1]
    assert len(record["samples"][-1]["operator_cost"]) == 14
    assert sum(record["samples"][-1]["operator_cost"]) == pytest.approx(1.0, abs=0.01)


def test_a_law_reads_costs_and_the_queues_of_its_period(scripted):
    seen = []
    scripted_decide = Scripted.decide

    class Watching(Scripted):
        def decide(self, reading):
            seen.append(reading)
            return scripted_decide(self, reading)

    elasticity.law_class = lambda name, decides: Watching  # undone by the fixture
    run_once(spec(simulated=True))
    assert [reading.queued for reading in seen[:4]] == [frozenset(), {3}, {3, 7}, {7}]
    assert [reading.threads for reading in seen[:3]] == [1, 2, 2]
    assert all(len(reading.costs) == 14 for reading in seen[3:])


@pytest.mark.parametrize(
    ("period_s", "window_s"), [(0.05, 0.4), (0.25, 1.0), (0.5, 2.0), (10.0, 5.0)]
)
def test_the_profiler_looks_back_a_few_periods(monkeypatch, period_s, window_s):
    told = {}

    def engine_of(*words, **options):
        told.update(options)
        raise RunFailed("not today")

    monkeypatch.setattr("harness.measurement.prepare.engine_of", engine_of)
    run_once(replace(spec(simulated=False), period_s=period_s))
    assert told == {
        "tuples": None,
        "allow_threads": None,
        "profile": True,
        "profile_window_s": window_s,
        "explained": False,
    }


@pytest.mark.parametrize("simulated", [False, True], ids=["real", "simulated"])
def test_operators_annotated_manual_never_get_a_queue(simulated, tmp_path):
    """Their users want their latency."""
    path = tmp_path / "mine.json"
    work = [{"work": f"work{number}", "cost": 300} for number in range(8)]
    manual = {"threading": {"model": "manual"}, "operators": work[2:5]}
    operators = [{"source": "source"}, *work[:2], manual, *work[5:], {"sink": "sink"}]
    names = ["source", *(operator["work"] for operator in work), "sink"]
    path.write_text(
        json.dumps({"operators": operators, "streams": [list(pair) for pair in pairwise(names)]})
    )
    asked = replace(
        spec(simulated),
        topology="mine",
        graph_file=str(path),
        parameters={},
        warmup=0.1 if simulated else 3.0,
    )
    record = run_once(asked)
    assert record["correct"] and record["error"] is None
    assert {"work2[0]", "work3[0]", "work4[0]"}.isdisjoint(record["elastic"]["places"])
    samples = [*record["adaptation"], *record["samples"]]
    on = {port for sample in samples for port in sample["switched_on"]}
    assert on <= set(record["elastic"]["places"])
    assert on or not simulated  # real threads get none while others have the machine


def test_a_law_that_wants_a_queue_where_there_is_no_place_fails_the_run(scripted, monkeypatch):
    monkeypatch.setattr(Scripted, "script", (frozenset({13}),))
    record = run_once(spec(simulated=True))
    assert record["error"] == "law scripted: queued must hold places from 0 to 12, not 13"
    assert not record["correct"]


def test_a_law_that_places_no_queues_is_no_law_of_multilevel():
    with pytest.raises(UserError, match="law 'pldi17' does not place queues"):
        check_law(Multilevel(law="pldi17"))


def test_the_pool_of_a_multilevel_run_is_that_of_its_options(scripted):
    graph, _ = build("pipeline", {"operators": 3}, seed=0)
    law = pool_law(layout_of(graph, Multilevel(threads=3, minimum=2, maximum=5)))
    assert (law.bounds.minimum, law.bounds.start, law.bounds.maximum) == (2, 3, 5)


def test_the_law_of_a_run_knows_what_its_engine_has_chosen_and_how_many_tuples_move_at_once(
    scripted,
):
    graph, _ = build("pipeline", {"operators": 3}, seed=0)
    layout = pool_law(layout_of(graph, Multilevel(queue_capacity=64), batch=1)).layout
    assert (layout.queue_capacity, layout.batch) == (64, 1)

"""Experiments behind reasons: each that a claim names exists, and cells say what was seen."""

from __future__ import annotations

import re

from harness.claims.claim import papers
from studies import reasons


def test_every_experiment_that_a_claim_names_exists():
    named = {
        run.split()[0]
        for paper in papers().values()
        for claim in paper.claims
        for text in claim.reasons.values()
        for run in re.findall(r"`python -m studies\.reasons (.+?)`", text)
    }
    assert named
    assert named <= set(reasons.EXPERIMENTS)


def test_a_run_that_never_settled_counts_by_hops_and_has_a_star():
    settled = {"settled": True, "sink_tuples_per_s": 2000.0}
    others = {"settled": False, "sink_tuples_per_s": 9000.0}
    others["simulation"] = {"passed_tuples_per_s": 3000.0}
    assert reasons.throughput([settled]) == "2.0"
    assert reasons.throughput([settled, others]) == "2.0 to 3.0 *"


def test_a_silence_is_the_longest_time_without_a_tuple_sent():
    rates = (5.0, 0.0, 0.0, 7.0, 0.0)
    samples = [{"source_tuples_per_s": rate, "elapsed_s": 0.25} for rate in rates]
    assert reasons.silence(samples) == 0.5
    assert reasons.silence(samples[:1]) == 0.0


def test_the_end_of_a_run_is_its_last_third(monkeypatch):
    levels = (1, 2, 8, 4, 4, 5)
    samples = [{"threads_active": each, "sink_tuples_per_s": 10.0 * each} for each in levels]
    monkeypatch.setattr(reasons, "law_samples", lambda *cell: samples)
    assert reasons.adapted("a cell") == reasons.End(highest=8, level=5, changes=1, rate=45.0)


def test_constants_are_those_of_the_machine():
    assert reasons.free_smt("xeon") == {
        "core.smt_fp.1": 1.0,
        "core.smt_fp.2": 2.0,
        "core.smt_mixed.1": 1.0,
        "core.smt_mixed.2": 2.0,
    }
    dear = reasons.contended("xeon")
    assert dear["atomic.contended.176"] == 120
    assert all(path.startswith("atomic.") for path in dear)


def test_a_law_is_run_in_the_cell_that_is_asked_for(monkeypatch):
    seen = []
    monkeypatch.setattr(reasons, "run_once", lambda run: seen.append(run) or {"samples": [run]})
    cell = ("pipeline", {"operators": 10, "cost": 1}, "xeon", "streams-4.2", 8, 20, 5, 3)
    [run] = reasons.law_samples(*cell, {"cost.lock": 99.0})
    assert (run.place.machine, run.place.software) == ("xeon", "streams-4.2")
    assert (run.period_s, run.duration_s, run.seed) == (0.02, 0.1, 3)
    assert (run.model.law, run.constants) == ("streams", {"cost.lock": 99.0})


def test_a_law_as_printed_is_run_from_where_it_is_asked_to_begin(monkeypatch):
    seen = []
    sample = {"threads_active": 3, "sink_tuples_per_s": 10.0}
    monkeypatch.setattr(
        reasons, "run_once", lambda run: seen.append(run) or {"samples": [sample] * 3}
    )
    cell = ("mix", {"width": 2, "depth": 2, "cost": 1}, "xeon", "p17-printed", 64, 20, 24, 0)
    reasons.adapted(*cell, law="pldi17", minimum=2)
    assert [(run.model.law, run.model.minimum) for run in seen] == [("pldi17", 2)]


def test_a_level_after_a_burst_is_the_last_before_the_next_one(monkeypatch):
    # a period passes 200,000 tuples: the burst begins in the second, the next one in the seventh
    levels = [1, 4, 8, 6, 5, 3, 9, 9]
    monkeypatch.setattr(reasons, "balanced", lambda *_: (levels, [1e8] * len(levels)))
    rows = list(reasons.bursts("streams-4.2"))
    assert rows[2] == "| 100 | 5 % | 8, 8, 8 | 3, 3, 3 |"


def test_noise_is_counted_at_one_level_only(monkeypatch):
    levels, rates = [1, 1, 2, 2], [100.0, 100.0, 300.0, 300.0]
    monkeypatch.setattr(reasons, "balanced", lambda *_: (levels, rates))
    rows = list(reasons.noise("streams-4.2"))
    assert rows[2].startswith("| 1 ms | 100 | 5 % | 0.000 |")


def test_a_cell_with_another_sink_has_its_constants_and_seeds(monkeypatch):
    seen = []
    record = {"settled": True, "sink_tuples_per_s": 1000.0}
    monkeypatch.setattr(reasons, "run_once", lambda run: seen.append(run) or record)
    rows = list(reasons.few("streams-4.2"))
    assert len(rows) == 2 + 2 * 4
    assert {run.seed for run in seen} == {0, 1}
    assert {run.constants.get("cost.sink_tuple") for run in seen} == {None, 300, 1000}


def test_vwap_by_hand_has_the_operators_of_vwap():
    assert list(reasons.vwap_graph().operators) == list(reasons.vwap_by_hand().operators)

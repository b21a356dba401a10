"""Comparisons of graphs whose parts no stream connects."""

from dataclasses import replace

import pytest

from harness.compare.contest import By
from harness.compare.export import row_of
from harness.compare.parts import arrived_per_s, part_notes
from harness.compare.report import notes, table_of, time_text
from harness.measurement.spec import PeerModel
from tests.compare.made_contests import compared, made_record


def operator(name, behind=(), tuples=0):
    return {"name": name, "behind": list(behind), "tuples": tuples}


PAIR = [
    operator("fast", tuples=900),
    operator("slow", tuples=20),
    operator("fast.sink", ["fast"], 800),
    operator("slow.sink", ["slow"], 10),
]


def explained(operators):
    return {"time_use": {"operators": operators, "elapsed_s": 2.0}}


def noted(operators, **options):
    contest, _ = compared({"one": 100.0, "other": 50.0}, **options)
    contest.contenders[0].explained = explained(operators)
    return contest


def test_a_part_counts_what_its_last_operators_received():
    fast, slow = PAIR[::2], PAIR[1::2]
    assert arrived_per_s(fast, 2.0) == 400.0
    assert arrived_per_s(slow, 2.0) == 5.0
    both_ends = [operator("s", tuples=9), operator("x", ["s"], 4), operator("y", ["s"], 6)]
    assert arrived_per_s(both_ends, 1.0) == 10.0


def test_a_comparison_tells_the_rate_of_each_part():
    told = notes(noted(PAIR))
    assert any("2 parts of this graph (that of fast, that of slow)" in line for line in told)
    assert "one: its parts had 400 and 5 tuples/s in its explained run" in told


def of_parts(run, rate):
    """Arm `one` is slow in the part of few tuples, and arm `other` a bit in that of many."""
    fast_ns, slow_ns = {"one": (1e6, 9e6), "other": (2e6, 3e6)}[run.arm]
    made = made_record(run, rate, p99=fast_ns * rate)
    made["latency_ns"]["parts"] = [
        {"first": "fast", "p99": fast_ns * rate, "count": 999},
        {"first": "slow", "p99": slow_ns * rate, "count": 9},
    ]
    return made


def by_latency(change=lambda record: None):
    """A comparison by latency of arms that differ in their parts; `change` is done to each
    record."""

    def make(run, rate):
        made = of_parts(run, rate)
        change(made)
        return made

    return compared({"one": 1.0, "other": 1.0}, by=By.LATENCY, make=make)[0]


def test_arms_are_compared_by_the_longest_latency_of_the_parts():
    made = by_latency()
    assert [arm.name for arm in made.leaders] == ["other"]
    made.contenders[0].explained = explained(PAIR)
    (told, _) = part_notes(made)
    assert "compared by the longest p99 latency of the parts, so a slow part decides" in told
    titles, rows = table_of(made)
    shown = {row[0]: row[titles.index("p99 latency")] for row in rows}
    expected = {arm.name: time_text(arm.mean(made.p99_of)) for arm in made.contenders}
    assert shown == expected and 2.8e6 < made.contenders[1].mean(made.p99_of) < 3.2e6
    assert row_of(made, made.contenders[1])["p99_latency_s"] == pytest.approx(3e-3, rel=0.05)


def test_beside_a_peer_all_sinks_count_together():
    """A peer has one histogram, and arms are compared by the same."""
    made = by_latency()
    made.contenders[1].run = replace(made.contenders[1].run, model=PeerModel("go", None))
    assert made.p99_of(of_parts(made.contenders[0].run, 1.0)) == 1e6
    made.contenders[0].explained = explained(PAIR)
    (told, _) = part_notes(made)
    assert "latencies are those of the tuples of all sinks together" in told
    assert "compare each part in a graph of its own" in told


def test_records_without_parts_are_compared_by_all_sinks():
    made = by_latency(lambda record: record["latency_ns"].pop("parts"))
    assert [arm.name for arm in made.leaders] == ["one"]
    made.contenders[0].explained = explained(PAIR)
    assert "latencies are those of the tuples of all sinks together" in part_notes(made)[0]


def test_an_arm_that_sends_nothing_through_a_part_is_not_compared():
    def silence(record):
        if record["arm"] == "one":
            record["latency_ns"]["parts"][1] |= {"p99": None, "count": 0}

    (one, other) = by_latency(silence).contenders
    assert one.failure.startswith("no tuple arrived in the part of slow in the measured window")
    assert not other.failure


def test_a_graph_of_one_part_and_arms_without_explanation_have_no_such_note():
    assert part_notes(noted([operator("a"), operator("b", ["a"])])) == []
    contest, _ = compared({"one": 100.0, "other": 50.0})
    assert part_notes(contest) == []

"""Comparisons of graphs whose parts no stream connects."""

from hypothesis import given
from hypothesis import strategies as st

from harness.compare.contest import By
from harness.compare.parts import arrived_per_s, part_notes, parts_of
from harness.compare.report import notes
from tests.compare.made_contests import compared


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


def test_operators_that_streams_connect_are_one_part():
    joined = {"a": [], "b": [], "join": ["a", "b"], "c": []}
    assert parts_of(joined) == [["a", "b", "join"], ["c"]]


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


def test_a_comparison_by_latency_says_that_all_sinks_count_together():
    (told, _) = part_notes(noted(PAIR, by=By.LATENCY))
    assert "latencies are those of the tuples of all sinks together" in told
    assert "compare each part in a graph of its own" in told


def test_a_graph_of_one_part_and_arms_without_explanation_have_no_such_note():
    assert part_notes(noted([operator("a"), operator("b", ["a"])])) == []
    contest, _ = compared({"one": 100.0, "other": 50.0})
    assert part_notes(contest) == []


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=60), st.data())
def test_parts_are_what_can_be_reached_along_streams_in_either_direction(streams, data):
    order = data.draw(st.permutations(range(31)))
    behind = {str(each): [str(a) for a, b in streams if b == each] for each in order}
    beside = {each: set() for each in range(31)}
    for one, other in streams:
        beside[one].add(other)
        beside[other].add(one)

    def reached(first):
        seen, left = {first}, [first]
        while left:
            for each in beside[left.pop()] - seen:
                seen.add(each)
                left.append(each)
        return frozenset(map(str, seen))

    found = {frozenset(part) for part in parts_of(behind)}
    assert found == {reached(each) for each in range(31)}

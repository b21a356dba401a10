"""The shipped scheduler of co-routines resumes whom the reference would (scheduler.py), and leaves
the same behind.
"""

from __future__ import annotations

import ctypes

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from harness.models.policy import policies
from tests.runtime.scheduler import PICK, STUCK, Graph, Operator, Reference, library, shipped

pytestmark = pytest.mark.plain_build

RATES = st.sampled_from([0.0, 1e5, 3e6])


LEAVES_TUPLES_BEHIND = Graph(
    [
        Operator({}, {0: 1}, steps=1),
        Operator({}, {1: 1}, steps=20),
        Operator({0: 2, 1: 1}, {}, cost_ns=100),
    ],
    [4, 4],
)
"""The last operator will never get what it needs of the first source, and returns; the other one
waits for room there.
"""


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Operators of one to three input ports, each with one to three senders, all of which come
    before.
    """
    sources = draw(st.integers(1, 2))
    operators, capacities = [], []
    for index in range(sources + draw(st.sampled_from([4, 6, 2, 1]))):
        operator = Operator({}, {}, waits_for_any=draw(st.booleans()))
        operator.cost_ns = draw(st.sampled_from([300, 1, 5000, 0]))
        operator.batch = draw(st.sampled_from([1, 4, 32]))
        operator.reads_per_s, operator.writes_per_s = draw(RATES), draw(RATES)
        operator.gain_per_s = draw(st.sampled_from([0.5, 1.0, 7.0]))
        for _ in range(0 if index < sources else draw(st.integers(1, 3))):
            port = len(capacities)
            operator.needs[port] = draw(st.integers(1, 4))
            capacities.append(draw(st.integers(operator.needs[port], 12)))
            for writer in draw(st.sets(st.integers(0, index - 1), min_size=1, max_size=3)):
                operators[writer].gives[port] = draw(st.sampled_from([1, 1, 2, 3, 0]))
        if not operator.needs:
            operator.steps = draw(st.sampled_from([40, 17, 3, 0]))
            operator.gap_ns = draw(st.sampled_from([0, 0, 2000]))
        operators.append(operator)
    return Graph(operators, capacities)


@pytest.mark.parametrize("policy", policies())
@given(graph=graphs(), quantum_ns=st.sampled_from([8000, 10**6, 1000, 1]))
@example(graph=LEAVES_TUPLES_BEHIND, quantum_ns=10**6)
@settings(max_examples=60, deadline=None)
def test_the_shipped_scheduler_does_step_by_step_what_the_reference_says(
    policy: str, graph: Graph, quantum_ns: int
) -> None:
    rows = shipped(graph, policy, quantum_ns)
    event("stuck" if STUCK in rows[:, 0] else "comes to its end")
    assert Reference(graph, policy, quantum_ns, rows).run()


def test_the_reference_tells_when_another_one_is_resumed() -> None:
    graph = Graph(
        [Operator({}, {0: 1}, steps=5), Operator({0: 1}, {1: 1}), Operator({1: 1}, {})], [4, 4]
    )
    rows = shipped(graph, "max_queue_length", 10**6)
    Reference(graph, "max_queue_length", 10**6, rows.copy()).run()
    picks = [place for place, row in enumerate(rows) if row[0] == PICK]
    rows[picks[1]][1] = 2 if rows[picks[1]][1] != 2 else 1
    with pytest.raises(AssertionError):
        Reference(graph, "max_queue_length", 10**6, rows).run()


def test_a_replica_knows_when_the_tuples_in_its_hand_left_their_source() -> None:
    assert library().age_in_hand(ctypes.c_int64(1234)) == 1234

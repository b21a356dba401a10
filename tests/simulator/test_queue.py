"""A simulated queue gives back what it was given, however its tuples follow each other
(ring.hpp).
"""

from __future__ import annotations

from collections import deque
from itertools import chain

from hypothesis import given
from hypothesis import strategies as st
from tests.simulator.probes import through_a_queue

DATA, FINAL, WINDOW = range(3)
TUPLE, RUN = 32, 56  # bytes
LEAST = 4 * RUN
Tuple = tuple[int, int, int, int, int]  # sequence, born_ns, path, order, kind


def run(
    first: int, step: int, count: int, path: int = 0, order: int = 0, order_step: int = 0
) -> list[Tuple]:
    return [
        ((first + i * step) % 2**64, 0, path, (order + i * order_step) % 2**32, DATA)
        for i in range(count)
    ]


single = st.tuples(
    st.integers(0, 3),
    st.sampled_from((0, 0, 5)),
    st.integers(0, 1),
    st.integers(0, 3),
    st.sampled_from((DATA, DATA, WINDOW, FINAL)),
)
batches = st.one_of(
    st.lists(single, min_size=1, max_size=32),
    st.builds(
        run,
        st.sampled_from((0, 32, 64, 2**64 - 5)),
        st.sampled_from((1, 3, 1000)),
        st.integers(1, 32),
        st.integers(0, 1),
        st.sampled_from((0, 2**32 - 5)),
        st.integers(0, 2),
    ),
)
pushes = st.tuples(batches, st.sampled_from((1, 1, 2, 7)), st.sampled_from((0, 0, 3)))


@given(st.lists(st.one_of(pushes, st.integers(0, 40)), max_size=60))
def test_tuples_come_out_as_they_went_in(steps: list[tuple[list[Tuple], int, int] | int]) -> None:
    queued: deque[Tuple] = deque()
    done, taken = [], []
    for step in steps:
        if isinstance(step, int):
            done.append(min(step, len(queued)))
            taken.append([queued.popleft() for _ in range(done[-1])])
        else:
            tuples, spacing, path_step = step
            done.append(step)
            queued += [
                (t[0], t[1], t[2] + (0 if t[4] == FINAL else path_step), *t[3:])
                for t in tuples[::spacing]
            ]
    assert through_a_queue(1000, done)[:2] == (taken, len(queued))


def test_batches_that_go_on_are_one_run_also_after_some_of_it_was_taken() -> None:
    steps = [(run(0, 1, 32), 1, 0), 20, (run(32, 1, 32), 1, 0), 30, (run(64, 1, 4), 1, 0), 18]
    given_back, left, took = through_a_queue(64, steps)
    assert list(chain(*given_back)) == run(0, 1, 68)
    assert (left, took) == (0, LEAST)


def test_what_a_source_has_stamped_begins_a_run() -> None:
    stamped = [(0, 7, 0, 0, DATA), *run(1, 1, 3), (4, 9, 0, 0, DATA), *run(5, 1, 3)]
    assert through_a_queue(64, [(stamped, 1, 0), 1, 7])[:2] == ([stamped[:1], stamped[1:]], 0)


def test_a_queue_of_batches_of_a_source_takes_a_tenth_of_what_its_tuples_would() -> None:
    batches = [([(32 * i, 5, 0, 0, DATA), *run(32 * i + 1, 1, 31)], 1, 0) for i in range(32)]
    assert through_a_queue(1024, batches)[1:] == (1024, 32 * RUN)
    assert 32 * RUN < 1024 * TUPLE / 10


def test_a_queue_grows_by_the_runs_in_it_and_not_by_those_that_were() -> None:
    """Runs of one tuple each, three at a time, many times round."""
    steps = [step for i in range(100) for step in (([(0, 5, i, 0, DATA)] * 3, 1, 0), 3)]
    assert through_a_queue(64, steps)[1:] == (0, LEAST)

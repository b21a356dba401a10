"""A simulated queue gives back what it was given, however its tuples follow each other (ring.hpp)."""

from __future__ import annotations

from collections import deque
from itertools import chain

from harness.simulator.probes import through_a_queue
from hypothesis import given
from hypothesis import strategies as st

DATA, FINAL, WINDOW = range(3)
Tuple = tuple[int, int, int, int, int, int]  # sequence, born_ns, path, order, mark, kind


def run(first: int, step: int, count: int, path: int = 0, order: int = 0, order_step: int = 0) -> list[Tuple]:
    return [((first + i * step) % 2**64, 0, path, (order + i * order_step) % 2**32, 0, DATA) for i in range(count)]


single = st.tuples(
    st.integers(0, 3),
    st.sampled_from((0, 0, 5)),
    st.integers(0, 1),
    st.integers(0, 3),
    st.integers(0, 1),
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
            queued += [(t[0], t[1], t[2] + (0 if t[5] == FINAL else path_step), *t[3:]) for t in tuples[::spacing]]
    assert through_a_queue(1000, done) == (taken, len(queued))


def test_a_run_goes_on_over_batches_and_after_some_of_it_was_taken() -> None:
    steps = [(run(0, 1, 32), 1, 0), 20, (run(32, 1, 32), 1, 0), 30, (run(64, 1, 4), 1, 0), 18]
    given_back, left = through_a_queue(64, steps)
    assert list(chain(*given_back)) == run(0, 1, 68)
    assert left == 0


def test_what_a_source_has_stamped_begins_a_run() -> None:
    stamped = [(0, 7, 0, 0, 0, DATA), *run(1, 1, 3), (4, 9, 0, 0, 0, DATA), *run(5, 1, 3)]
    assert through_a_queue(64, [(stamped, 1, 0), 1, 7]) == ([stamped[:1], stamped[1:]], 0)

"""The counts of `block_ranks`, compiled: a call of the gate asks for them thousands of times, and
its tests a thousand times more."""

from libc.math cimport fabs
from libcpp.algorithm cimport sort
from libcpp.pair cimport pair
from libcpp.vector cimport vector

# value on the metric's scale, and index: 4 to a block, base's two first
ctypedef pair[double, int] Process
# first: its absolute value and the tie-breaker; second: its sign, 1, 0 or -1
ctypedef pair[pair[double, double], int] Score


def pair_counts(const double[:, ::1] base, const double[:, ::1] head, double shift):
    """Return (above, below): the numbers of pairs of blocks i <= j whose scores at `shift` add up
    to more than 0, and to less.

    `base` and `head` are values on the metric's scale (`scale`), a row for each block, two to a
    row. A score is the ranks, among all processes, of head's two values minus `shift`, less those
    of base's two. A score of 0 has the sign of the block's mean difference minus `shift`. Scores of
    equal size are ordered by that mean.
    """
    cdef Py_ssize_t blocks = base.shape[0], i, k, first, last
    cdef vector[Process] processes
    cdef vector[double] scores
    cdef vector[Score] ordered
    cdef double rank, mean
    cdef int sign, place
    cdef long won, lost, even, above = 0, below = 0, ups = 0, downs = 0, evens = 0
    processes.reserve(4 * blocks)
    for i in range(blocks):
        for k in range(2):
            processes.push_back(Process(base[i, k], <int> (4 * i + k)))
            processes.push_back(Process(head[i, k] - shift, <int> (4 * i + 2 + k)))
    sort(processes.begin(), processes.end())
    scores.assign(blocks, 0.0)
    first = 0
    while first < 4 * blocks:
        last = first
        while last < 4 * blocks and processes[last].first == processes[first].first:
            last += 1
        # twice the mean rank of these equal values, counted from 1/2, so that it is whole
        rank = first + last
        for k in range(first, last):
            place = processes[k].second
            scores[place // 4] += rank if place % 4 >= 2 else -rank
        first = last
    ordered.reserve(blocks)
    for i in range(blocks):
        mean = (head[i, 0] - base[i, 0] + head[i, 1] - base[i, 1]) / 2 - shift
        sign = _sign(scores[i]) if scores[i] != 0 else _sign(mean)
        ordered.push_back(Score(pair[double, double](fabs(scores[i]), sign * mean), sign))
    sort(ordered.begin(), ordered.end())
    first = 0
    # a sum has the sign of the larger score; of two equally large scores, the sign of both
    while first < blocks:
        last, won, lost, even = first, 0, 0, 0
        while last < blocks and ordered[last].first == ordered[first].first:
            won += ordered[last].second > 0
            lost += ordered[last].second < 0
            even += ordered[last].second == 0
            last += 1
        above += won * (downs + evens + ups) + won * (won + 1) // 2
        below += lost * (downs + evens + ups) + lost * (lost + 1) // 2
        ups, downs, evens = ups + won, downs + lost, evens + even
        first = last
    return above, below


cdef int _sign(double value) noexcept:
    return (value > 0) - (value < 0)

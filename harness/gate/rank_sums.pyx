"""The test of `block_ranks`, compiled: a call of the gate asks for it thousands of times, and its
tests a thousand times more."""

from libc.math cimport erfc, sqrt
from libcpp.algorithm cimport sort
from libcpp.pair cimport pair
from libcpp.vector cimport vector

# value on the metric's scale, and index: 4 to a block, base's two first
ctypedef pair[double, int] Process

cdef int LEVELS = 128  # scores of many processes, at most: they bound the time of the exact chances
cdef int EXACT = 200  # blocks


def tails(const double[:, ::1] base, const double[:, ::1] head, double shift, int free):
    """Return (P(W >= w), P(W <= w)) of the sum w of head's scores at `shift`, over the orders that
    its blocks could have had.

    `base` and `head` are values on the metric's scale (`scale`), a row for each block, two to a
    row. A process has its rank among all processes, with `shift` subtracted from head's, as its
    score; equal values share the mean of their ranks. Any two of the four processes of each of the
    first `free` blocks could have been head's; of a later block, the other two. If there are more
    than `EXACT` blocks, W counts as normal.
    """
    cdef Py_ssize_t blocks = base.shape[0], i, k, at
    cdef vector[long] scores = _scores(base, head, shift, LEVELS)
    cdef long[6] sums
    cdef long least, most, total = 0, observed = 0, width
    cdef int ways
    cdef double mean, variance = 0.0, excess = 0.0, upper = 0.0, lower = 0.0
    cdef vector[double] chances, following
    cdef bint exact = blocks <= EXACT
    if exact:
        chances.push_back(1.0)
    for i in range(blocks):
        ways = _sums(&scores[4 * i], i < free, sums)
        least = most = sums[0]
        mean = 0.0
        for k in range(ways):
            least, most = min(least, sums[k]), max(most, sums[k])
            mean += <double> sums[k] / ways
        for k in range(ways):
            variance += (sums[k] - mean) ** 2 / ways
        excess += sums[0] - mean
        observed += sums[0] - least
        width = most - least
        if exact and width:
            following.assign(total + width + 1, 0.0)
            for k in range(ways):
                for at in range(total + 1):
                    following[at + sums[k] - least] += chances[at]
            total += width
            for at in range(total + 1):
                following[at] /= ways
            chances.swap(following)
    if not exact:
        if variance == 0.0:
            return 1.0, 1.0
        return (erfc((excess - 0.5) / sqrt(2 * variance)) / 2,
                erfc((-excess - 0.5) / sqrt(2 * variance)) / 2)
    # each tail is summed from its rare end, so that small chances keep their digits
    for at in range(total, observed - 1, -1):
        upper += chances[at]
    for at in range(observed + 1):
        lower += chances[at]
    return min(upper, 1.0), min(lower, 1.0)


def excess(const double[:, ::1] base, const double[:, ::1] head, double shift):
    """Return head's ranks at `shift` less those of base, all added up: twice the sum of head's
    ranks less its mean."""
    cdef Py_ssize_t k
    cdef long found = 0
    cdef vector[long] scores = _scores(base, head, shift, 0)
    for k in range(<Py_ssize_t> scores.size()):
        found += scores[k] if k % 4 >= 2 else -scores[k]
    return found


cdef vector[long] _scores(
    const double[:, ::1] base, const double[:, ::1] head, double shift, int levels
):
    """Return twice the rank of each process, 4 to a block; at most `levels` different scores, if
    that is not 0."""
    cdef Py_ssize_t blocks = base.shape[0], i, k, first, last
    cdef vector[Process] processes
    cdef vector[long] scores
    cdef long rank
    processes.reserve(4 * blocks)
    for i in range(blocks):
        for k in range(2):
            processes.push_back(Process(base[i, k], <int> (4 * i + k)))
            processes.push_back(Process(head[i, k] - shift, <int> (4 * i + 2 + k)))
    sort(processes.begin(), processes.end())
    scores.assign(4 * blocks, 0)
    first = 0
    while first < 4 * blocks:
        last = first
        while last < 4 * blocks and processes[last].first == processes[first].first:
            last += 1
        rank = first + last
        if levels and 8 * blocks > levels:
            rank = rank * levels // (8 * blocks)
        for k in range(first, last):
            scores[processes[k].second] = rank
        first = last
    return scores


cdef int _sums(const long* scores, bint free, long* sums) noexcept:
    """Write the sums of scores that head of a block could have had, its own first. Return their
    number."""
    cdef int count = 2, i, k
    sums[0], sums[1] = scores[2] + scores[3], scores[0] + scores[1]
    if free:
        for i in range(2):
            for k in range(2, 4):
                sums[count] = scores[i] + scores[k]
                count += 1
    return count

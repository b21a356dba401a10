"""What each thread has to do, given where queues stand: a placement cuts a graph into regions (M19 §2).

Region   operators joined by calls, behind a source or a queue (its *head*). At most one thread executes it at a time (ALONE).
Holder   who alone executes an operator: the one region that reaches it; or, where several do, the thread that has its lock. The lock
         is held until the tuples are in a queue or through the operators called behind it (P17 §5.2), so those have it as their holder.

For a tuple that is called into operator i, in ns,
  D(i) = work(i) + (call + lock(i)) x pieces(i) + sum over its streams of tuples x (push, or D of the target).
Pieces: tuples travel in batches, which a split cuts and a queue makes whole again; calls and locks are paid for by the piece.
Then a region needs arrivals x (take + D(head)) for each tuple of the sources, and a locked operator is busy for tuples x D.
"""

import numpy as np

from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector


cdef class Regions:
    """A layout by numbers; heads are its places, in order, and behind them its threaded ports."""

    cdef readonly int operators, places, heads
    cdef vector[int32_t] order, first_in, in_source, in_head, first_out, out_target, out_head, first_head, head_of, is_source
    cdef vector[double] in_tuples, out_tuples, arrivals, tuples

    def __init__(self, layout):
        """`layout`: a harness.elasticity.multilevel.Layout without cycles."""
        n = self.operators = layout.operators
        self.places = len(layout.ports)
        threaded = sorted({link.target for link in layout.links if link.threaded})
        self.heads = self.places + len(threaded)
        head_of_threaded = {target: self.places + k for k, target in enumerate(threaded)}
        incoming, outgoing = [[] for _ in range(n)], [[] for _ in range(n)]
        arrivals, at = [0.0] * self.heads, [*layout.at, *threaded]
        for link in layout.links:
            head = head_of_threaded[link.target] if link.threaded else -1 if link.place is None else link.place
            sent = layout.tuples[link.source]
            share = link.tuples / sent if sent > 0.0 else 0.0
            incoming[link.target].append((link.source, head, share))
            outgoing[link.source].append((link.target, head, share))
            if head >= 0:
                arrivals[head] += link.tuples
        heads_at = [[] for _ in range(n)]
        for head, operator in enumerate(at):
            heads_at[operator].append(head)
        self.order = _ordered(incoming, outgoing)
        self.first_in, self.first_out, self.first_head = _firsts(incoming), _firsts(outgoing), _firsts(heads_at)
        self.in_source = [source for each in incoming for source, _, _ in each]
        self.in_head = [head for each in incoming for _, head, _ in each]
        self.in_tuples = [share for each in incoming for _, _, share in each]
        self.out_target = [target for each in outgoing for target, _, _ in each]
        self.out_head = [head for each in outgoing for _, head, _ in each]
        self.out_tuples = [share for each in outgoing for _, _, share in each]
        self.head_of = [head for each in heads_at for head in each]
        self.arrivals, self.tuples = arrivals, layout.tuples
        sources = set(layout.sources)
        self.is_source = [index in sources for index in range(n)]

    def measure(
        self,
        const uint8_t[:, ::1] queued,
        const double[::1] work,
        const double[::1] dear,
        const double[::1] near,
        const double[::1] push,
        const double[::1] take,
        const double[:, ::1] lock,
        double call,
        double batch,
    ):
        """Rows of (work of all, of the busiest region, of the busiest lock, squares of regions) [ns a source tuple, ns^2].

        `queued`: placements x places, 0 or 1. `work`: of each operator [ns a tuple]; `dear`: what a push to each head costs over the
        usual; `near`: the same by sender, where it has a queue itself. By placement: `push` and `take` [ns a tuple], and `lock` by
        contenders, 0 .. [ns]. `lock` and `call` are of a tuple in a batch of `batch`.
        """
        cdef int row, place, rows = queued.shape[0]
        result = np.empty((rows, 4))
        cdef double[:, ::1] out = result
        cdef vector[int32_t] holder, contenders, seen
        cdef vector[uint8_t] heads
        cdef vector[double] down, whole
        with nogil:
            for row in range(rows):
                heads.assign(self.heads, 1)
                for place in range(self.places):
                    heads[place] = queued[row, place]
                self._hold(heads, holder, contenders, seen, whole)
                self._add(heads, contenders, whole, down, work, dear, near, push[row], take[row], lock[row], call, batch, &out[row, 0])
        return result

    def shared(self, const uint8_t[::1] queued):
        """How many contend for each operator: 1 where it needs no lock."""
        cdef vector[int32_t] holder, contenders, seen
        cdef vector[uint8_t] heads
        cdef vector[double] whole
        cdef int place
        heads.assign(self.heads, 1)
        for place in range(self.places):
            heads[place] = queued[place]
        self._hold(heads, holder, contenders, seen, whole)
        return list(contenders)

    cdef void _hold(
        self,
        vector[uint8_t]& on,
        vector[int32_t]& holder,
        vector[int32_t]& contenders,
        vector[int32_t]& seen,
        vector[double]& whole,
    ) noexcept nogil:
        """Who holds each operator, how many want to, and what is left of a batch. Holders: heads, then sources, then locks, by number."""
        cdef int k, i, e, who, found, last
        cdef double left
        cdef int n = self.operators
        holder.assign(n, -1)
        contenders.assign(n, 1)
        seen.assign(self.heads + 2 * n, -1)
        whole.resize(n)
        for k in range(n):
            i, found, last, left = self.order[k], 0, -1, 0.0
            if self.is_source[i]:
                found, last, left = 1, self.heads + i, 1.0
            for e in range(self.first_head[i], self.first_head[i + 1]):
                if on[self.head_of[e]]:
                    found += 1
                    last, left = self.head_of[e], 1.0
            for e in range(self.first_in[i], self.first_in[i + 1]):
                if self.in_head[e] >= 0 and on[self.in_head[e]]:
                    continue
                who = holder[self.in_source[e]]
                left = max(left, whole[self.in_source[e]] * min(1.0, self.in_tuples[e]))
                if seen[who] != i:
                    seen[who] = i
                    found += 1
                    last = who
            contenders[i], whole[i] = found, left
            holder[i] = last if found == 1 else self.heads + n + i

    cdef void _add(
        self,
        vector[uint8_t]& on,
        vector[int32_t]& contenders,
        vector[double]& whole,
        vector[double]& down,
        const double[::1] work,
        const double[::1] dear,
        const double[::1] near,
        double push,
        double take,
        const double[::1] lock,
        double call,
        double batch,
        double* out,
    ) noexcept nogil:
        """Work from the sinks up; fills the row."""
        cdef int k, i, e, head
        cdef double d, region, sender, all_ = 0.0, busiest = 0.0, locked = 0.0, squares = 0.0
        cdef int most = lock.shape[0] - 1
        down.resize(self.operators)
        for k in range(self.operators - 1, -1, -1):
            i = self.order[k]
            d = call
            if contenders[i] > 1:
                d += lock[min(contenders[i], most)]
            d = work[i] + d * min(batch, 1.0 / max(whole[i], 1e-9))
            sender = 1.0
            for e in range(self.first_head[i], self.first_head[i + 1]):
                if on[self.head_of[e]]:
                    sender = near[i]
            for e in range(self.first_out[i], self.first_out[i + 1]):
                head = self.out_head[e]
                d += self.out_tuples[e] * (push * dear[head] * sender if head >= 0 and on[head] else down[self.out_target[e]])
            down[i] = d
            if contenders[i] > 1:
                locked = max(locked, self.tuples[i] * d)
            for e in range(self.first_head[i], self.first_head[i + 1]):
                head = self.head_of[e]
                if on[head]:
                    region = self.arrivals[head] * (take + d)
                    all_ += region
                    squares += region * region
                    busiest = max(busiest, region)
            if self.is_source[i]:
                all_ += d
                squares += d * d
                busiest = max(busiest, d)
        out[0], out[1], out[2], out[3] = all_, busiest, locked, squares


def _ordered(incoming, outgoing):
    """Operators, each behind all that send to it."""
    waiting = [len(each) for each in incoming]
    ready = [index for index, count in enumerate(waiting) if count == 0]
    order = []
    while ready:
        index = ready.pop()
        order.append(index)
        for link in outgoing[index]:
            waiting[link[0]] -= 1
            if waiting[link[0]] == 0:
                ready.append(link[0])
    return order


def _firsts(lists):
    """Where the entries of each list begin when all are put behind each other; one more, where they end."""
    return [0, *np.cumsum([len(each) for each in lists]).tolist()]

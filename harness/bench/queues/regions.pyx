"""Work of each region and lock under a placement, which cuts a graph into regions (M19 §2).

A *region* is a set of operators joined by calls, behind a source or a queue (its *head*). At most
one thread executes it at a time (ALONE).

The *holder* of an operator is the region that alone reaches it, or the lock if several regions do.
A lock is held until the tuples are in a queue or through the operators called behind it (P17 §5.2),
so the lock is the holder of those operators, too.

The time of a tuple that is called into operator i is, in ns,
  D(i) = work(i) + again(i) x slow(i) + (call(i) + lock(i)) x pieces(i)
       + sum over its streams of tuples x (deal + (push + publish x pieces sent, or D(target))).

*Pieces*: tuples travel in batches, and each piece of a batch costs a call, lock or push. An
operator that deals its tuples out in turn calls with one tuple at a time, and pushes those of one
way at once; a queue makes whole batches of them again. A filter sends runs of neighbours
(`native/submit.hpp`, `kernels.hpp`). *Again*: the share of tuples that come alone from
an operator that had them alone, so that their work waits for the work before.

A region needs arrivals x (take + D(head)) for each tuple of the sources, and a locked operator is
busy for tuples x D.
"""

import numpy as np

from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector


cdef class Regions:
    """Layout by numbers; heads are its places, in order, and then its threaded ports."""

    cdef readonly int operators, places, heads
    cdef vector[int32_t] order, first_in, in_source, in_head, first_out, out_target, out_head
    cdef vector[int32_t] first_head, head_of, is_source
    cdef vector[int32_t] in_dealt, out_dealt, ways
    cdef vector[double] in_tuples, out_tuples, arrivals, tuples

    def __init__(self, layout):
        """Take a `harness.elasticity.Layout` without cycles."""
        n = self.operators = layout.operators
        self.places = len(layout.ports)
        threaded = sorted({link.target for link in layout.links if link.threaded})
        self.heads = self.places + len(threaded)
        head_of_threaded = {target: self.places + k for k, target in enumerate(threaded)}
        incoming, outgoing = [[] for _ in range(n)], [[] for _ in range(n)]
        arrivals, at = [0.0] * self.heads, [*layout.at, *threaded]
        for link in layout.links:
            head = (
                head_of_threaded[link.target]
                if link.threaded
                else -1 if link.place is None else link.place
            )
            sent = layout.tuples[link.source]
            share = link.tuples / sent if sent > 0.0 else 0.0
            incoming[link.target].append((link.source, head, share, link.dealt))
            outgoing[link.source].append((link.target, head, share, link.dealt))
            if head >= 0:
                arrivals[head] += link.tuples
        heads_at = [[] for _ in range(n)]
        for head, operator in enumerate(at):
            heads_at[operator].append(head)
        self.order = _ordered(incoming, outgoing)
        self.first_in, self.first_out, self.first_head = (
            _firsts(incoming), _firsts(outgoing), _firsts(heads_at)
        )
        self.in_source, self.in_head, self.in_tuples, self.in_dealt = _columns(incoming)
        self.out_target, self.out_head, self.out_tuples, self.out_dealt = _columns(outgoing)
        self.ways = [
            round(1.0 / max(min((share for *_, share, dealt in each if dealt), default=1.0), 1e-9))
            for each in outgoing
        ]
        self.head_of = [head for each in heads_at for head in each]
        self.arrivals, self.tuples = arrivals, layout.tuples
        sources = set(layout.sources)
        self.is_source = [index in sources for index in range(n)]

    def measure(
        self,
        const uint8_t[:, ::1] queued,
        const double[::1] work,
        const double[::1] slow,
        const double[::1] call,
        const double[::1] push_factor,
        const double[::1] near,
        const double[::1] push,
        const double[::1] take,
        const double[:, ::1] lock,
        prices,
        double batch,
    ):
        """Return rows of (work of all, of the busiest region, of the busiest lock, squares of
        regions) [ns a source tuple, ns^2].

        `queued`: placements x places, 0 or 1. By operator: `work` [ns a tuple], `slow` [further ns
        of a tuple again and alone], and `call` [ns a call]. `push_factor`: cost of a push to each
        head over the usual cost; `near`: the same by sender, if it has a queue itself. By
        placement: `push` and `take` [ns a tuple], and `lock` by contenders, 0 .. [ns an entry].
        `prices`: of a push besides its tuples, of each way that is dealt to, and of a tuple there
        [ns]. At most `batch` tuples travel at a time.
        """
        cdef int row, place, rows = queued.shape[0]
        result = np.empty((rows, 4))
        cdef double[:, ::1] out = result
        cdef vector[int32_t] holder, contenders, seen
        cdef vector[uint8_t] heads
        cdef vector[double] down, pieces, alone, again
        cdef double publish = prices[0], way = prices[1], way_tuple = prices[2]
        with nogil:
            for row in range(rows):
                heads.assign(self.heads, 1)
                for place in range(self.places):
                    heads[place] = queued[row, place]
                self._hold(heads, holder, contenders, seen)
                self._cut(heads, pieces, alone, again, 1.0 / batch)
                self._add(
                    heads, contenders, pieces, again, down, work, slow, call, push_factor, near,
                    push[row], take[row], lock[row],
                    publish, way, way_tuple, &out[row, 0],
                )
        return result

    def shared(self, const uint8_t[::1] queued):
        """Return the number of contenders of each operator: 1 if it needs no lock."""
        cdef vector[int32_t] holder, contenders, seen
        cdef vector[uint8_t] heads
        cdef int place
        heads.assign(self.heads, 1)
        for place in range(self.places):
            heads[place] = queued[place]
        self._hold(heads, holder, contenders, seen)
        return list(contenders)

    cdef void _hold(
        self, vector[uint8_t]& on, vector[int32_t]& holder, vector[int32_t]& contenders,
        vector[int32_t]& seen
    ) noexcept nogil:
        """Compute the holder and the contenders of each operator.

        Holders: heads, then sources, then locks, by number.
        """
        cdef int k, i, e, caller, found, last
        cdef int n = self.operators
        holder.assign(n, -1)
        contenders.assign(n, 1)
        seen.assign(self.heads + 2 * n, -1)
        for k in range(n):
            i, found, last = self.order[k], 0, -1
            if self.is_source[i]:
                found, last = 1, self.heads + i
            for e in range(self.first_head[i], self.first_head[i + 1]):
                if on[self.head_of[e]]:
                    found += 1
                    last = self.head_of[e]
            for e in range(self.first_in[i], self.first_in[i + 1]):
                if self.in_head[e] >= 0 and on[self.in_head[e]]:
                    continue
                caller = holder[self.in_source[e]]
                if seen[caller] != i:
                    seen[caller] = i
                    found += 1
                    last = caller
            contenders[i] = found
            holder[i] = last if found == 1 else self.heads + n + i

    cdef void _cut(
        self, vector[uint8_t]& on, vector[double]& pieces, vector[double]& alone,
        vector[double]& again, double least
    ) noexcept nogil:
        """Compute three numbers of each operator.

        `pieces`: pieces a tuple that it gets. `alone`: share of tuples that it gets alone. `again`:
        share of tuples that come alone from an operator that had them alone.
        """
        cdef int k, i, e, source
        cdef double tuples, all_, single = least >= 1.0
        pieces.resize(self.operators)
        alone.resize(self.operators)
        again.resize(self.operators)
        for k in range(self.operators):
            i = self.order[k]
            all_ = pieces[i] = alone[i] = again[i] = 0.0
            for e in range(self.first_in[i], self.first_in[i + 1]):
                source = self.in_source[e]
                tuples = self.tuples[source] * self.in_tuples[e]
                all_ += tuples
                if self.in_head[e] >= 0 and on[self.in_head[e]]:
                    pieces[i] += tuples * least
                    alone[i] += tuples * single
                elif self.in_dealt[e]:
                    pieces[i] += tuples
                    alone[i] += tuples
                    again[i] += tuples * alone[source]
                else:
                    pieces[i] += tuples * self._run(pieces[source], self.in_tuples[e])
                    alone[i] += tuples * alone[source]
                    again[i] += tuples * alone[source]
            if all_ > 0.0:
                pieces[i] /= all_
                alone[i] /= all_
                again[i] /= all_
            else:
                pieces[i], alone[i] = least, single

    cdef double _run(self, double pieces, double share) noexcept nogil:
        """Return the pieces a tuple that an operator passes on undealt: those that it got, or the
        runs that a filter leaves."""
        return pieces if share >= 1.0 else 1.0 - share + share * pieces

    cdef void _add(
        self,
        vector[uint8_t]& on,
        vector[int32_t]& contenders,
        vector[double]& pieces,
        vector[double]& again,
        vector[double]& down,
        const double[::1] work,
        const double[::1] slow,
        const double[::1] call,
        const double[::1] push_factor,
        const double[::1] near,
        double push,
        double take,
        const double[::1] lock,
        double publish,
        double way,
        double way_tuple,
        double* out,
    ) noexcept nogil:
        """Add up the work from the sinks to the sources, and fill the row."""
        cdef int k, i, e, head
        cdef double d, region, sender, sent, all_ = 0.0, busiest = 0.0, locked = 0.0, squares = 0.0
        cdef int most = lock.shape[0] - 1
        down.resize(self.operators)
        for k in range(self.operators - 1, -1, -1):
            i = self.order[k]
            d = call[i]
            if contenders[i] > 1:
                d += lock[min(contenders[i], most)]
            d = work[i] + again[i] * slow[i] + d * pieces[i]
            sender = 1.0
            for e in range(self.first_head[i], self.first_head[i + 1]):
                if on[self.head_of[e]]:
                    sender = near[i]
            for e in range(self.first_out[i], self.first_out[i + 1]):
                head = self.out_head[e]
                if self.out_dealt[e]:
                    sent = min(1.0, pieces[i] * self.ways[i])
                    d += self.out_tuples[e] * (way_tuple + way * sent)
                else:
                    sent = self._run(pieces[i], self.out_tuples[e])
                if head >= 0 and on[head]:
                    d += self.out_tuples[e] * (push * push_factor[head] * sender + publish * sent)
                else:
                    d += self.out_tuples[e] * down[self.out_target[e]]
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
    """Return the operators, each after all that send to it."""
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


def _columns(links):
    """Return the entries of all lists, column by column."""
    return list(zip(*(link for each in links for link in each), strict=True)) or [()] * 4


def _firsts(lists):
    """Return the index of each list's first entry in the concatenation of all lists, and its
    length."""
    return [0, *np.cumsum([len(each) for each in lists]).tolist()]

"""Predicted throughput of a graph under placements of queues: the loads of its parts (`regions`)
and the formula (`physics`).

One pass in the direction of the streams finds the region or lock that executes each operator; one
against it adds up the work. A law asks for hundreds of configurations under dozens of hypotheses in
each step, so this is compiled.
"""

import numpy as np

from libc.math cimport exp, log, sqrt
from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector

from harness.elasticity.layout import BATCH
from harness.elasticity.queues.regions import CALL_COST_IN_LOCKS, Loads

cdef struct Work:
    double work, pushes, pops, entries, single

cdef struct Part:
    Work todo
    double contenders  # 1: a region; more: a lock

cdef struct Placement:
    int32_t begin, locks, end  # its parts: regions, then locks
    double queues, own_threads, hops, entries, single, contenders


cdef inline void _more(Work& whole, const Work& part, double share) noexcept nogil:
    whole.work += share * part.work
    whole.pushes += share * part.pushes
    whole.pops += share * part.pops
    whole.entries += share * part.entries
    whole.single += share * part.single


cdef inline bint _covers(const Work& one, const Work& other) noexcept nogil:
    return (
        one.work >= other.work and one.pushes >= other.pushes and one.pops >= other.pops
        and one.entries >= other.entries and one.single >= other.single
    )


cdef inline double _power(double base, double exponent) noexcept nogil:
    """Return the power of a base from 0 to 1; the ends need no logarithm."""
    return base if base <= 0.0 or base >= 1.0 else exp(exponent * log(base))


cdef class Limits:
    """Placements of a flow, numbered in the order in which they were added; `shares`: each
    operator's share of the work."""

    cdef object flow
    cdef int operators, places, heads
    cdef vector[int32_t] order, first, source, head, back_source, back_head
    cdef vector[double] shares, tuples, through, share, passed, back_through
    cdef vector[uint8_t] dealt
    cdef vector[Part] kept
    cdef vector[Placement] placements
    # Of the placement that was measured last.
    cdef vector[Part] parts
    cdef vector[uint8_t] on
    cdef double all_entries, all_single, all_hops
    cdef int own_threads

    def __init__(self, flow, shares):
        """Take a `regions.DirectedLayout` and the shares of the work."""
        columns = flow.columns
        self.flow = flow
        self.operators, self.places, self.heads = len(flow.order), len(flow.layout.ports), flow.heads
        self.order, self.tuples, self.shares = flow.order, flow.tuples, shares
        self.first, self.source, self.head, self.dealt = columns.first, columns.source, columns.head, columns.dealt
        self.through, self.share, self.passed = columns.through, columns.share, columns.passed
        self.back_source, self.back_head, self.back_through = columns.back_source, columns.back_head, columns.back_through

    def loads(self, queued):
        """Return the load of each part under a placement, as `regions.Loads`."""
        self._measure(queued)
        table = np.array(
            [(p.todo.work, p.todo.pushes, p.todo.pops, p.todo.entries, p.todo.single, p.contenders) for p in self.parts]
        ).T
        return Loads(
            *table[:, np.argsort(table[5] > 1.0, kind="stable")],
            all_entries=self.all_entries,
            all_single=self.all_single,
            hops=self.all_hops,
            queues=len(queued),
            own_threads=self.own_threads,
        )

    def add(self, queued):
        """Add a placement and return its number.

        Keep only those of its parts that no other part exceeds in everything.
        """
        cdef Placement placement
        cdef double most = -1.0
        cdef size_t begin = self.kept.size()
        self._measure(queued)
        placement.begin, placement.contenders = <int32_t> begin, 1.0
        self._keep(begin, False)
        begin = self.kept.size()
        placement.locks = <int32_t> begin
        self._keep(begin, True)
        placement.end = <int32_t> self.kept.size()
        for part in range(<int> self.parts.size()):
            if self.parts[part].contenders > 1.0 and self.parts[part].todo.entries > most:
                most, placement.contenders = self.parts[part].todo.entries, self.parts[part].contenders
        placement.queues, placement.own_threads, placement.hops = len(queued), self.own_threads, self.all_hops
        placement.entries, placement.single = self.all_entries, self.all_single
        self.placements.push_back(placement)
        return self.placements.size() - 1

    def busy(self, int number, int level):
        """Return the number of threads that find work at a level."""
        return int(self.placements[number].own_threads + min(level, self.placements[number].queues))

    def hops(self, int number):
        """Return the number of hops over queues for a tuple of each source."""
        return self.placements[number].hops

    def ideal(self, int number):
        """Return the throughput if queues cost nothing and each of the graph's own threads has a
        CPU.

        The unit is the throughput of all work on one CPU.
        """
        cdef double most = 1.0 / self.placements[number].own_threads
        cdef int part
        for part in range(self.placements[number].begin, self.placements[number].end):
            most = max(most, self.kept[part].todo.work)
        return 1.0 / most

    def log_throughput(self, const long[::1] numbers, const long[::1] levels, const double[:, ::1] hypotheses):
        """Return log throughput, configuration x hypothesis; a configuration is the number of a
        placement, and a level."""
        cdef Py_ssize_t row, column, rows = numbers.shape[0], columns = hypotheses.shape[0]
        result = np.empty((rows, columns))
        cdef double[:, ::1] out = result
        with nogil:
            for row in range(rows):
                for column in range(columns):
                    out[row, column] = self._formula(self.placements[numbers[row]], levels[row], &hypotheses[column, 0])
        return result

    cdef double _formula(self, const Placement& at, long level, const double* of) noexcept nogil:
        """Return log throughput; `of`: a hypothesis, in the order of `physics.COLUMNS`."""
        cdef double busy = at.own_threads + min(<double> level, at.queues)
        cdef double knee = of[8], within = min(busy, knee), serial = of[7], sharp = of[10], entry = of[5]
        cdef bint single = of[4] > 0.5
        cdef double hop = of[0] * (1.0 + of[1] * log(busy) * 1.4426950408889634)
        cdef double region, lock = 0.0, threads, slowest, apart, dearer
        if at.queues > 1.0:
            hop *= exp(of[2] * log(at.queues))
        region = self._most(at.begin, at.locks, hop, of[3], entry, single)
        if at.end > at.locks:
            dearer = entry * (1.0 + of[6] * sqrt(min(at.contenders, busy) - 1.0))
            lock = self._most(at.locks, at.end, hop, of[3], dearer, single)
        if busy >= at.own_threads + at.queues and busy <= knee:  # no region waits for a thread
            region *= 1.0 + serial * (busy - 1.0)
            threads = 0.0
        else:
            threads = 1.0 + hop * (at.hops + entry * (at.single if single else at.entries))
            threads *= (1.0 + serial * (within - 1.0)) / within
            if busy > knee:
                threads *= exp(of[9] * log(busy / knee))
        slowest = max(max(region, lock), threads)
        apart = _power(region / slowest, sharp) + _power(threads / slowest, sharp) + _power(lock / slowest, sharp)
        return -log(slowest) - log(apart) / sharp

    cdef double _most(self, int begin, int end, double hop, double push, double entry, bint single) noexcept nogil:
        """Return the time of the part that takes the longest."""
        cdef double most = 0.0
        cdef const Work* todo
        cdef int part
        for part in range(begin, end):
            todo = &self.kept[part].todo
            most = max(
                most,
                todo.work
                + hop * (push * todo.pushes + (1.0 - push) * todo.pops + entry * (todo.single if single else todo.entries)),
            )
        return most

    cdef void _keep(self, size_t begin, bint locks) noexcept nogil:
        """Append the regions or locks that no other one covers to those from `begin` on."""
        cdef size_t part, other, end
        cdef bint covered
        for part in range(self.parts.size()):
            if (self.parts[part].contenders > 1.0) != locks:
                continue
            covered, end = False, begin
            for other in range(begin, self.kept.size()):
                covered = covered or _covers(self.kept[other].todo, self.parts[part].todo)
                if covered or not _covers(self.parts[part].todo, self.kept[other].todo):
                    self.kept[end] = self.kept[other]
                    end += 1
            self.kept.resize(end)
            if not covered:
                self.kept.push_back(self.parts[part])

    cdef int _new(self, double contenders) noexcept nogil:
        self.parts.push_back(Part(todo=Work(0.0, 0.0, 0.0, 0.0, 0.0), contenders=contenders))
        return <int> self.parts.size() - 1

    cdef _measure(self, queued):
        """Compute the parts of a placement."""
        cdef vector[int32_t] part_of, of_head, seen, begins
        cdef vector[double] pieces
        cdef vector[Work] todo
        cdef Work nothing = Work(0.0, 0.0, 0.0, 0.0, 0.0)
        cdef int k, i, e, part, callers, own
        cdef double batch = BATCH, call = CALL_COST_IN_LOCKS, count, counted
        self.on.assign(self.heads, 1)
        for e in range(self.places):
            self.on[e] = 0
        for place in queued:
            self.on[place] = 1
        self.parts.clear()
        self.own_threads = len(self.flow.layout.sources)
        self.all_entries = self.all_single = self.all_hops = 0.0
        with nogil:
            of_head.assign(self.heads, -1)
            part_of.assign(self.operators, -1)
            begins.assign(self.operators, -1)  # the part that begins with an operator
            pieces.assign(self.operators, 1.0 / batch)
            todo.assign(self.operators, nothing)
            for k in range(self.operators):
                i = self.order[k]
                todo[i].work = self.shares[i]
                if self.first[i] == self.first[i + 1]:
                    part_of[i] = begins[i] = self._new(1.0)
                    continue
                callers, count, counted = 0, 0.0, 0.0
                seen.clear()
                for e in range(self.first[i], self.first[i + 1]):
                    counted += self.through[e]
                    if self.head[e] >= 0 and self.on[self.head[e]]:
                        part = self._region(of_head, self.head[e])
                        count += self.through[e] / batch
                    else:
                        part = part_of[self.source[e]]
                        if self.dealt[e]:
                            count += self.through[e]
                        else:
                            count += self.through[e] * (1.0 - self.passed[e] + self.passed[e] * pieces[self.source[e]])
                    own = 0
                    while own < callers and seen[own] != part:
                        own += 1
                    if own == callers:
                        seen.push_back(part)
                        callers += 1
                part_of[i] = seen[0]
                if callers > 1:
                    part_of[i] = begins[i] = self._new(callers)
                pieces[i] = count / counted if counted > 0.0 else 1.0 / batch
                todo[i].entries = count if callers > 1 else call * count
                todo[i].single = self.tuples[i] if callers > 1 else call * self.tuples[i]
                self.all_entries += todo[i].entries
                self.all_single += todo[i].single
            for e in range(<int> self.back_source.size()):
                if self.back_head[e] >= 0 and self.on[self.back_head[e]]:
                    self._hop(of_head, self.back_head[e], todo[self.back_source[e]], self.back_through[e])
            for k in range(self.operators - 1, -1, -1):
                i = self.order[k]
                if begins[i] >= 0:
                    _more(self.parts[begins[i]].todo, todo[i], 1.0)
                for e in range(self.first[i], self.first[i + 1]):
                    if self.head[e] >= 0 and self.on[self.head[e]]:
                        self._hop(of_head, self.head[e], todo[self.source[e]], self.through[e])
                        _more(self.parts[of_head[self.head[e]]].todo, todo[i], self.share[e])
                    else:
                        _more(todo[self.source[e]], todo[i], self.share[e])

    cdef int _region(self, vector[int32_t]& of_head, int head) noexcept nogil:
        """Return the region that begins at a port that has a queue."""
        if of_head[head] < 0:
            of_head[head] = self._new(1.0)
            self.own_threads += head >= self.places
        return of_head[head]

    cdef void _hop(self, vector[int32_t]& of_head, int head, Work& sender, double tuples) noexcept nogil:
        """Add a hop over a queue that may be switched."""
        if head < self.places:
            sender.pushes += tuples
            self.parts[self._region(of_head, head)].todo.pops += tuples
            self.all_hops += tuples


def loads_of(flow, shares, queued):
    """Return the loads under one placement."""
    return Limits(flow, shares).loads(queued)

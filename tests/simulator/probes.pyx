"""Parts of the simulator without a graph. Probes of the models of a described machine and its
operating system show a profile's effects (native/probes.hpp); all their times are in nanoseconds.
Small queueing networks on the event core are for comparison with queueing theory and with other
simulators (native/queueing.hpp).
"""

from libc.stdint cimport uint32_t, uint64_t
from libcpp cimport bool
from libcpp.deque cimport deque
from libcpp.vector cimport vector

from harness.simulator.costs cimport fill_machine
from harness.runtime.native cimport Tuple
from harness.simulator.native cimport NEVER, Line, Machine, Ring

from typing import NamedTuple


cdef extern from "probes.hpp" namespace "millrace::sim" nogil:
    enum Sort "millrace::sim::Sort":
        FP "millrace::sim::FP"
        MIXED "millrace::sim::MIXED"
        WAITING "millrace::sim::WAITING"

    cdef cppclass Probe "millrace::sim::Bench::Probe":
        uint64_t began, ended, done, longest_gap
        uint32_t cpu

    cdef cppclass CBench "millrace::sim::Bench":
        CBench(const Machine& machine, uint32_t count, uint64_t seed, uint32_t buckets) except +
        deque[Probe] threads
        uint64_t events
        void compute(
            uint32_t thread, uint64_t work, uint64_t step, Sort sort, uint64_t bytes_
        ) except +
        void nap(uint32_t thread, uint64_t work, uint64_t length) except +
        void wait(uint32_t thread, uint64_t work) except +
        void wake(uint32_t thread, uint64_t at, uint32_t count, uint64_t work) except +
        void run(uint64_t until) except +
        uint64_t switches() noexcept
        uint64_t cpu_time() noexcept
        uint64_t kernel_time() noexcept

    cdef cppclass Footprint "millrace::sim::Footprint":
        Footprint(uint64_t cache) except +
        void touch(uint64_t bytes, uint64_t ago) noexcept
        uint64_t window() noexcept
    const uint64_t NEVER_BEFORE "millrace::sim::Footprint::NEVER_BEFORE"
    const uint32_t NOBODY "millrace::sim::Line::NOBODY"

    cdef cppclass Visit "millrace::sim::Visit":
        uint32_t core
        uint64_t used, filled
    cdef cppclass Visits "millrace::sim::Visits":
        void resize(uint64_t capacity) except +
        void note(uint64_t first, uint64_t count, const Visit& visit) noexcept
    Visit last_visit(
        const Visits& ring, uint32_t cores, uint64_t position, uint64_t filled
    ) except +

    uint64_t copy "millrace::sim::CopyProbe::copy"(
        const Machine& machine, uint32_t reader, uint32_t writer, uint32_t bytes, uint64_t queued,
        uint64_t room, uint32_t worked
    ) except +


SORTS = {"fp": FP, "mixed": MIXED, "waiting": WAITING}


cdef class Bench:
    """`count` threads on a machine of its own, each to be started once with `compute`, `nap`,
    `wait` or `wake`.
    """

    cdef CBench* bench
    cdef uint32_t started

    def __cinit__(self, machine, count, seed=0):
        cdef Machine hardware
        fill_machine(&hardware, machine)
        self.bench = new CBench(hardware, count, seed, <uint32_t> machine["os.futex_buckets"])

    def __dealloc__(self):
        del self.bench

    def compute(self, work, step=1000.0, sort="mixed", touching=0):
        """Start a thread that works in steps, each of which touches `touching` bytes of slots.
        Returns its number.

        `sort`: of instructions, fp or mixed, or waiting for memory.
        """
        self.bench.compute(self.started, ps(work), ps(step), <Sort> <int> SORTS[sort], touching)
        return self._next()

    def nap(self, length, work=0.0):
        """A thread that works, in one step, and then sleeps for a time. Returns its number."""
        self.bench.nap(self.started, ps(work), ps(length))
        return self._next()

    def wait(self, work=0.0):
        """Start a thread that works, in one step, and then sleeps until it is woken. Returns its
        number.
        """
        self.bench.wait(self.started, ps(work))
        return self._next()

    def wake(self, at, count=1, work=0.0):
        """Start a thread that keeps its CPU until a time and then wakes `count` threads, after some
        work each. Returns its number.
        """
        self.bench.wake(self.started, ps(at), count, ps(work))
        return self._next()

    def run(self, until):
        """Let time pass."""
        self.bench.run(ps(until))

    def began(self, uint32_t thread):
        """Return the time when a thread first had a CPU (a waker: when it began to wake); None: not
        yet.
        """
        return ns(self.bench.threads[thread].began)

    def ended(self, uint32_t thread):
        """Return the time when a thread's work, sleep or waking was over; None: not yet."""
        return ns(self.bench.threads[thread].ended)

    def done(self, uint32_t thread):
        """Return the time of a thread's work that is done."""
        return ns(self.bench.threads[thread].done)

    def longest_gap(self, uint32_t thread):
        """The longest time between two of its steps."""
        return ns(self.bench.threads[thread].longest_gap)

    def cpu(self, uint32_t thread):
        """Return the CPU on which a thread runs or ran last."""
        return self.bench.threads[thread].cpu

    @property
    def cpu_time(self):
        """Time for which CPUs were taken, of all together."""
        return ns(self.bench.cpu_time())

    @property
    def kernel_time(self):
        """Time of these that the system itself took."""
        return ns(self.bench.kernel_time())

    @property
    def switches(self):
        """Number of times that a CPU was given away."""
        return self.bench.switches()

    @property
    def events(self):
        """Steps of the simulation."""
        return self.bench.events

    def _next(self):
        self.started += 1
        return self.started - 1


def rmw(machine, cores, uint32_t operations, bint cas=False):
    """Time between two completed read-modify-writes on one line, while threads on these cores do
    nothing else, one after the other.
    """
    cdef Machine hardware
    cdef Line line
    cdef uint32_t thread, _
    cdef uint64_t begin = 0, most = 0
    fill_machine(&hardware, machine)
    ready = [0] * len(cores)
    for _ in range(2 * operations):  # the first half brings the line to its steady state
        if _ == operations:
            begin = min(ready)
        thread = ready.index(min(ready))
        ready[thread] += line.rmw(hardware, cores[thread], ready[thread], cas, most)
    return ns(min(ready) - begin) / operations


def load(machine, uint32_t reader, uint32_t writer):
    """Time of a load of a line that another core has written."""
    cdef Machine hardware
    cdef Line line
    fill_machine(&hardware, machine)
    line.store(writer)
    return ns(line.load(hardware, reader))


def loads(machine, uint32_t writer, readers):
    """Times of loads of a line by one core after the other, since a core has written it."""
    cdef Machine hardware
    cdef Line line
    fill_machine(&hardware, machine)
    line.store(writer)
    return [ns(line.load(hardware, reader)) for reader in readers]


def take(machine, uint32_t taker, uint32_t writer):
    """Time of a read-modify-write of a line that another core has written."""
    cdef Machine hardware
    cdef Line line
    cdef uint64_t most = 0
    fill_machine(&hardware, machine)
    line.store(writer)
    return ns(line.rmw(hardware, taker, 0, False, most))


def turns(machine, operations):
    """Time of each read-modify-write of one line, waiting included: by (core, ns at which it
    begins), in the order of asking.
    """
    cdef Machine hardware
    cdef Line line
    cdef uint64_t most = 0
    fill_machine(&hardware, machine)
    return [ns(line.rmw(hardware, core, ps(begin), False, most)) for core, begin in operations]


def window(uint64_t cache, touches):
    """Return the bytes of touches within which a core still has what it touched, after touches of
    (bytes, bytes touched since the last time).

    None in place of the latter: never touched before. The result is None if nothing that is touched
    again ever leaves.
    """
    cdef Footprint* core = new Footprint(cache)
    try:
        for bytes_, ago in touches:
            core.touch(bytes_, NEVER_BEFORE if ago is None else ago)
        return None if core.window() == NEVER_BEFORE else core.window()
    finally:
        del core


def visited(uint64_t capacity, notes, uint64_t position, uint64_t filled):
    """Return a ring's note on the tuple at a position: (core, bytes put into all queues since
    then); None: not touched.

    `capacity`: slots of the ring; `notes`: (first position, count, core, bytes put into all queues
    by then), one after the other; `filled`: bytes put into all queues by now.
    """
    cdef Visits ring
    cdef Visit visit
    cdef uint32_t cores = 0
    ring.resize(capacity)
    for first, count, core, then in notes:
        cores = max(cores, core + 1)
        visit.core, visit.used, visit.filled = core, 0, then
        ring.note(first, count, visit)
    visit = last_visit(ring, cores, position, filled)
    return None if visit.core == NOBODY else (visit.core, visit.filled)


def through_a_queue(uint64_t capacity, steps):
    """Push and take tuples through a queue. Returns, for each step that takes tuples (an int, their
    number), those that it takes; and the number of tuples left, with their bytes.

    Other steps push (tuples, spacing, path_step), where each tuple is (sequence, born_ns, path,
    order, kind).
    """
    cdef Ring ring
    cdef vector[Tuple] tuples
    cdef Tuple tuple_
    cdef uint32_t spacing
    ring.resize(capacity)
    given = []
    for step in steps:
        tuples.clear()
        if isinstance(step, int):
            tuples.resize(<size_t> step)
            ring.copy(tuples.size(), tuples.data())
            ring.pop(tuples.size())
            given.append(
                [
                    (each.sequence, each.born_ns, each.path, each.order, each.kind)
                    for each in tuples
                ]
            )
            continue
        for tuple_.sequence, tuple_.born_ns, tuple_.path, tuple_.order, tuple_.kind in step[0]:
            tuples.push_back(tuple_)
        spacing = step[1]
        ring.append(tuples.data(), spacing, (tuples.size() + spacing - 1) // spacing, step[2])
    return given, ring.size(), ring.bytes()


def copied(
    machine, uint32_t reader, uint32_t writer, uint32_t bytes, queued=0, room=0, worked=None
):
    """Return the time of a copy by core `reader` of bytes that core `writer` wrote.

    `queued`: bytes of slots touched since they were written; `room`: bytes of slots touched since a
    core worked on the target slots. `worked`: that core; None: the reader.
    """
    cdef Machine hardware
    fill_machine(&hardware, machine)
    return ns(
        copy(hardware, reader, writer, bytes, queued, room, reader if worked is None else worked)
    )


def ps(ns):
    """Whole picoseconds."""
    return round(ns * 1000)


def ns(ps):
    """Nanoseconds; None if it has not been."""
    return None if ps == NEVER else ps / 1000


# -- queueing networks -----------------------------------------------------------------------------

STEPS_PER_UNIT = 1_000_000
"""Whole steps of virtual time that a unit of a network's time has: service times are rounded to
them.
"""


cdef extern from "queueing.hpp" namespace "millrace::sim" nogil:
    cdef cppclass Queueing:
        cppclass Station:
            uint64_t area
        Queueing(
            const vector[double]& services, bool exponential, double gap, uint32_t customers,
            uint64_t seed,
        ) except +
        void run(uint64_t until) except +
        const vector[Station]& stations()
        uint64_t events()
        uint64_t passed()


class Outcome(NamedTuple):
    """Results at the end of the simulated time."""

    throughput: float  # customers that the last station has served, a unit of time
    numbers: tuple[float, ...]  # mean over time of the customers at each station
    events: int  # arrivals from outside and ends of services


def simulate(network, seed, until):
    """A network of stations in a row, one server each, from time 0 until `until`; returns an
    `Outcome`.

    `network` has `services`, the mean service times of the stations; `exponential`, else they are
    constant; and `arrival_rate` of Poisson arrivals at the first station, or None and `customers`,
    which circulate for ever and are spread evenly at the start. One seed gives the same outcome
    always. Raises OverflowError if `until` is beyond what the calendar can count, 1.8e13 units.
    """
    cdef vector[double] services = [STEPS_PER_UNIT * service for service in network.services]
    cdef double gap = (
        STEPS_PER_UNIT / network.arrival_rate if network.arrival_rate is not None else 0.0
    )
    cdef uint32_t customers = network.customers or 0
    cdef bool exponential = network.exponential
    cdef uint64_t end = int(STEPS_PER_UNIT * until)
    cdef Queueing* toy = new Queueing(services, exponential, gap, customers, seed)
    try:
        with nogil:
            toy.run(end)
        areas = [toy.stations()[place].area for place in range(services.size())]
        return Outcome(
            toy.passed() * STEPS_PER_UNIT / end, tuple(area / end for area in areas), toy.events()
        )
    finally:
        del toy

"""Small queueing networks on the simulator's event core, for comparison with queueing theory and
with other simulators.

They contain no machine and no runtime: they share only calendar.hpp with a simulated run.
"""

from libc.stdint cimport uint32_t, uint64_t
from libcpp cimport bool
from libcpp.vector cimport vector

from typing import NamedTuple

STEPS_PER_UNIT = 1_000_000
"""Whole steps of virtual time that a unit of a network's time has: service times are rounded to
them.
"""


cdef extern from "queueing.hpp" namespace "millrace::sim" nogil:
    cdef cppclass Queueing:
        cppclass Station:
            uint64_t area
        Queueing(const vector[double]& services, bool exponential, double gap, uint32_t customers, uint64_t seed) except +
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
    cdef double gap = STEPS_PER_UNIT / network.arrival_rate if network.arrival_rate is not None else 0.0
    cdef uint32_t customers = network.customers or 0
    cdef bool exponential = network.exponential
    cdef uint64_t end = int(STEPS_PER_UNIT * until)
    cdef Queueing* toy = new Queueing(services, exponential, gap, customers, seed)
    try:
        with nogil:
            toy.run(end)
        areas = [toy.stations()[place].area for place in range(services.size())]
        return Outcome(toy.passed() * STEPS_PER_UNIT / end, tuple(area / end for area in areas), toy.events())
    finally:
        del toy

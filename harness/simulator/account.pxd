from harness.runtime.plan cimport Plan
from harness.simulator.native cimport Simulation


cdef object account_of(Plan plan, Simulation& simulation, bint drained, list stuck, dict state)

from harness.simulator.native cimport Simulation


cdef object account_of(
    object layout, Simulation& simulation, bint drained, list stuck, object error
)

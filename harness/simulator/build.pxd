# build.pxd - from a layout to a simulation of it; see build.pyx.

from harness.simulator.native cimport Simulation

cdef void build(Simulation* core, object layout, object limit, object profiled) except *

# bodies.pxd - what a thread runs; see bodies.pyx.

from harness.runtime.native cimport Worker

cdef void* body(void* argument) noexcept nogil

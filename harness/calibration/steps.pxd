# steps.pxd - the runtime's own steps; see steps.pyx.

from libc.stdint cimport int64_t, uint64_t

cdef object shortest(object best, int64_t ns, uint64_t times)

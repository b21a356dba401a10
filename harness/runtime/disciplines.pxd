# disciplines.pxd - what a threading model is to the tuples that pass; see disciplines.pyx.

from harness.runtime.native cimport Discipline

cdef const Discipline* discipline_of(object kind) noexcept

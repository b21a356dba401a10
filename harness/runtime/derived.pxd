# derived.pxd - what follows from a layout and from the queues that are on; see derived.pyx.

from harness.runtime.native cimport Contexts, Sizes

cdef Contexts* contexts_of(object layout) except? NULL
cdef Sizes* sizes_of(object layout) except NULL

# manual.pxd - the thread of a source; see manual.pyx.

cdef void* source_body(void* argument) noexcept nogil

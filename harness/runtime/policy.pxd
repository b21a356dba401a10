# policy.pxd - the policy of a run's co-routines; see policy.pyx.

from harness.runtime.protocol cimport Policy


cdef class PolicyOf:
    cdef Policy policy
    cdef readonly str name
    cdef int inside  # threads in a user's function in Python, under the interpreter's lock
    cdef object error  # what went wrong in a user's function, or None
    cdef object function
    cdef list operators
    cdef str failed

    cdef object told(self, int refused)

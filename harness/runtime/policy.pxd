# policy.pxd - the policy of a run's co-routines; see policy.pyx.

from harness.runtime.protocol cimport Policy, UsersScore


cdef class PolicyOf:
    cdef Policy policy
    cdef UsersScore users  # of a compiled function
    cdef readonly str name
    cdef object error  # what went wrong in a user's function, or None
    cdef object function, preempts
    cdef list operators
    cdef str failed

    cdef object problem(self, int refused)

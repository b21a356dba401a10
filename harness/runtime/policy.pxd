# policy.pxd - the policy of a run's co-routines; see policy.pyx.

from harness.runtime.protocol cimport Policy, UsersScore
from harness.runtime.users cimport UsersCode


cdef class PolicyOf(UsersCode):
    cdef Policy policy
    cdef UsersScore users  # of a compiled function
    cdef readonly str name
    cdef object function, preempts
    cdef list operators

    cdef object problem(self, int refused)

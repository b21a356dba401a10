# python_loops.pxd - operators in Python with a loop of their own; see python_loops.pyx.

from harness.runtime.native cimport LoopState

cdef void run_python(LoopState* state) noexcept nogil
cdef object call_of(object operator)

# python_loops.pxd - operators in Python with a loop of their own; see python_loops.pyx.

from harness.runtime.native cimport LoopState

cdef object call_of(object operator, LoopState* state)

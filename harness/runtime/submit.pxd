# submit.pxd - the one path of a tuple to a port; see submit.pyx.

from libc.stdint cimport uint32_t

from harness.runtime.native cimport Operator, Port, Route, Run, Target, Tuple, Worker

cdef void execute(Worker* worker, Operator* op, Tuple* first, uint32_t count) noexcept nogil
cdef void deliver(Worker* worker, Route* route, Tuple* first, uint32_t count) noexcept nogil
cdef void send(Worker* worker, Target* target, Tuple* first, uint32_t count) noexcept nogil
cdef void take(Worker* worker, Port* port, Tuple* first, uint32_t count) noexcept nogil
cdef void close_operator(Worker* worker, Operator* op) noexcept nogil
cdef void end_run(Run* run) noexcept nogil

# submit.pxd - the one path of a tuple to a port; see submit.pyx.

from libc.stdint cimport uint32_t, uint64_t

from harness.runtime.native cimport Operator, Port, Route, Run, Target, Tuple, Worker, mutex

cdef void hand_over(Worker* worker) noexcept nogil
cdef void acquire(Worker* worker, mutex* lock) noexcept nogil
cdef void execute(Worker* worker, Operator* op, Tuple* first, uint32_t count) noexcept nogil
cdef void deliver(Worker* worker, Route* route, Tuple* first, uint32_t count) noexcept nogil
cdef void deliver_every(Worker* worker, Route* route, Tuple* first, uint32_t count, uint32_t every) noexcept nogil
cdef void begin(Worker* worker, Route* route, Tuple* first, size_t spacing, uint32_t count) noexcept nogil
cdef bint hand_on(Worker* worker) noexcept nogil
cdef void end(Worker* worker, Target* before) noexcept nogil
cdef void call(Worker* worker, Target* target, Tuple* first, size_t spacing, uint32_t count, char* scratch) noexcept nogil
cdef void push(Worker* worker, Target* target, Tuple* first, size_t spacing, uint32_t count, char* scratch) noexcept nogil
cdef void take(Worker* worker, Port* port, Tuple* first, uint32_t count) noexcept nogil
cdef void take_mark(Worker* worker, Port* port, Tuple* mark) noexcept nogil
cdef void pass_mark(Worker* worker, Operator* op, Tuple* mark) noexcept nogil
cdef void send_final(Worker* worker, Operator* op) noexcept nogil
cdef void close_operator(Worker* worker, Operator* op) noexcept nogil
cdef void end_run(Run* run) noexcept nogil
cdef void receive_mark(Worker* worker, Operator* op, Tuple* mark) noexcept nogil
cdef void send_held(Worker* worker, Tuple* first, uint32_t count) noexcept nogil

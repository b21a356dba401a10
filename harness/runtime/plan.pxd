# plan.pxd - the memory of a layout; see plan.pyx.

from libc.stdint cimport uint32_t

from harness.runtime.native cimport Operator, Route, Run, Target, Worker
from harness.runtime.policy cimport PolicyOf
from harness.runtime.states cimport States


cdef class Plan:
    cdef Run* run
    cdef States states
    cdef readonly object layout             # harness.models.layout.RunLayout
    cdef readonly tuple operators           # harness.graph.Operator, by index
    cdef readonly uint32_t first_scheduler  # workers from here on are of the pool
    cdef Route* routes
    cdef Target* targets                    # as the layout's ways
    cdef Target** owed
    cdef Target** feeders                   # of all scheduled ports
    cdef char* memory                       # of all queues
    cdef size_t memory_bytes
    # harness.machines.host.memory_room.MemoryRoom, before any of it was taken
    cdef readonly object room
    cdef readonly object promised           # bytes that all of this takes at most
    cdef set prepared                       # operators whose replicas have their memory
    cdef list own_stacks                    # bytes, of all but scheduler threads
    cdef size_t scheduler_stack             # bytes
    cdef list names                         # of operators, as bytes, which the run refers to
    cdef PolicyOf policy                    # of co-routines; None: there are none
    cdef size_t stack_of(self, uint32_t index) noexcept
    cdef void _join_buffers(self, Operator* op) noexcept
    cdef int _make_barrier(self, Operator* op, place, bint changed) except -1
    cdef int make_room_for_replicas(self, uint32_t index, uint32_t co) except -1
    cdef uint32_t _lend_owed(self, Worker* worker, index, uint32_t begin) except? 0
    cdef int _connect_coroutines(self, uint32_t own, size_t stack_bytes, bint users_code) except -1

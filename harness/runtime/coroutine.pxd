# coroutine.pxd - operators as co-routines; see coroutine.pyx.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from harness.runtime.native cimport MergeState, Operator, Port, Run, Target, Tuple, Worker
from harness.runtime.policy cimport PolicyOf

ctypedef void (*OnThread)(void*) noexcept nogil
ctypedef void (*OnTuple)(Tuple*, void*) noexcept nogil

cdef void* thread_body(void* argument) noexcept nogil
cdef void* operator_body(void* argument) noexcept nogil
cdef void tuples_published(Worker* worker, Target* target) noexcept nogil
cdef void announce(Run* run, Port* port) noexcept nogil
cdef void stamp(Worker* worker, Port* port, uint32_t count) noexcept nogil
cdef void wait_for_room_of_any(Worker* worker, uint32_t* round_) noexcept nogil
cdef str deadlock_of(Run* run)
cdef bint seems_deadlocked(Run* run) noexcept nogil
cdef void deadlocked(Run* run) noexcept nogil
cdef void wait_for_room(Worker* worker, Port* port, uint32_t* round_) noexcept nogil
cdef void tuples_taken(Run* run, Port* port) noexcept nogil
cdef void another_sender(Worker* worker, Port* port) noexcept nogil
cdef void wait_for_merge(Worker* worker, MergeState* merge, uint32_t order) noexcept nogil
cdef void merge_advanced(Run* run, MergeState* merge) noexcept nogil
cdef void wait_for_buffers(Worker* worker, Operator* op) noexcept nogil
cdef void buffers_changed(Run* run, Operator* op) noexcept nogil
cdef void sleep_until(Worker* worker, int64_t time_ns) noexcept nogil
cdef void need(Worker* worker, uint32_t i, uint32_t count) noexcept nogil
cdef void wait_for(Worker* worker, bint any_) noexcept nogil
cdef int64_t born_ns_of(Port* port, uint64_t place) noexcept nogil
cdef void check_for_preemption(Worker* worker) noexcept nogil
cdef bint is_first(Worker* worker) noexcept nogil
cdef uint32_t send_in_turn(Worker* worker, Tuple* first, uint32_t count) noexcept nogil
cdef int prepare_thread(Worker* worker) except -1
cdef size_t replica_bytes(Run* run, uint32_t co) noexcept nogil
cdef int prepare_replicas(Run* run, uint32_t co) except -1
cdef void set_replicas(Run* run, uint32_t co, uint32_t number) noexcept nogil
cdef uint32_t replicas(Run* run, uint32_t co) noexcept nogil
cdef uint32_t living_replicas(Run* run, uint32_t co) noexcept nogil
cdef uint64_t useful_ns(Run* run, uint32_t co) noexcept nogil
cdef uint64_t full_ns(Run* run, uint32_t port) noexcept nogil
cdef void left_in_slots(Run* run, uint32_t co, OnTuple taken, OnTuple made, void* argument) noexcept nogil
cdef void on_thread(Worker* worker, OnThread call, void* argument) noexcept nogil
cdef void end_coroutines(Run* run) noexcept nogil
cdef void suspend(Run* run, uint32_t thread, bint suspended) noexcept nogil
cdef bint somebody_ready(Run* run) noexcept nogil
cdef bint judging(Run* run, uint32_t thread) noexcept nogil
cdef int refused_by_policy(Run* run) noexcept nogil
cdef int make_coroutines(Run* run, object layout, PolicyOf policy, size_t stack_bytes, bint users_code) except -1
cdef void free_coroutines(Run* run) noexcept

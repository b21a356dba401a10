"""Parts of the path of a tuple (native/path.hpp), by the kind of operator, of queue and of thread
that they belong to.

All other modules get these functions from here, so one compiled unit has the whole path.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t
from libcpp cimport bool

from harness.graph.kinds import BARRIER, LOOP, MERGE, SPLIT
from harness.runtime.native cimport (
    CoroutineRun,
    Discipline,
    Kernel,
    LoopState,
    MarkKernel,
    Operator,
    Run,
    StreamEnd,
    Tuple,
    TypedState,
    Worker,
    millrace_context,
    millrace_loop,
)
from harness.runtime.protocol cimport Policy

from harness.models import Queue

cdef extern from "run_path.hpp" namespace "millrace::RunPath" nogil:
    int32_t work(Operator* op, Worker* worker, Tuple* first, uint32_t count)
    int32_t work_round_robin(Operator* op, Worker* worker, Tuple* first, uint32_t count)
    int32_t work_in_bursts(Operator* op, Worker* worker, Tuple* first, uint32_t count)
    int32_t selective_work(Operator* op, Worker* worker, Tuple* first, uint32_t count)
    int32_t selective_work_in_bursts(Operator* op, Worker* worker, Tuple* first, uint32_t count)
    int32_t filter_ "millrace::RunPath::filter"(
        Operator* op, Worker* worker, Tuple* first, uint32_t count
    )
    int32_t split(Operator* op, Worker* worker, Tuple* first, uint32_t count)
    int32_t split_by_key(Operator* op, Worker* worker, Tuple* first, uint32_t count)
    int32_t pass_through(Operator* op, Worker* worker, Tuple* first, uint32_t count)
    int32_t merge(Operator* op, Worker* worker, Tuple* first, uint32_t count)
    int32_t sink(Operator* op, Worker* worker, Tuple* first, uint32_t count)
    int32_t absorb(Operator* op, Worker* worker, Tuple* first, uint32_t count)
    int32_t balance(Operator* op, Worker* worker, Tuple* first, uint32_t count)
    int32_t barrier(Operator* op, Worker* worker, Tuple* first, uint32_t count)
    int32_t native(Operator* op, Worker* worker, Tuple* first, uint32_t count)
    int32_t python(Operator* op, Worker* worker, Tuple* first, uint32_t count)
    int32_t typed(Operator* op, Worker* worker, Tuple* first, uint32_t count)
    int32_t typed_plain(Operator* op, Worker* worker, Tuple* first, uint32_t count)
    int32_t typed_barrier(Operator* op, Worker* worker, Tuple* first, uint32_t count)
    int32_t typed_split(Operator* op, Worker* worker, Tuple* first, uint32_t count)
    int32_t typed_merge(Operator* op, Worker* worker, Tuple* first, uint32_t count)
    bool mark_split(Operator* op, Worker* worker, Tuple* mark)
    bool mark_merge(Operator* op, Worker* worker, Tuple* mark)
    bool mark_barrier(Operator* op, Worker* worker, Tuple* mark)
    bool mark_sink(Operator* op, Worker* worker, Tuple* mark)
    void input_ended(Operator* op, Worker* worker)
    void finish_typed(Operator* op, Worker* worker)
    void* typed_source_body(void* worker)
    void* loop_body(void* worker)
    void* replica_loop_body(void* worker)
    void* replica_body(void* worker)
    void* operator_body(void* worker)
    int32_t resume_in_slices(millrace_loop* context, void* state)
    void send_typed(millrace_context* context, uint32_t output)
    void send_plain(millrace_context* context, uint32_t output)
    void send_from_source(millrace_context* context, uint32_t output)
    void connect(LoopState* state)
    void before_leaving(Worker* worker)
    void send_numbered(Worker* worker, Tuple* first, uint32_t count)
    void taken_in_order(Worker* worker, Operator* op, Tuple* tuple)

cdef extern from "run_path.hpp" namespace "millrace::RunDisciplines" nogil:
    const Discipline THREADED, SCHEDULED, RESUMED

cdef extern from "coroutine_run.hpp" namespace "millrace" nogil:
    cdef cppclass NewCoroutines "millrace::CoroutineRun":
        NewCoroutines(
            Run* run, uint32_t count, uint32_t replicas, uint32_t most_threads,
            uint32_t first_thread, const Policy& policy,
            int64_t quantum_ns, void (*hand_over)(Worker*) noexcept nogil,
            void (*deliver)(Worker*, Tuple*, uint32_t) noexcept nogil,
            void (*check)(Worker*, Operator*, Tuple*) noexcept nogil,
            void (*end_run)(Run*) noexcept nogil, void (*deadlocked)(Run*) noexcept nogil,
        ) except +


# -- operators -------------------------------------------------------------------------------------


cdef Kernel kernel_for(object operator) except? NULL:
    """Return the kernel of a harness.graph.Operator; sources and loops have none."""
    kind = operator.kind.name
    if operator.typed is not None and kind not in ("source", "loop"):
        if kind == "barrier":
            return typed_barrier
        if kind == "split":
            return typed_split
        return typed_merge if kind == "merge" else typed
    if kind == "work":
        if operator.selectivity < 1.0:
            return selective_work_in_bursts if operator.costs else selective_work
        if operator.costs:
            return work_in_bursts
        return work if operator.outputs == 1 else work_round_robin
    if kind == "filter":
        return filter_
    if kind == "split":
        return split_by_key if operator.keys else split
    if kind == "merge":
        return merge
    if kind == "barrier":
        return barrier
    if operator.kind.balances:
        return balance
    if kind == "buffer":
        return pass_through
    if kind == "python":
        return python
    if kind == "native":
        return native
    if kind == "sink":
        return sink
    if kind == "control":
        return absorb
    return NULL


cdef MarkKernel mark_kernel_for(object operator) except? NULL:
    """Return the function by which an operator handles a window punctuation; NULL: it only sends it
    on.
    """
    if operator.kind is SPLIT:
        return mark_split
    if operator.kind is MERGE:
        return mark_merge
    if operator.kind is BARRIER:
        return mark_barrier
    if operator.kind.name in ("sink", "control"):
        return mark_sink
    return NULL


cdef StreamEnd stream_end_for(object operator) except? NULL:
    """Return the function that an operator calls when a stream into it has ended; NULL: none."""
    if operator.kind is BARRIER:
        return input_ended
    return NULL


cdef void connect_typed(Operator* op) noexcept:
    """Give a typed operator, which is no loop, its way of working and of sending: again once it may
    have replicas.
    """
    cdef TypedState* state = op.typed
    cdef bint plain = (
        state.python == NULL and state.latency == NULL and state.first == NULL and op.drops
    )
    op.closes = finish_typed
    if state.source != NULL:
        state.context.send = send_from_source
    else:
        state.context.send = send_plain if plain else send_typed
    if state.process != NULL:
        op.kernel = typed_plain if plain else typed


cdef void connect_loop(LoopState* state) noexcept:
    """Give a loop its calls; one in Python gets its function, too."""
    connect(state)
    if state.python != NULL:
        state.run = resume_in_slices


cdef void* _room_of(void* context, int64_t output) noexcept nogil:
    return (<millrace_context*> context).room[output]


cdef void _send_from(void* context, int64_t output) noexcept nogil:
    cdef millrace_context* sender = <millrace_context*> context
    sender.send(sender, <uint32_t> output)


def addresses():
    """Return the addresses of millrace_room and millrace_send (native/millrace.h), for code that
    cannot include a header.
    """
    return <size_t> <void*> &_room_of, <size_t> <void*> &_send_from


# -- queues, threads and co-routines ---------------------------------------------------------------


cdef const Discipline* discipline_of(object kind) noexcept:
    """NULL: the port is called."""
    if kind is Queue.THREADED:
        return &THREADED
    if kind is Queue.RESUMED:
        return &RESUMED
    return &SCHEDULED if kind is Queue.SCHEDULED else NULL


cdef Body source_body_for(object operator) noexcept:
    """Return the loop of a source's thread."""
    return source_body if operator.typed is None else typed_source_body


cdef Body coroutine_body_for(object operator, bint replicated) noexcept:
    """Return the loop of an operator that is a co-routine."""
    if operator.kind is LOOP:
        return replica_loop_body if replicated else loop_body
    if replicated:
        return replica_body
    return source_body_for(operator) if operator.is_source else operator_body


cdef CoroutineRun* coroutines_for(
    Run* run, object layout, uint32_t count, uint32_t replicas, const Policy& policy
) except NULL:
    """Make the co-routines of a run, `count` with the room for `replicas` among them."""
    cdef uint32_t first = layout.first_scheduler
    return <CoroutineRun*> new NewCoroutines(
        run, count, replicas, run.worker_count - first, first, policy, layout.quantum_ns,
        before_leaving, send_numbered, taken_in_order, end_run, deadlocked
    )

# path.pxd - declares the path of a tuple (native/path.hpp) on real threads, and the functions that
# hand out its parts; see path.pyx.

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libcpp cimport bool
from libcpp.string cimport string

from harness.runtime.native cimport (
    BalanceState,
    CoroutineRun,
    Discipline,
    Kernel,
    LoopInput,
    LoopState,
    MarkKernel,
    Operator,
    Port,
    Route,
    Run,
    SourceState,
    StreamEnd,
    Tuple,
    Worker,
    millrace_loop,
    mutex,
)
from harness.runtime.protocol cimport Policy

ctypedef void* (*Body)(void*) noexcept nogil
ctypedef void (*OnTuple)(Tuple*, void*) noexcept nogil

cdef extern from "coroutine_run.hpp" namespace "millrace" nogil:
    cdef cppclass Coroutines "millrace::CoroutineRun":
        void replicate(uint32_t co, uint32_t most, uint64_t keys) except +
        size_t replica_bytes(uint32_t co) noexcept
        void prepare_replicas(uint32_t co) except +
        void set_replicas(uint32_t co, uint32_t number) noexcept
        uint32_t replicas(uint32_t co) noexcept
        uint32_t living(uint32_t co) noexcept
        void left_in_slots(uint32_t co, OnTuple taken, OnTuple made, void* argument) noexcept
        uint64_t useful_ns(uint32_t co, int64_t now_ns) noexcept
        uint64_t full_ns(uint32_t port, int64_t now_ns) noexcept
        void set_name(uint32_t co, const char* name) except +
        void add_operator(const char* name) except +
        void add_input(uint32_t co, uint32_t port) except +
        void add_output(uint32_t co, uint32_t port) except +
        void add_to_order(uint32_t co) except +
        bool begin(size_t stack_bytes, bool users_code) except +
        void prepare_thread(uint32_t thread) except +
        void suspend(uint32_t thread, bool suspended) noexcept
        bool somebody_ready() noexcept
        bool judging(uint32_t thread) noexcept
        const Operator* refused_by_policy() noexcept
        void buffers_changed(uint32_t port) noexcept
        bool seems_deadlocked() noexcept
        string deadlock() except +


cdef inline Coroutines* coroutines_of(Run* run) noexcept nogil:
    return <Coroutines*> run.coroutines


cdef extern from "run_path.hpp" namespace "millrace" nogil:
    void end_run(Run* run)

cdef extern from "run_path.hpp" namespace "millrace::RunPath" nogil:
    # what a run's engine and its threads call
    void acquire(Worker* worker, mutex* lock, const Operator* op)
    void want(Port* port, bool called)
    void set_active(BalanceState* state, uint32_t active)
    void deadlocked(Run* run)
    # what functions of users call
    void on_own_stack(Worker* worker, void (*function)(void*) noexcept nogil, void* argument)
    double control_value(Operator* op)
    enum: LOOP_OVER, LOOP_DONE, LOOP_BLOCKED
    bool stopped(LoopState* state)
    bool has(LoopInput* from_, uint32_t count)
    int32_t verdict_on(LoopState* state, bool any_)
    void waited(LoopState* state, int32_t verdict)
    Tuple* pop(LoopState* state, LoopInput* from_)
    uint32_t filled(LoopState* state, uint32_t output)
    bool enter_room(LoopState* state, uint32_t output)
    void fail(LoopState* state)
    # what measures the path calls
    void make_tuple(SourceState* source, Tuple* tuple_, uint32_t payload)
    void* source_body(void* worker)
    void execute(Worker* worker, Operator* op, Tuple* first, uint32_t count)
    void deliver(Worker* worker, Route* route, Tuple* first, uint32_t count)
    void pass_mark(Worker* worker, Operator* op, Tuple* mark)
    void* scheduler_body(void* worker)
    uint64_t drain(Worker* worker, Port* port, uint64_t most, bool yielding)
    void reschedule(Worker* worker, Port* port, uint32_t* round_)

cdef Kernel kernel_for(object operator) except? NULL
cdef MarkKernel mark_kernel_for(object operator) except? NULL
cdef StreamEnd stream_end_for(object operator) except? NULL
cdef Body source_body_for(object operator) noexcept
cdef Body coroutine_body_for(object operator, bint replicated) noexcept
cdef const Discipline* discipline_of(object kind) noexcept
cdef void connect_loop(LoopState* state) noexcept
cdef void connect_typed(Operator* op) noexcept
cdef CoroutineRun* coroutines_for(
    Run* run, object layout, uint32_t count, uint32_t replicas, const Policy& policy
) except NULL

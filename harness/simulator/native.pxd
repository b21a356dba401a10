# native.pxd - declares native/*.hpp of the simulator, name for name. Logic is in the headers.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp cimport bool
from libcpp.deque cimport deque
from libcpp.string cimport string
from libcpp.vector cimport vector

from harness.runtime.native cimport Contexts, Histogram, Sizes
from harness.runtime.protocol cimport Policy


cdef extern from "machine.hpp" namespace "millrace::sim" nogil:
    enum: OWN_L1, OWN_L2, L3, DRAM_LOCAL, DRAM_REMOTE

    cdef cppclass IdleState:
        uint64_t residency
        uint64_t exit

    cdef cppclass Domain:
        uint32_t cpus
        uint64_t every

    cdef cppclass Machine:
        uint32_t sockets, chips_per_socket, cores_per_chip, smt, cores, line
        uint64_t l1, l2, l3
        uint32_t l3_cores
        vector[uint32_t] slow_clock, slow_fp, slow_mixed
        uint64_t flop
        uint64_t* latency
        uint64_t* load
        uint64_t* rmw
        uint64_t rmw_local, cas_local
        vector[uint64_t] contended
        vector[uint32_t] cas_slow
        uint64_t copy_call, dram_kib
        uint64_t* returned_call
        uint64_t* returned_kib
        uint64_t* fetch_kib
        uint64_t* store_kib
        int64_t* overlap_kib
        uint64_t* evicted_fetch_kib
        uint64_t* evicted_store_kib
        int64_t* evicted_overlap_kib
        uint64_t sched_latency, min_granularity, wakeup_granularity, migration_cost, base_slice
        uint64_t wake_elsewhere, woken_elsewhere, preempt, interrupt
        uint64_t switch_time, near_refill, refill, wake, wake_caller, wake_queued, sleep
        uint64_t tick
        uint32_t idle_search
        uint64_t yield_time "yield"
        uint64_t timer_slack, bucket_hold, bucket_waiter
        vector[IdleState] idle_states
        vector[Domain] domains
        uint32_t cpus()


cdef extern from "software.hpp" namespace "millrace::sim" nogil:
    cdef cppclass Software:
        uint32_t batch
        bool printed, whole_queue, queueful
        uint64_t back_off_first, back_off_most
        uint32_t back_off_factor, ahead, overlap
        uint64_t clock, source_batch, source_tuple, source_byte, call_batch, call_tuple, push_batch
        uint64_t push_tuple, take_batch
        uint64_t drain, list_push, list_pop, flag, lock, way, way_tuple, sink_batch, sink_tuple
        uint64_t sink_byte
        uint64_t key_tuple, filter_tuple, filter_run, filter_cut, merge_tuple, search, wait_round
        uint64_t mark
        uint64_t fence, coroutine_switch, coroutine_turn, coroutine_wait, coroutine_look


cdef extern from "line.hpp" namespace "millrace::sim" nogil:
    cdef cppclass Line:
        uint64_t load(const Machine& machine, uint32_t core) noexcept
        void store(uint32_t core) noexcept
        uint64_t rmw(
            const Machine& machine, uint32_t core, uint64_t now, bool cas, uint64_t& most
        ) noexcept


cdef extern from "simulation.hpp" namespace "millrace::sim" nogil:
    cdef cppclass Discipline:
        bool pooled, resumed


cdef extern from "state.hpp" namespace "millrace::sim" nogil:
    enum TupleKind "millrace::sim::TupleKind":
        DATA "millrace::sim::DATA"
    ctypedef uint32_t OperatorKind "millrace::sim::OperatorKind"
    enum: SOURCE, WORK, BURSTS, FILTER, SPLIT, MERGE, BARRIER, BALANCE, BUFFER, SINK, CONTROL, TYPED

    cdef cppclass Tuple:
        uint64_t sequence
        int64_t born_ns
        uint32_t path, order, mark
        TupleKind kind

    cdef cppclass Ring:
        void resize(uint64_t capacity) except +
        uint64_t capacity() noexcept
        uint64_t size() noexcept
        uint64_t bytes() noexcept
        void push(const Tuple* first, uint32_t spacing, uint64_t count, uint32_t path_step) except +
        void copy(uint64_t count, Tuple* to) noexcept
        void pop(uint64_t count) noexcept

    cdef cppclass Flag:
        bool held

    cdef cppclass Mutex:
        pass

    cdef cppclass Target:
        Operator* op
        Port* port
        uint32_t path_step, input
        bool lazy_wake

    cdef cppclass Route:
        vector[Target] targets
        vector[Tuple] scratch
        uint64_t sent

    cdef cppclass Pace:
        int64_t length_ps
        double gap_ps

    cdef cppclass BarrierInput:
        deque[Tuple] held
        vector[uint64_t] next_of_path
        uint32_t open_streams

    cdef cppclass Operator:
        OperatorKind kind
        bool resumed
        uint32_t most_replicas, cost, open_streams, ahead
        Mutex* lock
        uint64_t limit, window, seed, threshold, keys
        vector[Tuple] buffer
        vector[Pace] paces
        uint64_t profiled
        vector[uint64_t] sends, owed, numbers
        vector[uint64_t] ends
        vector[uint32_t] costs
        bool all
        Operator* merge
        vector[Port*] between
        WaitQueue room
        uint64_t processed, emitted, copies, dropped, fingerprints, sent, windows, violations
        uint64_t seen_windows, held, given_up
        vector[BarrierInput] inputs
        uint64_t room_of_input, sent_fingerprints, discarded, left
        uint32_t active, index
        bool overrun, waiting
        vector[Route] routes
        vector[Tuple] slots
        vector[uint8_t] present
        vector[uint64_t] next_of_path
        Histogram* latency

    cdef cppclass Port:
        Ring ring
        Operator* op
        const Discipline* discipline
        Flag consuming
        uint32_t index, input, mode, open_streams
        bool shared, sole
        WaitQueue arrivals, own_room
        WaitQueue* room
        Operator* balance
        Mutex* call_lock
        uint64_t pushes, blocked, given_up, switches

    cdef cppclass Worker:
        uint32_t at, rest
        uint8_t state
        bool suspended, pooled
        Operator* op
        Port* port
        uint64_t drains, searches, reschedules, waits, given_up_fingerprints
        uint64_t idle_time, idle_began, asleep_time, asleep_began, born


cdef extern from "system.hpp" namespace "millrace::sim" nogil:
    uint64_t NEVER "millrace::sim::NEVER"
    enum: NEW "millrace::sim::Thread::NEW"
    enum: ENDED "millrace::sim::Thread::ENDED"
    ctypedef uint8_t State "millrace::sim::Thread::State"

    cdef cppclass WaitQueue:
        pass

    cdef cppclass Calendar:
        bool empty() noexcept

    cdef cppclass System:
        uint64_t now
        Calendar calendar
        uint64_t switches() noexcept
        uint64_t cpu_time() noexcept
        uint64_t load_time() noexcept
        void make_queue(WaitQueue& queue) except +
        void nest(size_t bytes) noexcept


cdef extern from "simulation.hpp" namespace "millrace::sim" nogil:
    cdef cppclass Simulation:
        Simulation(
            const Machine&, const Software&, uint64_t seed, uint32_t operators, uint32_t ports,
            uint32_t workers, uint32_t buckets
        ) except +
        System system
        deque[Operator] operators
        deque[Port] ports
        deque[Worker] workers
        uint64_t patience, most_contenders, ring_bytes
        bool finishing, over
        uint32_t open_operators, stride, payload, own_threads
        const Policy* policy
        int64_t quantum_ns
        Contexts* contexts
        Sizes* sizes
        const Discipline* pool
        Mutex* make_mutex() except +
        void add_histogram(Operator& op) except +
        void choose_sizes() except +
        vector[uint64_t] looks
        uint64_t looked
        void start(uint32_t worker) except +
        uint64_t run(uint64_t until, uint64_t events) except +
        void cut() except +
        void run_out(uint64_t events) except +
        void suspend(uint32_t worker, bool suspended) except +
        State state(uint32_t worker) noexcept
        void want(Port& port, bool called) noexcept
        void set_active(Operator& op, uint32_t active) except +
        void set_replicas(uint32_t op, uint32_t number) except +
        uint32_t replicas(uint32_t op) except +
        uint32_t living_replicas(uint32_t op) except +
        void left_in_slots(uint32_t op, vector[Tuple]& taken, vector[Tuple]& made) except +
        vector[uint64_t] useful_ns() except +
        string deadlock(const vector[string]& names) except +
        uint64_t full_time(const Port& port) noexcept
        void profile(uint64_t period) except +
        void fill(const vector[vector[uint32_t]]& levels, uint32_t percent) except +


cdef extern from "control.hpp" namespace "millrace::sim" nogil:
    const Discipline THREADED "millrace::sim::Simulation::threaded"
    const Discipline SCHEDULED "millrace::sim::Simulation::scheduled"
    const Discipline RESUMED "millrace::sim::Simulation::resumed"

cdef extern from "filling.hpp" namespace "millrace::sim" nogil:
    pass

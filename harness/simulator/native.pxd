# native.pxd - declares native/*.hpp of the simulator, name for name. Logic is in the headers.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp cimport bool
from libcpp.deque cimport deque
from libcpp.string cimport string
from libcpp.vector cimport vector

from harness.runtime.native cimport (
    Chosen,
    Contexts,
    MergeState,
    SinkState,
    Sizes,
    SourceState,
    Tuple,
)
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
        bint reserves
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


cdef extern from "ring.hpp" namespace "millrace::sim" nogil:
    cdef cppclass Ring:
        void resize(uint64_t capacity) except +
        uint64_t capacity() noexcept
        uint64_t size() noexcept
        uint64_t bytes() noexcept
        void append(
            const Tuple* first, uint32_t spacing, uint64_t count, uint32_t path_step
        ) except +
        void copy(uint64_t count, Tuple* to) noexcept
        void pop(uint64_t count) noexcept


# Words and counters of the records are read and written as the numbers that they are.
cdef extern from "state.hpp" namespace "millrace::sim" nogil:
    ctypedef uint32_t OperatorKind "millrace::sim::OperatorKind"
    enum: SOURCE, WORK, BURSTS, FILTER, SPLIT, MERGE, BARRIER, BALANCE, BUFFER, SINK, CONTROL, TYPED

    cdef cppclass Queue(Ring):
        Port* port

    cdef cppclass Flag:
        Port* port
        void seize() noexcept

    cdef cppclass Mutex:
        pass

    cdef cppclass Target:
        Operator* op
        Port* port
        uint32_t path_step, input
        bool lazy_wake

    cdef cppclass Targets "millrace::sim::Array<millrace::sim::Target>"(vector[Target]):
        pass

    cdef cppclass Route:
        Targets targets
        uint32_t count
        char* scratch
        uint64_t sent

    cdef cppclass Routes "millrace::sim::Array<millrace::sim::Route>"(vector[Route]):
        pass

    cdef cppclass Held:
        void resize(size_t capacity) except +
        size_t size_guess() noexcept

    cdef cppclass BarrierInput:
        Held ring
        vector[uint64_t] next_of_path
        uint32_t paths, open_streams

    cdef cppclass BarrierState:
        vector[BarrierInput] inputs_
        BarrierInput* inputs
        uint32_t count
        uint64_t fingerprints, sent_fingerprints, violations, discarded, windows

    cdef cppclass Parking:
        WaitQueue queue

    cdef cppclass Freed:
        pass

    cdef cppclass Ways "millrace::sim::Array<uint32_t>"(vector[uint32_t]):
        pass

    cdef cppclass BalanceState:
        uint32_t active
        Ways ways
        Freed freed
        Parking room
        bool waiting

    cdef cppclass SplitState:
        uint64_t keys
        MergeState* merge
        Operator* behind
        vector[Port*] ports_
        Port** ports
        uint32_t port_count, ahead

    cdef cppclass Tuples "millrace::sim::Array<millrace::Tuple>"(vector[Tuple]):
        pass

    cdef cppclass InputGroup:
        double share
        uint32_t open_streams

    cdef cppclass Profile:
        uint64_t cost
        vector[uint64_t] sends, owed, numbers, next_of_path
        bool one_for_one
        vector[InputGroup] groups
        vector[uint32_t] group_of
        uint32_t paths
        Tuples buffer
        uint64_t violations

    cdef cppclass Operator:
        OperatorKind kind
        bool resumed
        uint32_t most_replicas, cost, open_streams, outputs, index
        uint64_t keys
        Mutex* lock
        Chosen* chosen
        void* own
        Profile* profile
        Mutex* interpreter
        uint64_t processed, emitted, copies, dropped, left
        Routes routes

    cdef cppclass Port:
        Queue ring
        Operator* op
        const Discipline* discipline
        Flag producing, consuming
        uint32_t index, input, mode, open_streams, unended
        bool shared, sole
        Parking own_arrivals, own_room
        Parking* arrivals
        Parking* room
        Freed* freed
        Operator* balance
        Mutex* call_lock
        uint64_t pushes, blocked, given_up, switches

    cdef cppclass Stopwatch:
        uint64_t read() noexcept

    cdef cppclass Worker:
        uint32_t at, rest
        uint8_t state
        uint64_t suspended
        bool pooled
        Operator* op
        Port* port
        uint64_t drains, searches, reschedules, waits, given_up_fingerprints
        uint64_t born
        Stopwatch idle, asleep


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
        uint64_t kernel_time() noexcept
        uint64_t load_time() noexcept
        void make_queue(WaitQueue& queue) except +
        void nest(size_t bytes) noexcept


cdef extern from "time_use.hpp" namespace "millrace::sim" nogil:
    cdef cppclass TimeSpent "millrace::sim::TimeUse::Entry":
        uint32_t thread, word
        int64_t time
    cdef cppclass TimeUse:
        bool on


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
        uint32_t open_operators, slot_bytes, payload_bytes, own_threads
        const Policy* policy
        int64_t quantum_ns
        Contexts* contexts
        Sizes* sizes
        const Discipline* pool
        Mutex* make_mutex() except +
        deque[SinkState] sinks
        deque[SourceState] sources
        deque[MergeState] merges
        deque[SplitState] splits
        deque[BarrierState] barriers
        deque[BalanceState] balances
        deque[Profile] profiles
        char* block(size_t bytes) except +
        void add_ready() except +
        void size_batches() except +
        vector[uint64_t] looks
        uint64_t looked
        TimeUse time_use
        vector[TimeSpent] time_spent() except +
        void start(uint32_t worker) except +
        uint64_t run(uint64_t until, uint64_t events) except +
        void cut() except +
        void run_out(uint64_t events) except +
        void set_suspended(uint32_t worker, bool suspended) except +
        State state(uint32_t worker) noexcept
        const Software software
        void activate(Operator& op, uint32_t outputs) except +
        void set_replicas(uint32_t op, uint32_t number) except +
        uint32_t replicas(uint32_t op) except +
        uint32_t living_replicas(uint32_t op) except +
        void left_in_slots(uint32_t op, vector[Tuple]& taken, vector[Tuple]& made) except +
        vector[uint64_t] useful_ns() except +
        string deadlock(const vector[string]& names) except +
        uint64_t full_time(const Port& port) noexcept
        void profile(uint64_t period) except +
        void fill_queues(
            const vector[vector[uint32_t]]& levels, const vector[double]& shares, double all_alike
        ) except +


cdef extern from "control.hpp" namespace "millrace::sim" nogil:
    const Discipline THREADED, SCHEDULED, PRINTED, RESUMED
    void give_kernel(Operator& op) noexcept

cdef extern from "control.hpp" namespace "millrace::sim::SimPath" nogil:
    void want(Port* port, bool called)

cdef extern from "filling.hpp" namespace "millrace::sim" nogil:
    pass

# native.pxd - declares native/*.hpp, name for name. Logic of the primitives is in the headers, of the models in the .pyx files.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libcpp cimport bool
from libcpp.atomic cimport atomic


cdef extern from "<mutex>" namespace "std" nogil:
    cdef cppclass mutex:
        mutex()
        void lock()
        void unlock()


cdef extern from "tuple.hpp" namespace "millrace" nogil:
    enum: DATA, FINAL, CACHE_LINE
    cdef cppclass Tuple:
        uint64_t sequence
        int64_t born_ns
        double value
        uint32_t path
        uint32_t kind
        uint32_t order
    size_t slot_stride(size_t payload) noexcept
    Tuple* slot(Tuple* first, size_t stride, size_t index) noexcept
    double value_for(uint64_t sequence) noexcept
    uint64_t fingerprint(uint64_t sequence) noexcept
    void fill_payload(Tuple* tuple, size_t payload) noexcept
    bool payload_intact(Tuple* tuple, size_t payload) noexcept


cdef extern from "try_flag.hpp" namespace "millrace" nogil:
    cdef cppclass TryFlag:
        bool try_lock() noexcept
        void unlock() noexcept


cdef extern from "counter.hpp" namespace "millrace" nogil:
    cdef cppclass Counter:
        void add(uint64_t amount) noexcept
        uint64_t read() noexcept


cdef extern from "spsc_ring.hpp" namespace "millrace" nogil:
    size_t slots_for(size_t capacity) noexcept
    cdef cppclass SpscRing:
        void init(char* memory, size_t capacity, size_t stride) noexcept
        size_t push(Tuple* first, size_t count, uint32_t path_step) noexcept
        size_t front(size_t most, Tuple** first) noexcept
        void release(size_t count) noexcept
        size_t size_guess() noexcept
        size_t capacity() noexcept
        const atomic[uint64_t]& tail() noexcept
        const atomic[uint64_t]& head() noexcept
        Tuple* left_behind(size_t index) noexcept


cdef extern from "free_list.hpp" namespace "millrace" nogil:
    enum: NO_PORT "millrace::FreeList::NONE"
    cdef cppclass FreeList:
        FreeList(uint32_t ports) except +
        void push(uint32_t port) noexcept
        uint32_t pop() noexcept


cdef extern from "parking.hpp" namespace "millrace" nogil:
    cdef cppclass Parking:
        void sleep_while(const atomic[uint64_t]& word, uint64_t seen, const atomic[bool]& stop) noexcept
        void sleep_for(int64_t most_ns, const atomic[bool]& stop) noexcept
        void wake_one() noexcept
        void wake_all() noexcept
        bool somebody_guess() noexcept


cdef extern from "histogram.hpp" namespace "millrace" nogil:
    enum: BUCKETS "millrace::Histogram::BUCKETS"
    cdef cppclass Histogram:
        @staticmethod
        uint64_t upper_bound(int bucket) noexcept
        void record(int64_t ns) noexcept
        uint64_t count(int bucket) noexcept
        uint64_t longest() noexcept


cdef extern from "thread.hpp" namespace "millrace" nogil:
    int64_t now_ns() noexcept
    void yield_thread() noexcept
    void spin(uint32_t* round) noexcept
    cdef cppclass Thread:
        int start(void* (*body)(void*) noexcept nogil, void* argument, size_t stack_bytes, const char* name) noexcept
        void finish() noexcept
        bool done() noexcept
        void join() noexcept
        void abandon() noexcept


cdef extern from "memory.hpp" namespace "millrace" nogil:
    char* reserve_memory(size_t bytes) noexcept
    void give_back_memory(char* memory, size_t bytes) noexcept


cdef extern from "state.hpp" namespace "millrace" nogil:
    enum: HANDLED
    ctypedef int32_t (*Kernel)(Operator*, Worker*, Tuple*, uint32_t) noexcept nogil
    ctypedef void (*WaitForSpace)(Worker*, Port*) noexcept nogil
    ctypedef void (*Published)(Worker*, Target*) noexcept nogil
    ctypedef void (*Flush)(Worker*) noexcept nogil

    cdef cppclass Target:
        Operator* op
        Port* port
        uint32_t path_step
        bool lazy_wake
        bool wake_owed

    cdef cppclass Route:
        Target* targets
        uint32_t count
        char* scratch

    cdef cppclass Operator:
        Kernel kernel
        double factor
        Operator* next
        mutex* lock
        Counter processed
        Route* routes
        uint32_t cost
        uint32_t next_path_step
        uint32_t outputs
        uint32_t index
        uint32_t turn
        uint32_t order
        uint32_t open_streams
        uint64_t copies
        Counter emitted
        void* own

    cdef cppclass Port:
        SpscRing ring
        Operator* op
        uint32_t index
        uint32_t batch
        bool shared
        uint32_t wake_at
        Parking* arrivals
        Parking* room
        TryFlag producing
        Counter pushes
        Counter blocked
        atomic[uint64_t] given_up
        TryFlag consuming
        uint32_t open_streams

    cdef cppclass SourceState:
        uint64_t sent
        uint64_t limit
        uint64_t fingerprints
        Tuple* buffer
        uint32_t batch

    cdef cppclass SinkState:
        uint64_t* next_of_path
        uint32_t paths
        bool check_value
        uint64_t fingerprints
        uint64_t violations
        uint64_t damaged
        Histogram latency

    cdef cppclass MergeState:
        char* slots
        uint64_t mask
        uint8_t* present
        uint32_t next
        uint64_t held
        bool overrun

    cdef cppclass Worker:
        atomic[bool] stop
        Run* run
        Operator* op
        Port* port
        Target** owed
        uint32_t owed_count
        uint32_t spins
        atomic[uint32_t] inside
        Counter drains
        Counter searches
        Counter reschedules
        Counter waits
        uint64_t given_up_fingerprints
        Thread thread

    cdef cppclass Run:
        size_t stride
        uint32_t payload
        bool one_at_a_time
        Operator* operators
        uint32_t operator_count
        Port* ports
        uint32_t port_count
        Worker* workers
        uint32_t worker_count
        FreeList* free_ports
        Tuple* final_punctuation
        WaitForSpace wait_for_space
        Published published
        Flush flush
        size_t capacity
        atomic[bool] finishing
        atomic[bool] failed
        atomic[uint32_t] open_operators
        atomic[bool] over
        Parking ended
        Parking nap
        Parking idle

    T* make_array[T](size_t count) except +
    void delete_array[T](T* array) noexcept

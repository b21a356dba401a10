# native.pxd - declares the primitives and records of native/*.hpp, name for name; path.pxd declares
# the path of a tuple.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libcpp cimport bool
from libcpp.atomic cimport atomic
from libcpp.vector cimport vector


cdef extern from "<mutex>" namespace "std" nogil:
    cdef cppclass mutex:
        mutex() except +
        bool try_lock()
        void lock()
        void unlock()


cdef extern from "tuple.hpp" namespace "millrace" nogil:
    enum: DATA, FINAL, WINDOW, CACHE_LINE
    cdef cppclass Tuple:
        uint64_t sequence
        int64_t born_ns
        double value
        uint32_t path
        uint32_t kind
        uint32_t order
    size_t slot_stride(size_t payload) noexcept
    Tuple* slot(Tuple* first, size_t stride, size_t index) noexcept
    char* payload_of(Tuple* tuple) noexcept
    double value_for(uint64_t sequence) noexcept
    uint64_t fingerprint(uint64_t sequence) noexcept
    void fill_payload(Tuple* tuple, size_t payload) noexcept


cdef extern from "flop.hpp" namespace "millrace" nogil:
    double opaque_one() noexcept
    double multiply(double value, double factor, uint32_t cost) noexcept
    void multiply_batch(
        Tuple* first, size_t stride, uint32_t count, double factor, uint32_t cost
    ) noexcept


cdef extern from "try_flag.hpp" namespace "millrace" nogil:
    cdef cppclass TryFlag:
        bool try_lock() noexcept
        void unlock() noexcept
        bool held() noexcept


cdef extern from "counter.hpp" namespace "millrace" nogil:
    cdef cppclass Counter:
        void add(uint64_t amount) noexcept
        uint64_t read() noexcept


cdef extern from "windows.hpp" namespace "millrace" nogil:
    cdef cppclass Windows:
        void init(size_t things, int64_t length_ns) except +
        void count(size_t thing) noexcept
        void pass_time "pass"(int64_t now_ns) noexcept
        vector[uint64_t] read() except +


cdef extern from "stopwatch.hpp" namespace "millrace" nogil:
    cdef cppclass Stopwatch:
        void start() noexcept
        void stop() noexcept
        int64_t read() noexcept


cdef extern from "spsc_ring.hpp" namespace "millrace" nogil:
    cdef cppclass SpscRing:
        void init(char* memory, size_t capacity, size_t stride) noexcept
        size_t push(Tuple* first, size_t count, size_t spacing, uint32_t path_step) noexcept
        size_t room(size_t wanted) noexcept
        size_t front(size_t most, Tuple** first) noexcept
        void release(size_t count) noexcept
        size_t size_guess() noexcept
        size_t capacity() noexcept
        size_t stride() noexcept
        const atomic[uint64_t]& head() noexcept
        Tuple* left_behind(size_t index) noexcept


cdef extern from "ready_flag.hpp" namespace "millrace" nogil:
    cdef cppclass ReadyFlag:
        bool set() noexcept
        bool clear(const SpscRing& ring, const TryFlag& consuming) noexcept
        bool release(const SpscRing& ring, TryFlag& consuming) noexcept


cdef extern from "ready_ports.hpp" namespace "millrace" nogil:
    enum: NO_PORT "millrace::ReadyPorts::NONE"
    cdef cppclass ReadyPorts:
        ReadyPorts(uint32_t ports) except +
        void push(uint32_t port) noexcept
        uint32_t pop() noexcept
        bool empty() noexcept
        void sleep(const atomic[bool]& stop, const atomic[uint64_t]& suspended) noexcept
        void wake_all() noexcept


cdef extern from "parking.hpp" namespace "millrace" nogil:
    cdef cppclass Parking:
        Parking() except +
        void sleep_for(int64_t most_ns, const atomic[bool]& stop) noexcept
        void wake_all() noexcept


cdef extern from "histogram.hpp" namespace "millrace" nogil:
    enum: BUCKETS "millrace::Histogram::BUCKETS"
    cdef cppclass Histogram:
        @staticmethod
        uint64_t upper_bound(int bucket) noexcept
        void record(int64_t ns) noexcept
        void add_to(uint64_t* counts) noexcept
        uint64_t longest() noexcept


cdef extern from "thread.hpp" namespace "millrace" nogil:
    int64_t now_ns() noexcept
    cdef cppclass Thread:
        int start(
            void* (*body)(void*) noexcept nogil, void* argument, size_t stack_bytes,
            const char* name,
        ) noexcept
        void begins() noexcept
        int32_t id() noexcept
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
    ctypedef bool (*MarkKernel)(Operator*, Worker*, Tuple*) noexcept nogil
    ctypedef void (*StreamEnd)(Operator*, Worker*) noexcept nogil
    ctypedef int32_t (*NativeFunction)(
        uint64_t, double*, char*, uint64_t, double, void*
    ) noexcept nogil

    cdef cppclass Contexts:
        mutex changing
        Contexts(uint32_t operators, uint32_t queues) except +
        void add_operator(uint32_t index) except +
        void add_stream(uint32_t source, uint32_t target, uint32_t queue) except +
        void begin_on(uint32_t queue) noexcept
        void settle() except +
        bool sole(uint32_t queue) noexcept

    cdef cppclass Sizes:
        Sizes(size_t stride, uint32_t most, uint32_t operators, uint32_t queues) except +
        void add_operator(
            uint32_t index, double flop, uint32_t outputs, bool source, bool balances
        ) except +
        void add_way(uint32_t source, uint32_t target, uint32_t queue) except +
        void add_queue(uint32_t index, uint32_t op, size_t capacity, bool threaded) except +

    cdef cppclass CoroutineRun

    cdef cppclass Discipline:
        bool pooled
        void* (*body)(void*) noexcept nogil

    cdef cppclass Target:
        Operator* op
        Port* port
        uint32_t path_step
        uint32_t input
        bool lazy_wake
        Operator* from_ "from"
        uint32_t stride
        char* scratch
        Tuple* rest
        size_t spacing
        uint32_t left

    cdef cppclass Route:
        Target* targets
        uint32_t count
        uint32_t stride
        char* scratch
        Counter sent

    cdef cppclass Chosen:
        uint64_t seed, threshold

    cdef cppclass Operator:
        Kernel kernel
        double factor
        atomic[Operator*] next
        mutex* lock
        Counter processed
        Route* routes
        uint32_t cost
        uint32_t next_path_step
        uint32_t outputs
        uint32_t index
        MarkKernel mark
        StreamEnd stream_ended
        StreamEnd closes
        uint32_t turn
        uint32_t order
        uint32_t open_streams
        uint64_t copies
        uint64_t dropped
        Counter emitted
        uint64_t left
        Chosen* chosen
        Operator* control
        bool drops
        bool ended
        bool reentrant
        void* own
        TypedState* typed
        LoopState* loop

    cdef cppclass Port:
        SpscRing ring
        Operator* op
        const Discipline* discipline
        uint32_t index
        uint32_t input
        bool shared
        Parking* arrivals
        Parking* room
        atomic[uint64_t]* freed
        mutex* call_lock
        Target** feeders
        uint32_t feeder_count
        atomic[bool] sole
        atomic[uint32_t] mode
        atomic[uint32_t] most
        atomic[uint32_t] batch
        TryFlag producing
        ReadyFlag ready
        Counter pushes
        Counter blocked
        atomic[uint64_t] given_up
        Counter switches
        Counter marks
        TryFlag consuming
        atomic[uint32_t] unended
        uint32_t open_streams

    cdef cppclass Pace:
        int64_t length
        double gap

    cdef cppclass SourceState:
        uint64_t sent
        uint64_t limit
        uint64_t fingerprints
        uint64_t window
        uint64_t windows
        Tuple* buffer
        uint32_t room
        atomic[uint32_t] batch
        Pace* paces
        uint32_t pace_count

    cdef cppclass BurstState:
        uint64_t* ends
        uint32_t* costs
        uint32_t count

    cdef cppclass BalanceState:
        atomic[uint32_t] active
        uint32_t* ways
        atomic[uint64_t] freed
        Parking room
        atomic[bool] waiting

    ctypedef enum KeyKind "millrace::KeyAttribute::Kind":
        KEY_BYTES "millrace::KeyAttribute::BYTES"
        KEY_TEXT "millrace::KeyAttribute::TEXT"
        KEY_FLOAT "millrace::KeyAttribute::FLOAT"
        KEY_DOUBLE "millrace::KeyAttribute::DOUBLE"
    cdef cppclass KeyAttribute:
        uint32_t offset
        uint32_t bytes
        KeyKind kind

    cdef cppclass SplitState:
        uint64_t keys
        uint64_t marks
        MergeState* merge
        Port** ports
        uint32_t port_count
        uint32_t ahead

    cdef cppclass PythonState:
        void* owner
        bool (*call)(Operator*, Worker*, uint64_t, double, double*) noexcept nogil

    cdef cppclass NativeState:
        NativeFunction function
        void* state
        atomic[int32_t] error
        uint64_t failed_at

    cdef cppclass SinkState:
        uint64_t* next_of_path
        uint32_t paths
        bool check_value
        uint64_t fingerprints
        uint64_t violations
        uint64_t damaged
        Counter windows
        Histogram latency

    cdef cppclass MergeState:
        char* slots
        uint64_t mask
        uint8_t* present
        SpscRing waiting
        Tuple* mark
        atomic[uint32_t] next
        uint64_t held
        uint64_t given_up
        uint32_t splits_on
        bool overrun

    cdef cppclass BarrierInput:
        SpscRing ring
        uint64_t* next_of_path
        uint32_t paths
        uint32_t open_streams

    cdef cppclass BarrierColumn:
        uint32_t input
        uint32_t from_ "from"
        uint32_t to
        uint32_t bytes

    cdef cppclass BarrierState:
        BarrierInput* inputs
        const BarrierColumn* columns
        uint32_t column_count
        uint32_t count
        bool check_value
        bool over
        uint64_t fingerprints
        uint64_t sent_fingerprints
        uint64_t violations
        uint64_t damaged
        uint64_t discarded
        uint64_t windows

    cdef cppclass Worker:
        atomic[bool] stop
        bool pooled
        atomic[uint64_t] suspended
        atomic[uint32_t] rest
        atomic[uint32_t] at
        Run* run
        void* (*body)(void*) noexcept nogil
        Operator* op
        Port* port
        Target* begun
        char* taken_out
        Target** owed
        Port* unannounced
        uint32_t input
        bool slow
        Counter drains
        Counter searches
        Counter reschedules
        Counter waits
        Stopwatch idle
        Stopwatch asleep
        uint32_t co
        bool resumed
        uint64_t taken
        int64_t born_ns
        uint64_t given_up_fingerprints
        Parking pause
        Thread thread

    cdef cppclass Run:
        size_t stride
        uint32_t payload
        Operator* operators
        uint32_t operator_count
        const char** names
        Port* ports
        uint32_t port_count
        Worker* workers
        uint32_t worker_count
        Worker* co_workers
        uint32_t co_worker_count
        Operator* replica_operators
        uint32_t replica_count
        CoroutineRun* coroutines
        ReadyPorts* ready
        Contexts* contexts
        Sizes* sizes
        Tuple* final_punctuation
        bool python
        uint32_t patience
        atomic[bool] finishing
        atomic[bool] failed
        atomic[bool] gave_up
        atomic[uint32_t] open_operators
        atomic[bool] over
        Parking ended

    uint32_t operator_of(const Worker& thread) noexcept
    void set_shortcut(Target* target)
    enum: NO_QUEUE "millrace::Contexts::NO_QUEUE"
    void choose_sizes(Run* run) noexcept
    T* make_array[T](size_t count) except +
    void delete_array[T](T* array) noexcept


cdef extern from "typed.hpp" namespace "millrace" nogil:
    enum: MILLRACE_MORE "::MILLRACE_MORE", MILLRACE_IDLE "::MILLRACE_IDLE"
    cdef cppclass millrace_context "::millrace_context":
        char** room
        void (*send)(millrace_context*, uint32_t) noexcept nogil
    enum: NOT_ONE_FOR_ONE
    ctypedef int32_t (*PredicateFunction)(const void*, void*) noexcept nogil
    cdef cppclass Sieve:
        PredicateFunction accepts
        void* state
        size_t bytes
    int32_t pass_accepted(millrace_context*, uint32_t, const void*, void*) noexcept
    ctypedef int32_t (*ProcessFunction)(
        millrace_context*, uint32_t, const void*, void*
    ) noexcept nogil
    ctypedef int32_t (*StepFunction)(millrace_context*, void*) noexcept nogil

    cdef cppclass Incoming:
        uint64_t next
        uint64_t seed
        size_t stride
        uint32_t port

    cdef cppclass Outgoing:
        Tuple* slots
        uint64_t sent
        uint64_t seed
        size_t stride
        uint32_t most
        uint32_t filled

    cdef cppclass TypedState:
        millrace_context context
        Operator* op
        Worker* worker
        ProcessFunction process
        StepFunction step
        StepFunction finish
        void* state
        void* python
        SourceState* source
        Histogram* latency
        Incoming* incoming
        Outgoing* outgoing
        uint32_t outputs
        TypedState* first
        const KeyAttribute* by
        uint32_t key_count
        bool begun
        uint32_t batches
        int64_t born_ns
        uint64_t violations
        uint64_t damaged
        atomic[int32_t] error
        uint64_t failed_at

    uint64_t port_seed(uint32_t op, uint32_t output) noexcept
    void rewind(TypedState* state, uint32_t output) noexcept


cdef extern from "loops.hpp" namespace "millrace" nogil:
    cdef cppclass millrace_tuple "::millrace_tuple":
        uint64_t sequence
        double value
        const char* payload
    cdef cppclass millrace_loop "::millrace_loop":
        uint32_t inputs, outputs
        uint64_t payload_bytes
        millrace_context* context
        int32_t (*wait_all)(millrace_loop*, const uint32_t*) noexcept nogil
        int32_t (*wait_any)(millrace_loop*, const uint32_t*) noexcept nogil
        int64_t (*waiting)(millrace_loop*, uint32_t) noexcept nogil
        int32_t (*pop)(millrace_loop*, uint32_t, millrace_tuple*) noexcept nogil
        int32_t (*push)(millrace_loop*, uint32_t, double) noexcept nogil
        int32_t (*stopping)(millrace_loop*) noexcept nogil
        double (*control)(millrace_loop*) noexcept nogil
    ctypedef int32_t (*LoopFunction)(millrace_loop*, void*) noexcept nogil

    cdef cppclass LoopInput:
        Port* port
        Tuple* taken_out
        uint32_t streams
        uint32_t marks
        uint64_t looked
        uint64_t sequence
        bool by_tickets
        uint64_t place() noexcept
        uint64_t at_hand() noexcept
        bool ended() noexcept
        Tuple* next() noexcept

    cdef cppclass LoopOutput:
        Tuple* slots
        uint32_t most, filled
        uint64_t sent
        uint64_t fingerprints
        uint64_t copies

    cdef cppclass LoopState:
        millrace_loop context
        Operator* op
        Worker* worker
        LoopFunction run
        void* state
        void* python
        void (*resume)(void*) noexcept nogil
        LoopInput* inputs
        LoopOutput* outputs
        LoopState* first
        uint32_t* counts
        int64_t born_ns
        bool source
        uint64_t limit
        bool running
        int32_t answer
        char problem[200]
        uint32_t request
        int32_t verdict
        bool begun
        bool closing
        int64_t sleep_ns
        int64_t slice_ends_ns

    enum: LOOP_ENDED "millrace::LoopState::ENDED", LOOP_GO_ON "millrace::LoopState::GO_ON"
    enum: WAIT_ALL "millrace::LoopState::WAIT_ALL", WAIT_ANY "millrace::LoopState::WAIT_ANY"
    enum: LOOP_SLEEP "millrace::LoopState::SLEEP"
    void enter_pushed "millrace::enter"(LoopState* state, uint32_t output, double value) noexcept

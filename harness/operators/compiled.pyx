"""Operators written in C++ as objects (native/operator.hpp), in the form that `Graph.typed` takes.
"""

from libc.stdint cimport UINT64_MAX, int32_t, int64_t, uint32_t, uint64_t, uintptr_t

from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from harness.graph.functions.compiled import ProcessFunction, StepFunction


cdef extern from "operator.hpp" namespace "millrace::operators" nogil:
    ctypedef struct millrace_context "::millrace_context"
    int32_t step_function "millrace::operators::step"(millrace_context*, void*) noexcept
    int32_t process_function "millrace::operators::process"(
        millrace_context*, uint32_t, const void*, void*
    ) noexcept
    int32_t finish_function "millrace::operators::finish"(millrace_context*, void*) noexcept
    enum:
        NO_MEMORY "millrace::operators::NO_MEMORY"
        WRONG_PORT "millrace::operators::WRONG_PORT"
        TOO_MANY_KEYS "millrace::operators::TOO_MANY_KEYS"
        TOO_MANY "millrace::operators::TOO_MANY"

cdef extern from "replay.hpp" namespace "millrace::operators" nogil:
    cdef cppclass ReplayPort "millrace::operators::Replay::Port":
        size_t bytes
        vector[size_t] times
    cdef cppclass Replay(Operator):
        Replay(vector[ReplayPort] ports, uint64_t cycles, int64_t span) except +
        void add(uint32_t port, const char* tuple) except +

MEANINGS = {
    NO_MEMORY: "the system refuses it memory",
    WRONG_PORT: "a tuple came by a port that it does not have",
    TOO_MANY_KEYS: "it would have to keep more than 1,048,576 keys",
    TOO_MANY: "it would have to keep more tuples, or windows, than it can",
}
"""Meanings of the numbers with which an operator ends a run, as the end of a sentence."""

LEFT_OUT = ("late", "without a time", "ahead of time", "broken", "of an unknown kind")
"""Names of what an operator counts of tuples that it leaves out (native/operator.hpp, Left). Those
ahead of time are not left out."""


def shown_record(record):
    """Return the beginning of a record as an example quotes it, in one line."""
    text = record[:120].decode(errors="backslashreplace")
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


cdef class Compiled:
    """A compiled operator. It lives as long as the functions that are taken from it."""

    def __dealloc__(self):
        del self.operator

    cdef Compiled own(self, Operator* operator, object owners):
        """Take over an operator; `owners` are the objects that it refers to."""
        self.operator = operator
        self.owners = owners
        return self

    def counted(self, uint32_t which=0):
        """Return a counter of the operator, by number (native/*.hpp). Exact when the run is over.
        """
        return self.operator.counted(which)

    def left_out(self):
        """Return the number of tuples that it has left out, or that were ahead of time, by name,
        where there were any. Exact when the run is over.
        """
        found = {
            name: self.operator.left_out(<Left> <uint32_t> which)
            for which, name in enumerate(LEFT_OUT)
        }
        return {name: number for name, number in found.items() if number > 0} | (self.noted or {})

    def examples(self):
        """Return the first tuple that was left out, by the same names: its record's number in the
        input, from 1, and the beginning of the record; or all of the tuple.
        """
        cdef const Example* example
        found = {}
        for which, name in enumerate(LEFT_OUT):
            example = self.operator.example(<Left> <uint32_t> which)
            if example == NULL or example.content.empty():
                continue
            content = <bytes> example.content
            if self.takes is not None:
                found[name] = f"tuple {example.number + 1}: {self.takes.unpack(content)}"
                continue
            place = "" if example.number == UINT64_MAX else f"record {example.number + 1}: "
            found[name] = f"{place}{shown_record(content)}"
        return found

    def put_piece(self, bytes piece, double seconds):
        """Give a source the next piece of its input. Return False if it had no room for so long."""
        cdef Pieces* pieces = self.operator.pieces()
        cdef const char* content = piece
        cdef string_view view = string_view(content, <size_t> len(piece))
        cdef bint taken
        with nogil:
            taken = pieces.put(view, seconds)
        return taken

    def end_pieces(self):
        """Tell a source that its input has ended."""
        self.operator.pieces().end()

    def retain(self, uint64_t records):
        """Let a source keep its input until so many more records have been sent: as many as all
        queues hold at least, since tuples in them point to it.
        """
        if self.operator.retained() != NULL:
            self.operator.retained().set_records(records)

    def send_late(self, uint32_t first_output):
        """Send late tuples to outputs of their own, from this one on, in place of counting them.
        """
        self.operator.send_late(first_output)

    @property
    def step(self):
        """Step function of a source."""
        return StepFunction(
            <size_t> <void*> &step_function, <size_t> <void*> self.operator, owners=(self,),
            meanings=MEANINGS,
        )

    @property
    def process(self):
        """Process function of an operator or a sink."""
        return ProcessFunction(
            <size_t> <void*> &process_function, <size_t> <void*> self.operator, owners=(self,),
            meanings=MEANINGS,
        )

    @property
    def finish(self):
        """Function that runs when its last stream has ended."""
        return StepFunction(
            <size_t> <void*> &finish_function, <size_t> <void*> self.operator, owners=(self,),
            meanings=MEANINGS,
        )


def replay(ports, tuples, uint64_t cycles, int64_t span):
    """Return a source of packed tuples, pairs of an output port and bytes, `cycles` times in all
    (0: for ever).

    `ports`: of each output port, the size of a tuple and the places of its times. Times go on by
    `span` from one cycle to the next.
    """
    cdef vector[ReplayPort] outputs
    cdef ReplayPort output
    for size, times in ports:
        output.bytes, output.times = size, times
        outputs.push_back(output)
    cdef Replay* source = new Replay(outputs, cycles, span)
    compiled = Compiled().own(source, None)
    for port, content in tuples:
        if len(content) != ports[port][0]:
            raise ValueError("a packed tuple must be as large as its schema")
        source.add(port, content)
    return compiled


def collect(schema, uint64_t most):
    """Return a sink that counts and sums the tuples that arrive, and keeps the first `most` of
    them.
    """
    return Compiled().own(new Collect(schema.size, most), None)


def kept(Compiled sink, schema):
    """Return the tuples that a sink has kept, unpacked, in the order of arrival. Call it when the
    run is over.
    """
    cdef Collect* collected = <Collect*> sink.operator
    content = collected.data()[:collected.size()]
    return [
        schema.unpack(content[begin : begin + schema.size])
        for begin in range(0, len(content), schema.size)
    ]


# -- results for Python ----------------------------------------------------------------------------

cdef extern from "tap.hpp" namespace "millrace::operators" nogil:
    ctypedef int32_t (*Process "millrace::operators::Tap::Process")(
        void*, uint32_t, const void*, void*
    ) noexcept
    ctypedef int32_t (*Deliver "millrace::operators::Tap::Deliver")(
        void*, uint32_t, const char*, size_t
    ) noexcept
    cdef cppclass TapOperator "millrace::operators::Tap"(Operator):
        TapOperator(
            Process, void* state, const Operator*, vector[size_t] sizes, Deliver, void* to
        ) except +
        int32_t flush() except +

NOT_TAKEN = -5  # EIO


cdef int32_t _deliver(void* tap, uint32_t port, const char* tuples, size_t size) noexcept with gil:
    try:
        return 0 if (<Tap> tap).take(port, tuples[:size]) else NOT_TAKEN
    except BaseException as problem:
        (<Tap> tap).problem = problem
        return NOT_TAKEN


cdef class Tap(Compiled):
    """A sink's compiled function, and `take(port, tuples)` besides, which gets the content of many
    tuples at once and returns False if it takes no more. Then the run fails.

    `results`: the sink itself if it is of `harness.operators`, else None; `sizes`: bytes of a
    tuple by input port. `problem`: what `take` has raised.
    """

    cdef readonly object take
    cdef public object problem

    def __init__(self, function, Compiled results, sizes, take):
        self.take = take
        cdef uintptr_t address = function.address
        cdef uintptr_t state = function.state
        cdef Operator* form = NULL
        if results is not None:
            form = results.operator
        self.own(
            new TapOperator(
                <Process> address, <void*> state, form, sizes, &_deliver, <void*> self
            ),
            function.owners,
        )

    @property
    def process(self):
        """Process function of the sink."""
        return ProcessFunction(
            Compiled.process.__get__(self).address,
            <size_t> <void*> self.operator,
            owners=(self, *self.owners),
            meanings=dict(MEANINGS) | {NOT_TAKEN: "its results could not be written"},
        )

    def flush(self):
        """Give what has been gathered; returns False if it was not taken."""
        cdef int32_t answer
        cdef TapOperator* tap = <TapOperator*> self.operator
        with nogil:
            answer = tap.flush()
        return answer >= 0

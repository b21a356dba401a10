"""A sink that also gives the tuples that arrive to Python, for results in files; native/tap.hpp."""

from libc.stdint cimport int32_t, uint32_t, uintptr_t
from libcpp.vector cimport vector

from harness.operators.compiled cimport Compiled, Operator

from harness.graph.functions.compiled import ProcessFunction
from harness.operators.compiled import MEANINGS

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

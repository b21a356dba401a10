"""The ready operators of native/aggregates.hpp and native/join.hpp, for windows.py, which explains
the arguments.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp cimport bool
from libcpp.vector cimport vector

from harness.operators.compiled cimport Compiled, Operator  # no-cython-lint: a base of those below


cdef extern from "windows.hpp" namespace "millrace::operators" nogil:
    cdef struct Rule "millrace::operators::EventTime::Rule":
        int64_t lateness, jump
    cdef struct Part "millrace::operators::Key::Part":
        uint32_t offset, bytes
        bool string, real
    cdef cppclass GivenFold:
        GivenFold(size_t state_bytes, size_t add, size_t combine, size_t result)
    cdef cppclass AggregateByCount[F](Operator):
        AggregateByCount(const F& fold, vector[Part] key, uint64_t window, uint64_t step) except +

cdef extern from * nogil:
    """
    using namespace millrace::operators;
    template <class F>
    Operator* by_time(const F& fold, std::vector<Key::Part> key, uint32_t time_offset,
                      uint32_t bytes, const EventTime::Rule& rule, int64_t window, int64_t step,
                      bool session) {
      if (session)
        return new AggregateByTime<F, SessionWindows>(fold, key, time_offset, bytes, rule, window,
                                                      step);
      if (window / std::gcd(window, step) > FEW_PANES)
        return new AggregateByTime<F, SlidingWindows>(fold, key, time_offset, bytes, rule, window,
                                                      step);
      return new AggregateByTime<F, TimeWindows>(fold, key, time_offset, bytes, rule, window, step);
    }
    """
    Operator* by_time[F](
        const F&, vector[Part] key, uint32_t time_offset, uint32_t bytes, const Rule&,
        int64_t window, int64_t step, bool session,
    ) except +

cdef extern from "aggregates.hpp" namespace "millrace::operators" nogil:
    cdef cppclass Does:
        pass
    cdef cppclass Is:
        pass
    cdef cppclass Column:
        Does does
        Is kind "is"
        uint32_t start "from"
        uint32_t bytes, to, precision
    cdef cppclass Columns:
        Columns(vector[Column] columns, uint32_t out_bytes) except +
    cdef struct Places "millrace::operators::TopKeys::Places":
        uint32_t begin, end, rank, count, error, bytes
    cdef cppclass TopKeys(Operator):
        TopKeys(
            vector[Part], vector[uint32_t], uint32_t k, uint32_t capacity, uint32_t time_offset,
            uint32_t bytes, const Rule&, int64_t window, int64_t step, const Places&,
        ) except +
    cdef cppclass Frequencies(Operator):
        Frequencies(
            vector[Part], uint32_t bytes, uint32_t width, uint32_t depth, uint32_t time_offset,
            const Rule&, int64_t window,
        ) except +

cdef extern from "join.hpp" namespace "millrace::operators" nogil:
    cdef enum:
        NOWHERE "millrace::operators::Join::NOWHERE"
    cdef struct Copy "millrace::operators::Join::Copy":
        uint32_t port
        uint32_t start "from"
        uint32_t to, bytes
    cdef struct Side "millrace::operators::Join::Side":
        vector[Part] key
        uint32_t time_offset, bytes
        bool outer
        uint32_t present
    cdef cppclass Join(Operator):
        Join(
            const Side&, const Side&, vector[Copy], uint32_t out_bytes, int64_t within, const Rule&
        ) except +


AGGREGATE_NAMES = (
    "count", "total", "mean", "least", "greatest", "first", "last", "distinct", "begin", "end"
)
TYPE_NAMES = (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
    "bytes", "string"
)
"""Names of the enumerations in native/aggregates.hpp, in the same order."""


cdef vector[Part] parts_of(key):
    cdef vector[Part] parts
    cdef Part part
    for part.offset, part.bytes, part.string, part.real in key:
        parts.push_back(part)
    return parts


cdef vector[Column] columns_of(given):
    cdef vector[Column] columns
    cdef Column column
    for does, kind, start, size, to, precision in given:
        column.does = <Does> <uint32_t> AGGREGATE_NAMES.index(does)
        column.kind = <Is> <uint32_t> TYPE_NAMES.index(kind)
        column.start, column.bytes, column.to, column.precision = start, size, to, precision
        columns.push_back(column)
    return columns


def columns_by_count(key, columns, uint32_t out_bytes, uint64_t window, uint64_t step):
    cdef Columns* fold = new Columns(columns_of(columns), out_bytes)
    try:
        return Compiled().own(
            new AggregateByCount[Columns](fold[0], parts_of(key), window, step), None
        )
    finally:
        del fold


cdef Rule rule_of(given):
    cdef Rule rule
    rule.lateness, rule.jump = given
    return rule


def columns_by_time(
    key, columns, uint32_t out_bytes, uint32_t time_offset, uint32_t size, rule, int64_t window,
    int64_t step, bool session,
):
    cdef Columns* fold = new Columns(columns_of(columns), out_bytes)
    try:
        return Compiled().own(
            by_time[Columns](
                fold[0], parts_of(key), time_offset, size, rule_of(rule), window, step, session
            ),
            None,
        )
    finally:
        del fold


cdef GivenFold* fold_of(functions, size_t state_bytes) except NULL:
    add, combine, result = (0 if each is None else each.address for each in functions)
    return new GivenFold(state_bytes, add, combine, result)


def fold_by_count(key, functions, size_t state_bytes, uint64_t window, uint64_t step):
    cdef GivenFold* fold = fold_of(functions, state_bytes)
    try:
        return Compiled().own(
            new AggregateByCount[GivenFold](fold[0], parts_of(key), window, step), functions
        )
    finally:
        del fold


def fold_by_time(
    key, functions, size_t state_bytes, uint32_t time_offset, uint32_t size, rule, int64_t window,
    int64_t step, bool session,
):
    cdef GivenFold* fold = fold_of(functions, state_bytes)
    try:
        return Compiled().own(
            by_time[GivenFold](
                fold[0], parts_of(key), time_offset, size, rule_of(rule), window, step, session
            ),
            functions,
        )
    finally:
        del fold


def top_keys(
    key, to, uint32_t k, uint32_t capacity, uint32_t time_offset, uint32_t size, rule, window, step,
    places,
):
    cdef vector[uint32_t] offsets = to
    cdef Places at
    at.begin, at.end, at.rank, at.count, at.error, at.bytes = places
    return Compiled().own(
        new TopKeys(
            parts_of(key), offsets, k, capacity, time_offset, size, rule_of(rule), window, step, at
        ),
        None,
    )


def frequencies(
    key, uint32_t width, uint32_t depth, uint32_t time_offset, uint32_t size, rule, int64_t window
):
    return Compiled().own(
        new Frequencies(parts_of(key), size, width, depth, time_offset, rule_of(rule), window),
        None,
    )


cdef Side side_of(given):
    cdef Side side
    key, side.time_offset, side.bytes, side.outer, present = given
    side.key = parts_of(key)
    side.present = NOWHERE if present is None else present
    return side


def join(left, right, copies, uint32_t out_bytes, int64_t within, rule):
    cdef vector[Copy] several
    cdef Copy copy
    for copy.port, copy.start, copy.to, copy.bytes in copies:
        several.push_back(copy)
    return Compiled().own(
        new Join(side_of(left), side_of(right), several, out_bytes, within, rule_of(rule)), None
    )

"""Operators of VWAP, for Python; native/vwap.hpp describes each."""

from libc.stdint cimport uint32_t, uint64_t

from harness.operators.compiled cimport Compiled, Operator  # no-cython-lint: a base of those below


cdef extern from "vwap.hpp" namespace "millrace::applications" nogil:
    cdef cppclass CsvLine:
        pass
    cdef cppclass Tick:
        pass
    cdef cppclass Sums:
        pass
    cdef cppclass Average:
        pass
    cdef cppclass Bargain:
        pass
    cdef cppclass Columns:
        uint32_t ticker, type, price, volume, ask, ask_size
    cdef cppclass CsvLines(Operator):
        CsvLines(const char* text, size_t size, uint64_t cycles) except +
        CsvLines() except +
    cdef cppclass ParseTicks(Operator):
        ParseTicks(const Columns& columns, uint32_t channels) except +
    cdef cppclass Route(Operator):
        Route() except +
    cdef cppclass SumTrades(Operator):
        SumTrades() except +
    cdef cppclass Divide(Operator):
        Divide() except +
    cdef cppclass PassOn[T](Operator):
        PassOn() except +
    cdef cppclass BargainIndex(Operator):
        BargainIndex(uint32_t channel) except +
    cdef cppclass BargainsOnly(Operator):
        BargainsOnly() except +


def lines(bytes text, uint64_t cycles):
    """Return a source of the lines of `text` after the first one, a header; `cycles` times (0: for
    ever).
    """
    return Compiled().own(new CsvLines(text, len(text), cycles), text)


def lines_in_pieces():
    """Return a source of the records of an input that comes in pieces, after its header."""
    return Compiled().own(new CsvLines(), None)


def parse(columns, uint32_t channels):
    """Return the parser. `columns`: numbers of the columns ticker, type, price, volume, ask and
    ask_size, below 64.
    """
    cdef Columns places
    places.ticker, places.type, places.price = columns["ticker"], columns["type"], columns["price"]
    places.volume, places.ask, places.ask_size = (
        columns["volume"], columns["ask"], columns["ask_size"]
    )
    return Compiled().own(new ParseTicks(places, channels), None)


def route():
    return Compiled().own(new Route(), None)


def sum_trades():
    return Compiled().own(new SumTrades(), None)


def divide():
    return Compiled().own(new Divide(), None)


def project():
    return Compiled().own(new PassOn[Tick](), None)


def bargain_index(uint32_t channel):
    return Compiled().own(new BargainIndex(channel), None)


def bargains_only():
    return Compiled().own(new BargainsOnly(), None)


def merge():
    return Compiled().own(new PassOn[Bargain](), None)


def sizes():
    """Return the bytes of each kind of tuple, by the name of its schema."""
    return {
        "csv_line": sizeof(CsvLine),
        "tick": sizeof(Tick),
        "sums": sizeof(Sums),
        "average": sizeof(Average),
        "bargain": sizeof(Bargain),
    }

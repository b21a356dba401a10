# The volume weighted average price over a window of trades, as an aggregate of one's own: the
# functions of a fold.
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

cdef extern from "millrace.h" nogil:
    ctypedef struct millrace_window:
        uint64_t count

cdef struct Ticker:
    uint32_t length
    char[12] text
cdef struct Tick:
    double price, volume
    Ticker ticker
cdef struct Sums:
    double value, volume
    Ticker ticker
cdef struct Average:
    double vwap
    uint64_t trades
    Ticker ticker

cdef api int32_t add(Sums* sums, Tick* tick, uint64_t count) noexcept nogil:
    sums.value += tick.price * tick.volume
    sums.volume += tick.volume
    sums.ticker = tick.ticker
    return 0

cdef api int32_t combine(Sums* sums, Sums* later) noexcept nogil:
    sums.value += later.value
    sums.volume += later.volume
    return 0

cdef api int32_t result(Sums* sums, millrace_window* window, Average* out) noexcept nogil:
    if sums.volume <= 0:
        return 0  # nothing is sent
    out.vwap, out.trades, out.ticker = sums.value / sums.volume, window.count, sums.ticker
    return 1

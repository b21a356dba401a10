# pacing.pyx - when a source that does not run at full speed sends: at a rate, or in bursts of rate.
#
# Open loop: a tuple has an intended time, which does not depend on the tuples before it. It is born
# then, so its latency includes the time for which back-pressure kept the source from sending (else
# the worst waits would not be measured: coordinated omission). A source that is late sends the
# tuples that are due as fast as it can. The schedule is a cycle of stretches: tuples at even
# distances, full speed, or silence. Stretches follow each other in intended time too, except that
# one at full speed ends by the clock. If a stretch ends before its next tuple, the next stretch at
# a rate begins with the rest of that gap, so that short stretches do not send more.

from libc.stdint cimport INT64_MAX, int64_t, uint32_t
from libcpp.atomic cimport memory_order_relaxed

from harness.runtime.native cimport Pace, SourceState, Worker, now_ns, sharpen_timer, slot
from harness.runtime.coroutine cimport sleep_until as sleep_as_coroutine
from harness.runtime.submit cimport hand_over

cdef enum:
    LONGEST_SLEEP_NS = 10_000_000  # then it checks if it has to end


cdef uint32_t due(Worker* worker, SourceState* source, uint32_t most) noexcept nogil:
    """Wait until a tuple is due. Returns the number of tuples due, up to `most`, with their times
    in the source's buffer. 0: look again, it may be over.
    """
    cdef Pace* pace
    cdef int64_t now = now_ns(), at, end, until
    cdef uint32_t count = 0
    if source.pace_began_ns == 0:
        source.pace_began_ns = now
        sharpen_timer()
    pace = &source.paces[source.pace]
    end = source.pace_began_ns + pace.length_ns if pace.length_ns > 0 else INT64_MAX
    until = end
    if pace.gap_ns > 0:
        while count < most:
            at = source.pace_began_ns + <int64_t> (source.pace_next * pace.gap_ns)
            until = min(at, end)
            if at > now or at >= end:
                break
            slot(source.buffer, worker.run.stride, count).born_ns = at
            source.pace_next += 1.0
            count += 1
        if count > 0:
            return count
    elif pace.gap_ns == 0 and now < end:
        for count in range(1, most):
            slot(source.buffer, worker.run.stride, count).born_ns = 0
        source.buffer.born_ns = now
        return most
    if now < end:
        sleep_until(worker, until, now)
        return 0
    source.pace_began_ns = end
    if pace.gap_ns > 0:
        source.pace_next -= pace.length_ns / pace.gap_ns
    source.pace = source.pace + 1 if source.pace + 1 < source.pace_count else 0
    return 0


cdef void sleep_until(Worker* worker, int64_t time_ns, int64_t now) noexcept nogil:
    hand_over(worker)
    worker.at.store(0, memory_order_relaxed)
    if worker.resumed:
        sleep_as_coroutine(worker, min(time_ns, now + <int64_t> LONGEST_SLEEP_NS))
        return
    worker.run.ended.sleep_for(min(time_ns - now, <int64_t> LONGEST_SLEEP_NS), worker.run.over)

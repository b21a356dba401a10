# disciplines.pyx - the behaviour of each kind of queue (harness.models.Queue): one record for each,
# with the wait at a full queue, the steps after a push, and the loop of its threads.
#
# A port that is called has none. A new model is one more record, the body of its threads, and a
# class of harness/models.py, which says which ports get such queues. The simulator has the same
# records in simulator/native/disciplines.hpp.

from harness.runtime cimport coroutine, dedicated, dynamic
from harness.runtime.native cimport Discipline

from harness.models import Queue

cdef Discipline threaded, scheduled, resumed

threaded.pooled = False
threaded.body = dedicated.port_body
threaded.published = dedicated.tuples_published
threaded.wait_for_room = dedicated.wait_for_room

scheduled.pooled = True
scheduled.body = dynamic.scheduler_body
scheduled.published = dynamic.tuples_published
scheduled.wait_for_room = dynamic.reschedule

resumed.pooled = False
resumed.body = coroutine.thread_body
resumed.published = coroutine.tuples_published
resumed.wait_for_room = coroutine.wait_for_room


cdef const Discipline* discipline_of(object kind) noexcept:
    """NULL: the port is called."""
    if kind is Queue.THREADED:
        return &threaded
    if kind is Queue.RESUMED:
        return &resumed
    return &scheduled if kind is Queue.SCHEDULED else NULL

# bodies.pyx - what a thread runs, by what it is for.

from harness.runtime.dedicated cimport port_body
from harness.runtime.dynamic cimport scheduler_body
from harness.runtime.manual cimport source_body
from harness.runtime.native cimport Worker


cdef void* body(void* argument) noexcept nogil:
    if (<Worker*> argument).run.python:
        with_interpreter(argument)
    else:
        work(argument)
    return NULL


cdef void with_interpreter(void* argument) noexcept nogil:
    """The interpreter keeps what it knows of a thread while a call is open; else every `with gil` would make and destroy that, for
    microseconds."""
    with gil:
        with nogil:
            work(argument)


cdef void work(void* argument) noexcept nogil:
    cdef Worker* worker = <Worker*> argument
    if worker.pooled:
        scheduler_body(argument)
    elif worker.op != NULL:
        source_body(argument)
    else:
        port_body(argument)

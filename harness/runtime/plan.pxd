# plan.pxd - a graph and a model as flat arrays; see plan.pyx.

from libc.stdint cimport uint32_t

from harness.runtime.native cimport Operator, Port, Route, Run, Target, Worker
from harness.runtime.states cimport States


cdef class Plan:
    cdef Run* run
    cdef States states
    cdef readonly list operators            # harness.graph.Operator, by index
    cdef readonly list input_ports          # PortId, of every input port in the graph's order
    cdef readonly list queue_of_port        # by input port: index into run.ports, or None
    cdef readonly list streams              # (source operator index, output port, target operator index, input port index)
    cdef readonly list balancing            # operators with buffers before their output ports, by index
    cdef readonly bint copies_known
    cdef readonly uint32_t first_scheduler  # workers from here on are of the pool
    cdef readonly uint32_t minimum_threads  # FREE
    cdef readonly uint32_t pool_threads     # at the start
    cdef readonly uint32_t capacity         # tuples a queue, of scheduled ports if there are any; 0 if there are no queues
    cdef uint32_t threaded_capacity         # the same of threaded ports, those threaded by hand only if there are no others
    cdef Route* routes
    cdef Target* targets
    cdef Target** owed
    cdef Target** feeders                   # of all scheduled ports
    cdef uint32_t* order                    # of operators, topological
    cdef double* region_cost                # scratch of set_batches: FLOP a tuple of what is called from an operator on
    cdef uint32_t* region_room              # and how many tuples may be handed to it at once
    cdef char* memory                       # of all queues
    cdef size_t memory_bytes
    cdef list worker_stacks                 # bytes, of all but scheduler threads
    cdef size_t scheduler_stack             # bytes
    cdef void set_batches(self) noexcept
    cdef size_t stack_of(self, uint32_t index) noexcept
    cdef _list_feeders(self)
    cdef _find_contexts(self, incoming)
    cdef void _join_buffers(self, Operator* op) noexcept
    cdef uint32_t _lend_owed(self, Worker* worker, index, outgoing, queued, lazy, uint32_t begin) except? 0

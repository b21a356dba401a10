# plan.pxd - a graph and a model as flat arrays; see plan.pyx.

from libc.stdint cimport uint32_t, uint64_t

from harness.runtime.native cimport MergeState, Operator, Port, Route, Run, SinkState, SourceState, Target, Worker


cdef class Plan:
    cdef Run* run
    cdef readonly list operators            # harness.graph.Operator, by index
    cdef readonly list input_ports          # PortId, of every input port in the graph's order
    cdef readonly list queue_of_port        # by input port: index into run.ports, or None
    cdef readonly list streams              # (source operator index, output port, target operator index, input port index)
    cdef readonly list worker_names
    cdef readonly bint copies_known
    cdef readonly list owners               # PythonCall objects, kept alive
    cdef Route* routes
    cdef Target* targets
    cdef Target** owed
    cdef char* memory                       # of all queues
    cdef size_t memory_bytes
    cdef list blocks                        # addresses and sizes of other memory from the system
    cdef list worker_stacks                 # bytes, by worker
    cdef char* block(self, size_t size) except NULL
    cdef uint32_t _lend_owed(self, Worker* worker, index, outgoing, queued, lazy, uint32_t begin) except? 0

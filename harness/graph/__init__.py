"""Operator graphs, with their authors' threading annotations. A run's model decides the number of
threads.

A `Graph` holds operators and the streams between their ports. An output port may feed several input
ports (*fan-out*: each gets every tuple) and an input port may be fed by several output ports
(*fan-in*: their tuples interleave, each stream stays FIFO). Kinds of operator:

  source   makes tuples: as fast as it is allowed to, at a rate, or in bursts of rates; a window
           punctuation after every so many; no input port, a thread of its own (P17 §2.3)
  work     `cost` dependent floating-point multiplies a tuple (P17 §5), or bursts of costs, or busy
           for a time (C-Stream's busy operator, §5.1); passes on a share of the tuples, chosen by a
           hash of its own; more than one output port: those go round-robin
  filter   passes on a share of the tuples, chosen by a hash of their sequence numbers
  split    sends each tuple to the next of its output ports, or by its key; runs on the thread that
           submits to it, as the splitter of SPL's @parallel does (P17 §2.1), so no model puts a
           queue before it
  merge    restores the order in which the split upstream of it saw the tuples (C-Stream §4.2)
  barrier  takes a tuple from each of its inputs and sends one on (C-Stream §2.3, Listing 2)
  threaded_split        puts each tuple into the next of its buffers that has room; each output port
           has a buffer, and a thread that submits what is in it
  elastic_load_balance  the same with as many active ports as a control law finds best
  buffer   what is before an output port of the two above
  python   a Python callable, `function(sequence, value) -> value`, or None to drop the tuple
  native   a compiled function (`harness.graph.functions.compiled`)
  loop     a function, compiled or async, that runs from the first tuple to the last and waits for
           what it needs (C-Stream §2.3); it may be typed
  typed    a function on tuples with attributes (`harness.graph.schema`) that sends none, one or
           many for each; sources and sinks may be typed, too, and in a graph where one operator is
           all are
  sink     counts, checks and stamps the latency of what arrives
  control  the control port of another operator: absorbs what arrives, and so may close a cycle

Annotations: a *threaded port* has a queue and a thread of its own under every model (P17 §2.2); an
operator added while a `Threading` annotation was in force is executed as that says
(`harness.graph.annotations`). `harness.models` resolves both.

`Graph.check()` reports everything that is wrong, and where.

kinds        the kinds of operator, with the facts that other code asks for
operator     an operator, its ports, a stream, a threading annotation
data         a graph as data, with look-ups;  builder  the `Graph` that users build
annotations  @threading and @parallel
checks       the rules of a whole graph;  order, flow, barriers, balance  what they need
lines        of a graph file, for messages
schema       attributes of tuples;  typed  typed operators;  functions  users' functions
files        graphs in files
"""

from harness.graph.builder import Graph
from harness.graph.operator import Operator, PortId, Stream, Threading
from harness.graph.values import GraphError

__all__ = ["Graph", "GraphError", "Operator", "PortId", "Stream", "Threading"]

"""What can be proved about a graph before it runs, so that tuples need not pay for it.

* Who can get where. Every operator is executed in a *context*: the thread of a source, the consumer side of a queued port, or
  the lock of an operator that more than one context reaches. An operator with one context needs no lock, a queue fed from one
  context needs no producer flag (P17 §5.2 elides locks the same way).
* Which way a tuple came. Each path from the sources gets a number (Ball and Larus, MICRO 1996, seen from the other end):
  streams into a port add different amounts to a tuple's path, and sinks check the order of each path. More than 2^20 paths are
  not told apart.
* How deep calls and nested drains can go: along the graph's longest path, so the stack of each thread is sized by that.

A stream is a tuple (source operator, output port, target operator, input port), all by index; `order` is topological.
"""

from __future__ import annotations

MAX_PATHS = 2**20


def contexts_of(operators, order, incoming, queued):
    """By operator: the one context that executes it, and whether it is its own lock's."""
    context = [None] * len(operators)
    locked = [False] * len(operators)
    for index in order:
        reached = {("port", stream[3]) if queued[stream[3]] else context[stream[0]] for stream in incoming[index]}
        if not reached:
            context[index] = ("source", index)
        elif len(reached) == 1:
            context[index] = reached.pop()
        else:
            locked[index] = True
            context[index] = ("lock", index)
    return context, locked


def paths_of(operators, order, incoming):
    """By operator: how many paths lead to it from the sources (None: too many); by stream: what it adds to a tuple's path."""
    paths = [None] * len(operators)
    steps = {}
    for index in order:
        kind = operators[index].kind
        total = 0
        for stream in incoming[index]:
            before = paths[stream[0]]
            steps[stream] = 0 if total is None or kind == "merge" else total
            total = None if total is None or before is None or total + before > MAX_PATHS else total + before
        paths[index] = 1 if kind in ("source", "merge") else total
        if paths[index] is None:
            for stream in incoming[index]:
                steps[stream] = 0
    return paths, steps


def depths_of(order, outgoing, queued):
    """By operator: operators on the longest way of calls that starts with it, and on the longest way of any kind."""
    calls, longest = {}, {}
    for index in reversed(order):
        streams = [stream for port in outgoing[index] for stream in port]
        calls[index] = 1 + max((calls[stream[2]] for stream in streams if not queued[stream[3]]), default=0)
        longest[index] = 1 + max((longest[stream[2]] for stream in streams), default=0)
    return calls, [longest[index] for index in sorted(longest)]

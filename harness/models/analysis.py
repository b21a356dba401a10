"""Facts about a graph that are derived before it runs, so that no tuple costs work for them.

* Contexts. Every operator is executed in a *context*: the thread of a source, the consumer side of
  a queued port, a co-routine, or the lock of an operator that more than one context reaches. An
  operator with one context needs no lock, and a queue fed from one context needs no producer flag
  (P17 §5.2 elides locks in the same way). A port whose queue may be switched off counts as queued:
  without its queue it is executed in the contexts of the operators that feed it. That only joins
  contexts, so the facts stay true.
* Paths. Each path from the sources gets a number (Ball and Larus, MICRO 1996, seen from the other
  end): streams into a port add different amounts to a tuple's path, and sinks check the order of
  each path. Branches between a split and the merge that restores its order are one path. A control
  port that is fed from where branches have joined before the merge gets tuples in no order. More
  than 2^20 paths are not distinguished.
* Depths of calls, and of drains within drains, along the longest path of the graph: the stack of
  each thread is sized by them.

A stream is a tuple (source operator, output port, target operator, input port), all by index;
`order` is topological.
"""

from __future__ import annotations

from typing import NamedTuple

from harness.graph.kinds import BARRIER, LOOP, MERGE, SPLIT

MAX_PATHS = 2**20


class GraphFacts(NamedTuple):
    """Facts about a graph. Lists are by operator, but for `regions`."""

    contexts: list  # the context that executes it
    locked: list  # True if its context is its own lock
    paths: list  # number of paths from the sources to it; None: too many, or in no order
    steps: dict  # by stream: the amount that it adds to a path, if not 0
    paths_at_inputs: dict  # by barrier: number of paths to each of its inputs
    changed: list  # True if the values that it gets may differ from those of the source
    regions: list  # (split, merge, input ports with a queue between the two), by merge
    calls: list  # number of operators on the longest chain of calls from it on
    longest: list  # number of operators on the longest path from it on


def facts_of(operators, order, incoming, outgoing, queued, resumed):
    """Return the facts about a graph.

    `incoming`: streams by operator; `outgoing`: streams by operator and output port; `queued`,
    `resumed`: by input port, True if it has a queue, and if the queue is that of a co-routine.
    """
    contexts, locked = contexts_of(order, incoming, queued, resumed)
    paths, steps, paths_at_inputs = paths_of(operators, order, incoming)
    calls, longest = depths_of(order, outgoing, queued)
    regions = [
        region_of(index, operators, incoming, queued)
        for index, operator in enumerate(operators)
        if operator.kind is MERGE
    ]
    changed = changes_of(operators, order, incoming)
    return GraphFacts(
        contexts, locked, paths, steps, paths_at_inputs, changed, regions, calls, longest
    )


def contexts_of(order, incoming, queued, resumed):
    """Return, by operator, the context that executes it, and True if that context is its own lock.

    `queued`, `resumed`: see `facts_of`.
    """

    def context_of(stream):
        source, _, target, port = stream
        if resumed[port]:
            return ("co-routine", target)
        return ("port", port) if queued[port] else context[source]

    context = [None] * len(incoming)
    locked = [False] * len(incoming)
    for index in order:
        streams = incoming[index]
        if not streams:
            context[index] = ("source", index)
            continue
        context[index] = context_of(streams[0])
        if any(context_of(stream) != context[index] for stream in streams[1:]):
            locked[index] = True
            context[index] = ("lock", index)
    return context, locked


def paths_of(operators, order, incoming):
    """Return `paths`, `steps` and `paths_at_inputs` of `GraphFacts`.

    Only the paths of a barrier's first input go on behind it.
    """
    paths = [None] * len(operators)
    steps = {}
    behind = [None] * len(operators)  # paths that leave it: a loop gives its tuples new numbers
    at_inputs = {}
    ordered = _between_splits_and_merges(operators, incoming)
    mixed = set()  # those of `ordered` where branches have joined before the merge
    for index in order:
        streams = incoming[index]
        if not streams:
            paths[index] = 1
        elif index in ordered:
            paths[index] = behind[streams[0][0]]
            if operators[index].kind is not MERGE and (len(streams) > 1 or streams[0][0] in mixed):
                mixed.add(index)
        elif mixed and any(stream[0] in mixed for stream in streams):
            continue  # a control port
        elif operators[index].kind is BARRIER:
            ports = sorted({stream[3] for stream in streams})
            at_inputs[index] = [
                _joined([stream for stream in streams if stream[3] == port], behind, steps)
                for port in ports
            ]
            paths[index] = at_inputs[index][0]
        else:
            paths[index] = _joined(streams, behind, steps)
        behind[index] = 1 if operators[index].kind is LOOP else paths[index]
    return paths, steps, at_inputs


def _joined(streams, behind, steps):
    """Return the number of paths that these streams join, and enter their steps; None if there are
    too many, or if they have no order.
    """
    total = 0
    entered = []
    for stream in streams:
        before = behind[stream[0]]
        if before is None or total + before > MAX_PATHS:
            for earlier in entered:
                del steps[earlier]
            return None
        if total > 0:
            steps[stream] = total
            entered.append(stream)
        total += before
    return total


def _between_splits_and_merges(operators, incoming):
    """Return the operators whose tuples all go from a split to the merge that restores their order,
    and those merges.
    """
    between = set()
    for index, operator in enumerate(operators):
        if operator.kind is not MERGE:
            continue
        between.add(index)
        frontier = [index]
        while frontier:
            for stream in incoming[frontier.pop()]:
                if operators[stream[0]].kind is not SPLIT and stream[0] not in between:
                    between.add(stream[0])
                    frontier.append(stream[0])
    return between


def depths_of(order, outgoing, queued):
    """Return `calls` and `longest` of `GraphFacts`."""
    calls = [1] * len(outgoing)
    longest = [1] * len(outgoing)
    for index in reversed(order):
        by_call = by_any = 0
        for streams in outgoing[index]:
            for _, _, target, port in streams:
                if longest[target] > by_any:
                    by_any = longest[target]
                if not queued[port] and calls[target] > by_call:
                    by_call = calls[target]
        calls[index] += by_call
        longest[index] += by_any
    return calls, longest


def changes_of(operators, order, incoming):
    """Return `changed` of `GraphFacts`."""
    changes = [operator.kind.changes_values and not operator.preserves for operator in operators]
    changed = [False] * len(operators)
    for index in order if any(changes) else ():
        changed[index] = any(changed[before[0]] or changes[before[0]] for before in incoming[index])
    return changed


def region_of(merge, operators, incoming, queued):
    """Return the split of a merge, the merge, and the input ports with a queue between the two."""
    split, queues, frontier, seen = None, set(), [merge], {merge}
    while frontier:
        for stream in incoming[frontier.pop()]:
            if queued[stream[3]]:
                queues.add(stream[3])
            if operators[stream[0]].kind is SPLIT:
                split = stream[0]
            elif stream[0] not in seen:
                seen.add(stream[0])
                frontier.append(stream[0])
    return split, merge, sorted(queues)

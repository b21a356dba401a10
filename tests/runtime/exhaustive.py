"""Every state that a model can get into: assertions, deadlocks, and livelocks under weak fairness.

Weak fairness: no process is neglected for ever that could always take a step.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.runtime.promela import Program, tokens_of


class Broken(Exception):
    """The model does something it must not; the message says what, `trace` how it came to that."""

    def __init__(self, what: str, trace: list[str]) -> None:
        super().__init__(what)
        self.trace = trace


def check(model: str, **constants: int) -> int:
    """How many states `model` (Promela) has with these macros defined.

    Raises Broken if an assertion fails, or if there is a fair run that does not end.
    """
    program = Program(tokens_of(model, constants))
    edges, whole, parent = explore(program)
    for component in components(edges):
        if is_fair(component, edges, whole, len(program.processes)):
            names = sorted(
                {
                    program.processes[who]
                    for state in component
                    for who, after in edges[state]
                    if after in component
                }
            )
            raise Broken(f"livelock of {', '.join(names)}", trace_to(component.pop(), parent))
    return len(edges)


def explore(
    program: Program,
) -> tuple[list[list[tuple[int, int]]], list[bool], list[tuple[int, str]]]:
    """By state: the steps from there (process, state after); whether these are all; from where it
    was reached first.

    Breadth first, so that traces are short. Where a process is about to do what nobody else can see
    or hinder, it does that before anybody does anything: what else there is can come after as well
    (an ample set: Peled, CAV 1993).
    """
    states = {program.start: 0}
    edges: list[list[tuple[int, int]]] = []
    whole: list[bool] = []
    parent = [(-1, "")]
    queue = [program.start]
    for state in queue:
        after: list[tuple[int, int]] = []
        counters = program.counters
        alone = [who for who, place in enumerate(counters) if program.unseen[who][state[place]]]
        for who in alone[:1] or range(len(counters)):
            for text, step in program.steps[who][state[counters[who]]]:
                try:
                    next_ = step(state)
                except AssertionError as error:
                    raise Broken(
                        f"{program.processes[who]}: {error}", [*trace_to(len(edges), parent), text]
                    ) from None
                if next_ is None:
                    continue
                number = states.setdefault(next_, len(queue))
                if number == len(queue):
                    queue.append(next_)
                    parent.append((len(edges), f"{program.processes[who]}: {text}"))
                after.append((who, number))
        if not after and any(
            program.steps[who][state[place]] for who, place in enumerate(program.counters)
        ):
            waiting = [
                name
                for who, name in enumerate(program.processes)
                if program.steps[who][state[program.counters[who]]]
            ]
            raise Broken(f"deadlock of {', '.join(waiting)}", trace_to(len(edges), parent))
        edges.append(after)
        whole.append(not alone)
    return edges, whole, parent


def trace_to(state: int, parent: list[tuple[int, str]]) -> list[str]:
    trace = []
    while state > 0:
        state, text = parent[state]
        trace.append(text)
    return trace[::-1]


def components(edges: list[list[tuple[int, int]]]) -> Iterator[set[int]]:
    """The strongly connected components in which a run can stay (Tarjan, SIAM J. Computing 1(2),
    1972, without recursion).
    """
    index = [0] * len(edges)  # 0: not seen yet
    low = [0] * len(edges)
    on_stack = [False] * len(edges)
    stack: list[int] = []
    seen = 0
    for root in range(len(edges)):
        work = [(root, 0)] if index[root] == 0 else []
        while work:
            state, place = work.pop()
            if index[state] == 0:
                seen += 1
                index[state] = low[state] = seen
                stack.append(state)
                on_stack[state] = True
            descend = False
            while place < len(edges[state]):
                after = edges[state][place][1]
                if index[after] == 0:
                    work += [(state, place), (after, 0)]
                    descend = True
                    break
                if on_stack[after]:
                    low[state] = min(low[state], low[after])
                place += 1
            if descend or low[state] != index[state]:
                continue
            component = set()
            while True:
                member = stack.pop()
                on_stack[member] = False
                component.add(member)
                if member == state:
                    break
            if len(component) > 1 or any(after == state for _, after in edges[state]):
                yield component


def is_fair(
    component: set[int], edges: list[list[tuple[int, int]]], whole: list[bool], processes: int
) -> bool:
    """Whether a run may stay here for ever although no process is neglected: each takes steps here,
    or cannot at some state.
    """
    known = [state for state in component if whole[state]]
    for who in range(processes):
        moves = any(
            mover == who and after in component
            for state in component
            for mover, after in edges[state]
        )
        if (
            known
            and not moves
            and all(any(mover == who for mover, _ in edges[state]) for state in known)
        ):
            return False
    return True

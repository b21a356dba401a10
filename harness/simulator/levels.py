"""In which order the queues of a graph are filled: from the sinks upwards (native/filling.hpp)."""

from __future__ import annotations

from collections.abc import Sequence


def levels_of(
    streams: Sequence[tuple[int, int, int, int]],
    queue_of_port: Sequence[int | None],
    operators: int,
) -> list[list[int]]:
    """Return the queues by the most other queues that a tuple meets behind them, the last first.

    `streams`: source operator, output port, target operator, input port, by index; `queue_of_port`:
    the queue of an input port. Streams into control ports close cycles, which no way of a tuple
    goes round: those ports are leaves.
    """
    leaving: list[list[tuple[int, int | None]]] = [[] for _ in range(operators)]
    arriving = [0] * operators
    for source, _, target, port in streams:
        leaving[source].append((target, queue_of_port[port]))
        arriving[target] += 1
    order = [operator for operator in range(operators) if arriving[operator] == 0]
    for operator in order:
        for target, _ in leaving[operator]:
            arriving[target] -= 1
            if arriving[target] == 0:
                order.append(target)
    behind = [0] * operators  # queues on the longest way from an operator on
    depth: dict[int, int] = {}
    for operator in reversed(order):
        for target, queue in leaving[operator]:
            if queue is not None:
                depth[queue] = behind[target]
            behind[operator] = max(behind[operator], behind[target] + (queue is not None))
    levels: list[list[int]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for queue, place in sorted(depth.items()):
        levels[place].append(queue)
    return levels

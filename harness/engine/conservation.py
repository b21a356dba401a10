"""Conservation check: every operator must get the tuples that were sent to it (ONCE). It is part of
the oracle of both engines; it takes counts and returns complaints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.graph import Operator
from harness.graph.kinds import BARRIER, MERGE, SOURCE, SPLIT

Stream = tuple[int, int, int, int]
"""Source operator, output port, target operator, input port, all by index."""


def of_tuples(
    operators: Sequence[Operator],
    streams: Sequence[Stream],
    processed: Sequence[int],
    emitted: Sequence[int],
    sent: Mapping[tuple[int, int], int],
    left_at: Sequence[int],
    held_by: Sequence[int],
    discarded: Mapping[int, int],
    cut: bool = False,
) -> list[str]:
    """Operators that executed or have waiting more or fewer tuples than were submitted to them, or
    lost some.

    `processed`: tuples that each operator executed; `emitted`: those that went on, of operators
    that may drop or hold them; `sent`: by operator and output port, of operators that choose the
    port by the tuple; `left_at`: tuples queued or given up before each operator; `held_by`: tuples
    in the slots of merges and barriers; `discarded`: by barrier, tuples that it took for nothing,
    since another input had ended. `cut`: the run was cut short, so operators on typed streams may
    have given up what they were about to send.
    """
    arriving = [0] * len(operators)
    for source, output, target, _ in streams:
        operator = operators[source]
        count = emitted[source] if operator.counts_output else processed[source]
        if operator.chooses_output:
            count = sent[source, output]
        elif operator.outputs > 1:
            count = count // operator.outputs + (output < count % operator.outputs)
        arriving[target] += count
    problems = []
    for index, operator in enumerate(operators):
        if operator.is_source:
            continue
        accounted = processed[index] + left_at[index]
        if arriving[index] != accounted:
            problems.append(
                f"operator {operator.name!r} was sent {arriving[index]} tuples and got {accounted}"
            )
        if (
            operator.counts_output
            and operator.preserves
            and not (cut and operator.typed is not None)
            and processed[index] != held_by[index] + emitted[index]
        ):
            problems.append(f"{operator.kind} {operator.name!r} did not pass on what it got")
        if operator.kind is BARRIER:
            joined = emitted[index] * operator.inputs
            if processed[index] != joined + held_by[index] + discarded[index]:
                problems.append(
                    f"barrier {operator.name!r} did not send one tuple for one of each input"
                )
    return problems


def of_windows(
    operators: Sequence[Operator],
    streams: Sequence[Stream],
    order: Sequence[int],
    sent: Mapping[int, int],
    got: Mapping[int, int],
) -> list[str]:
    """Ends that saw more or fewer window punctuations than were sent to them: each goes out of
    every output port.

    `order`: the operators, topological; `sent`: by source, `got`: by sink, control port, barrier
    and loop. Of a run that has drained.
    """
    if not any(operator.window for operator in operators):
        return []
    marks = [0] * len(operators)  # that leave each operator, on each stream
    arriving = [0] * len(operators)
    leaving: list[list[int]] = [[] for _ in operators]
    for source, _, target, _ in streams:
        leaving[source].append(target)
    # behind a split, up to its merge: the punctuations that the split saw
    splits: dict[int, int] = {}
    problems = []
    for index in order:
        operator = operators[index]
        if operator.kind is SOURCE:
            marks[index] = sent[index]
        elif operator.kind is MERGE:
            marks[index] = splits[index]  # from every branch, passed on once
        elif not operator.kind.ends_windows:
            marks[index] = arriving[index]
        inside = (
            marks[index]
            if operator.kind is SPLIT
            else splits.get(index)
            if operator.kind is not MERGE
            else None
        )
        for target in leaving[index]:
            arriving[target] += marks[index]
            if inside is not None:
                splits[target] = inside
        if operator.kind.ends_windows and got[index] != arriving[index]:
            problems.append(
                f"operator {operator.name!r} was sent {arriving[index]} window punctuations and "
                f"got {got[index]}"
            )
    return problems

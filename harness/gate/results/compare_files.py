"""Comparison of two sides that were measured before, by the same statistics as a new measurement.

Files of a side are ordered by the times that they contain, else as they are given. Process i of
base pairs with process i of head; two pairs are a block. Equal contents count once, and the values
of a session count as at most two (`sessions`). Base and head were measured at different times, and
no statistics can correct that: any change in between is a difference, as a note says.

The number of samples in a gate verdict depends on their values, because a decided cell is not
measured any further. So their test is the sequential one, with its looks, which is valid wherever a
row of blocks ends. The number of samples in files of other programs was chosen beforehand. So their
cells have one look, at all of their blocks. Cells with equally many blocks form a family, whose
share of alpha is its share of the cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from harness.errors import UserError
from harness.gate.cell import GateCell, with_tail
from harness.gate.decide import Family
from harness.gate.errors import NoBase, NothingMeasured, UnusableResults
from harness.gate.host_key import UNKNOWN, differences, host_key
from harness.gate.notes import mean_notes, same_commit
from harness.gate.order import on_scale
from harness.gate.results.read import read_results
from harness.gate.results.sessions import Groups, one_say, sessions, without_copies
from harness.gate.results.side import Answer, Results
from harness.gate.results.terms import CellTerms, differing
from harness.gate.scale import as_ratio
from harness.gate.sequential import MIRRORED, Looks, declare, fewest_blocks
from harness.gate.verdict import CellDecision, CellResult, Comparison, Side, Verdict

NOT_INTERLEAVED = (
    "base and head were measured at different times: whatever changed on the host "
    "meanwhile counts as a difference"
)
ONE_PROCESS = "one process a side: the rounds of one process say nothing about the next process"
SHARED = (
    "a file of head holds the same as one of base: the same processes on both sides prove nothing"
)
SUITE = "results files"


@dataclass(frozen=True)
class _Side:
    """The files of a side, joined."""

    files: tuple[Results, ...]
    answers: Mapping[str, Answer]
    sessions: int
    shortened: bool  # True if a session had more values than it may have in the test

    @property
    def side(self) -> Side:
        commits = {file.commit for file in self.files}
        more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        commit = self.files[0].commit if len(commits) == 1 else None
        return Side(
            self.files[0].path + more,
            commit,
            any(file.dirty for file in self.files),
            self.files[0].host,
        )


def compare_files(
    base: Sequence[str],
    head: Sequence[str],
    *,
    factor: float,
    alpha: float,
    allow_other_host: bool = False,
    in_turns: bool = False,
    terms: Sequence[CellTerms] = (),
    tail: float | None = None,
    title: str = "",
) -> Comparison:
    """Return the verdict on files of head against files of base; each side has at least one file.
    `in_turns`: both sides were measured in turns, in the order of the files, which matters if the
    files do not show it. `terms` are the user's, for some cells;
    `tail` is that of the other cells. `title` is that of the suite.

    Raises NoBase if base cannot be used, or is of another host; NothingMeasured if head holds no
    result; UserError if a file of head is no file of results.
    """
    started = datetime.now(UTC)
    old_files, new_files = (_read(base, terms, _unusable_base), _read(head, terms, _unusable_head))
    notes = [NOT_INTERLEAVED, *_copies(old_files, new_files)]
    rows = sessions(*(without_copies(files)[0] for files in (old_files, new_files)), in_turns)
    old, new = (
        _side(files, groups, in_turns)
        for files, groups in zip((old_files, new_files), rows, strict=True)
    )
    notes += [note for file in (*old.files, *new.files) for note in file.notes]
    notes += differing([*old.files, *new.files])
    notes += _hosts(old, new, allow_other_host)
    if old.side.commit is not None and old.side.commit == new.side.commit:
        notes.append(same_commit(old.side.commit))
    names = [*new.answers, *(name for name in old.answers if name not in new.answers)]
    broken = {name: _broken(old.answers.get(name), new.answers.get(name)) for name in names}
    paired = {
        name: _paired(old.answers[name], new.answers[name], tail)
        for name in names
        if broken[name] is None
    }
    unequal = [
        name for name in paired if len(old.answers[name].values) != len(new.answers[name].values)
    ]
    if unequal:
        notes.append(
            f"{len(unequal)} cells have more samples on one side, which are left out: {unequal[0]} "
            "and so on"
        )
    stopped = any(file.stopped for file in (*old.files, *new.files))
    shared = bool({file.digest for file in old.files} & {file.digest for file in new.files})
    decided = _decided(paired, factor, alpha, stopped, _too_few(old, new), shared)
    notes += mean_notes(decided.values(), factor)
    return Comparison(
        suite=SUITE,
        base=old.side,
        head=new.side,
        cells=tuple(broken[name] or decided[name] for name in names),
        control=None,
        control_failed=False,
        factor=factor,
        alpha=alpha,
        seed=0,
        started_at=started.isoformat(timespec="seconds"),
        seconds=(datetime.now(UTC) - started).total_seconds(),
        interleaved=False,
        notes=tuple(notes),
        title=title,
    )


def _unusable_base(error: UserError) -> Exception:
    return NoBase(f"--base {error}")


def _unusable_head(error: UserError) -> Exception:
    return (
        NothingMeasured(f"--head {error}")
        if isinstance(error, UnusableResults)
        else UserError(f"--head {error}")
    )


def _read(
    paths: Sequence[str], terms: Sequence[CellTerms], refuse: Callable[[UserError], Exception]
) -> tuple[Results, ...]:
    try:
        return tuple(read_results(path, terms) for path in paths)
    except UserError as error:
        raise refuse(error) from error


def _copies(old: Sequence[Results], new: Sequence[Results]) -> Iterator[str]:
    """Yield notes on files with the same content as another one."""
    for role, files in (("base", old), ("head", new)):
        _, copies = without_copies(files)
        if copies:
            yield (
                f"{len(copies)} of {len(files)} files of {role} hold the same as one before, "
                f"and do not count: {copies[0]}"
            )
    both = {file.digest for file in old} & {file.digest for file in new}
    if both:
        yield (
            f"{len(both)} files of head hold the same as one of base: "
            f"{next(f.path for f in new if f.digest in both)}"
        )


def _side(read: Sequence[Results], groups: Groups, in_turns: bool) -> _Side:
    """Return the files of a side as one, without copies. A cell has the values of all files, and is
    broken if it is broken in any file. `groups`: its sessions."""
    files, _ = without_copies(read)
    names = dict.fromkeys(name for file in files for name in file.answers)
    answers = {name: _joined(name, files, groups, in_turns) for name in names}
    given = {
        name: sum(len(file.answers[name].values) for file in files)
        for name in names
        if not answers[name].broken
    }
    shortened = any(len(answers[name].values) < count for name, count in given.items())
    return _Side(files, answers, len(groups), shortened)


def _joined(name: str, files: Sequence[Results], groups: Groups, in_turns: bool) -> Answer:
    cell = next(file.answers[name].cell for file in files if name in file.answers)
    for file in files:
        answer = file.answers.get(name)
        if answer is None:
            return Answer(cell, broken=Verdict.UNMEASURED, reason=f"missing in {file.path}")
        if answer.broken:
            return Answer(
                cell,
                broken=answer.broken,
                reason=f"{answer.reason or answer.broken} in {file.path}",
            )
        if _kind(answer.cell) != _kind(cell):
            reason = (
                f"{file.path} has it as {_shown(answer.cell)}, a file before it as {_shown(cell)}"
            )
            return Answer(cell, broken=Verdict.UNMEASURED, reason=reason)
    values: list[float] = []
    for group in groups:
        row = [value for file in group for value in file.answers[name].values]
        is_row = in_turns and any(file.may_be_in_turns for file in group)
        values += row if is_row else one_say(row)
    return Answer(cell, tuple(values))


def _hosts(old: _Side, new: _Side, allowed: bool) -> list[str]:
    """Return notes about hosts that differ. Raises NoBase if that is not `allowed`. All files are
    compared with head's first."""
    first = new.files[0]
    for file in (*new.files[1:], *old.files):
        facts = None if file.tells == first.tells else _both(file.tells, first.tells)
        mine, other = (
            {name: value for name, value in each.host.items() if facts is None or name in facts}
            for each in (first, file)
        )
        found = differences(mine, other)
        if found and not allowed:
            texts = "; ".join(found).replace("base had", "there")
            raise NoBase(
                f"{first.path} and {file.path} are of different hosts ({texts}); "
                "--allow-other-host compares them anyway"
            )
        if found:
            return [
                f"hosts differ, which --allow-other-host allows: {'; '.join(found)} ({file.path})"
            ]
    return (
        ["no file tells its host: that it is the same one is taken on trust"]
        if host_key(first.host) == UNKNOWN
        else []
    )


def _both(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    """Return the facts that two kinds of files both report in the same way; None: all."""
    return other if one is None else one if other is None else one & other


def _broken(old: Answer | None, new: Answer | None) -> CellResult | None:
    """Return the result of a cell that cannot be compared; None if it can."""
    cell = (new or old).cell
    if new is not None and new.broken is Verdict.WRONG:
        return _without_decision(cell, Verdict.WRONG, new.reason)
    no_base = "not in base" if old is None else old.reason if old.broken else ""
    no_head = "not in head" if new is None else new.reason if new.broken else ""
    if no_base and no_head:
        return _without_decision(cell, Verdict.UNMEASURED, f"{no_base}, {no_head}")
    if no_head:
        return _without_decision(cell, Verdict.FAILED, no_head)
    if not no_base and _kind(new.cell) != _kind(old.cell):
        no_base = f"base has it as {_shown(old.cell)}, head as {_shown(new.cell)}"
    return _without_decision(cell, Verdict.FIXED, no_base) if no_base else None


def _without_decision(cell: GateCell, verdict: Verdict, reason: str) -> CellResult:
    return CellResult(cell, CellDecision(verdict, math.nan, 0.0, math.inf, 0), reason=reason)


@dataclass(frozen=True)
class _Pairs:
    cell: GateCell
    base: tuple[float, ...]
    head: tuple[float, ...]

    @property
    def blocks(self) -> int:
        return len(self.base) // 2


def _paired(old: Answer, new: Answer, tail: float | None) -> _Pairs:
    cell, count = with_tail(new.cell, tail), min(len(old.values), len(new.values))
    if count == 1 and new.cell.metric.deterministic:
        return _Pairs(cell, old.values[:1] * 2, new.values[:1] * 2)  # the next would be equal
    return _Pairs(cell, old.values[:count], new.values[:count])


def _kind(cell: GateCell) -> tuple[str, str, bool]:
    """Return the properties that two numbers must share to have a ratio: the least time of some
    rounds, for example, says nothing about a median."""
    return cell.metric.name, cell.metric.unit, cell.metric.lower_is_better


def _shown(cell: GateCell) -> str:
    return f"{cell.metric.name} [{cell.metric.unit}]"


def _too_few(old: _Side, new: _Side) -> str:
    """Return the words for too few samples to decide anything; `{}` in them stands for the number
    of samples a side."""
    if not (old.shortened or new.shortened):
        return "{} processes a side"
    rows = min(old.sessions, new.sessions)
    hint = " (--in-turns, if they were measured in turns but do not tell)" if rows == 1 else ""
    return (
        f"measured in {rows} session{'s' if rows > 1 else ''} a side, without the other side in "
        "between: what the host was "
        "like then counts as a difference, and nothing says how much that is; "
        f"so there are {{}} samples a side{hint}"
    )


def _decided(
    paired: Mapping[str, _Pairs],
    factor: float,
    alpha: float,
    stopped: bool,
    too_few: str,
    shared: bool,
) -> dict[str, CellResult]:
    """Return the results of cells that can be compared, by name. `stopped`: the number of blocks
    may depend on their values. `shared`: a file is on both sides, so no cell can be decided."""
    single = {name: pairs for name, pairs in paired.items() if shared or not pairs.blocks}
    why = SHARED if shared else ONE_PROCESS
    results = {name: _result(pairs, _undecided(pairs), why) for name, pairs in single.items()}
    several = {name: pairs for name, pairs in paired.items() if name not in single}
    for alike, looks, level, least in _families(several, alpha, stopped):
        family = Family([pairs.cell for pairs in alike.values()], factor, level, looks)
        for pairs in alike.values():
            for first in range(0, 2 * pairs.blocks, 2):
                family.add(
                    pairs.cell.name, pairs.base[first : first + 2], pairs.head[first : first + 2]
                )
        by_cell = {result.cell.name: result for result in family.results()}
        for name, pairs in alike.items():
            result = by_cell[pairs.cell.name]
            few = (
                f"{too_few.format(len(pairs.base))}, of which it takes {2 * least} to decide "
                "anything"
            )
            is_few = (
                pairs.blocks < least
                and result.verdict is Verdict.INCONCLUSIVE
                and not pairs.cell.metric.deterministic
            )
            results[name] = _result(pairs, result.decision, few if is_few else result.reason)
    return results


def _families(
    several: Mapping[str, _Pairs], alpha: float, stopped: bool
) -> Iterator[tuple[Mapping[str, _Pairs], Looks, float, int]]:
    """Yield families of cells that are tested together: the cells, their looks, their share of
    alpha, and the least number of blocks that can decide anything."""
    if several and stopped:
        looks = declare(len(several), alpha, orders=MIRRORED)
        yield several, looks, alpha, looks.first
        return
    for blocks in {pairs.blocks for pairs in several.values()}:
        alike = {name: pairs for name, pairs in several.items() if pairs.blocks == blocks}
        level = alpha * len(alike) / len(several)
        least = fewest_blocks(alpha / len(several), MIRRORED)
        yield alike, Looks.fixed(blocks, MIRRORED), level, least


def _result(pairs: _Pairs, decision: CellDecision, reason: str) -> CellResult:
    return CellResult(pairs.cell, decision, pairs.base, pairs.head, reason)


def _undecided(pairs: _Pairs) -> CellDecision:
    """Return the decision for one process a side: inconclusive, with the ratio and without
    bounds."""
    return CellDecision(Verdict.INCONCLUSIVE, _ratio(pairs), 0.0, math.inf, 0)


def _ratio(pairs: _Pairs) -> float:
    """Return the ratio of the first pair, in the bad direction."""
    ((before, _), (after, _)) = on_scale(pairs.cell, pairs.base[:1] * 2, pairs.head[:1] * 2)[0]
    return as_ratio(pairs.cell.metric, after - before, pairs.base[0])

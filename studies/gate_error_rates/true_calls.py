"""True calls of the gate, from end to end, which replayed ones must agree with. `calls.jsonl` in
the recording's directory has a line for each."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import RunFailed, UserError
from harness.gate.series import Take
from harness.gate.verdict import Exit, Verdict
from studies.gate_error_rates.inject import environment
from studies.gate_error_rates.recording import WorkAmount
from studies.gate_error_rates.replay import Call, Injection, call_of

if TYPE_CHECKING:
    from harness.gate.cell import Program
    from harness.gate.sample import ProcessSample
    from harness.gate.tree import Tree
    from harness.gate.verdict import Comparison

CALLS = "calls.jsonl"

Compare = Callable[["Tree", "Tree", Take, int], "Comparison"]
"""Function that makes a whole call, of base, head, a function that takes a sample, and a seed."""


@dataclass(frozen=True)
class Terms:
    """Terms that a call's verdict depends on besides the numbers. The suite may have changed them
    when a sitting goes on."""

    factor: float
    alpha: float
    time_budget_s: float


def true_calls(
    path: Path,
    condition: str,
    arm: WorkAmount | None,
    place: Injection,
    tree: Tree,
    *,
    terms: Terms,
    wanted: int,
    take: Take,
    compare: Compare,
    seed: int,
) -> list[Call]:
    """Return the calls of `condition` in the file that were made on the same `terms`, and make as
    many more as are missing.

    Raises RunFailed if one measures nothing.
    """
    made = read(path, terms).get(condition, [])
    head = replace(tree, side=replace(tree.side, label="head"))

    def injecting(
        side: Tree, program: Program, settings: Mapping[str, str], pair: int
    ) -> ProcessSample:
        injects = arm is not None and side is head and program.name == place.program.name
        return take(
            side,
            program,
            {**settings, **(environment(arm.kind, arm.amount) if injects else environment())},
            pair,
        )

    while len(made) < wanted:
        comparison = compare(tree, head, injecting, seed + len(made))
        call = call_of(comparison, None if arm is None else place, disjoint=True)
        if call.exit_code not in (Exit.OK, Exit.REGRESSED, Exit.INCONCLUSIVE, Exit.HOST_UNSTABLE):
            reason = next(
                (result.reason for result in comparison.cells if result.reason), call.exit_code.name
            )
            raise RunFailed(f"a true call could not be made: {reason}")
        _append(path, condition, terms, call)
        made.append(call)
    return made[:wanted]


def read(path: Path, terms: Terms) -> dict[str, list[Call]]:
    """Return the calls made on `terms`, by condition. A last line that was cut short is not read.

    Raises UserError naming the line that is no call of the selftest.
    """
    found: dict[str, list[Call]] = {}
    try:
        lines = (
            path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
            if path.exists()
            else []
        )
    except OSError as error:
        raise RunFailed(f"cannot read {path}: {error.strerror}") from error
    for number, line in enumerate(lines, 1):
        if not line.endswith("\n"):
            break
        try:
            row = json.loads(line)
            condition, call, of_call = row["condition"], _call(row), Terms(**row["terms"])
            if of_call == terms:
                found.setdefault(condition, []).append(call)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{path}, line {number}: not a call of the selftest") from error
    return found


def _append(path: Path, condition: str, terms: Terms, call: Call) -> None:
    row = {
        "condition": condition,
        "terms": asdict(terms),
        "exit_code": int(call.exit_code),
        "verdicts": {name: str(verdict) for name, verdict in call.verdicts.items()},
        "seconds": call.seconds,
        "slower": dict(call.slower),
    }
    try:
        there = path.read_bytes() if path.exists() else b""
        if there and not there.endswith(b"\n"):  # the last line was cut short
            os.truncate(path, there.rfind(b"\n") + 1)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
    except OSError as error:
        raise RunFailed(f"cannot write {path}: {error.strerror}") from error


def _call(row: Mapping[str, Any]) -> Call:
    verdicts = {name: Verdict(verdict) for name, verdict in row["verdicts"].items()}
    return Call(True, Exit(row["exit_code"]), verdicts, float(row["seconds"]), dict(row["slower"]))

"""Explanation of a failed run, in one line. `Totals.correct` says if a run has failed."""

from __future__ import annotations

from harness.engine.sample import Totals

MAX_NAMED = 3  # ports or threads that one line names


def explain(totals: Totals) -> str | None:
    """Return every broken guarantee of a run, the cause first; None if the run was correct."""
    if totals.correct:
        return None
    problems: list[str] = []
    if totals.error is not None:
        problems.append(" ".join(totals.error.split()))
    if totals.stuck:
        problems.append(f"{len(totals.stuck)} thread(s) did not stop: {_some(totals.stuck)}")
    if totals.order_violations:
        problems.append(f"{totals.order_violations} tuple(s) reached a sink after a later one")
    if totals.conservation:
        problems.append(f"tuples lost or doubled: {_some(totals.conservation)}")
    # nothing is added up while a thread may still change it
    if not totals.checksum_ok and not totals.stuck:
        problems.append("the checksum at the sinks is not that of the tuples sent")
    return "; ".join(problems)


def _some(names: list[str] | tuple[str, ...]) -> str:
    more = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")

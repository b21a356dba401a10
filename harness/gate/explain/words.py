"""An explanation as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.gate.explain.explain import Explanation, Use
from harness.gate.explain.flame_graph import amount
from harness.gate.report.rows import one_line

LABELS = {
    "wall_s": "wall time",
    "cpu_s": "CPU time",
    "user_s": "user time",
    "system_s": "system time",
    "peak_bytes": "peak memory",
}


def explanation_lines(explanations: Sequence[Explanation]) -> list[str]:
    """Return the lines about explanations."""
    return [line for each in explanations for line in _of(each)]


def _of(explanation: Explanation) -> Iterator[str]:
    name = one_line(explanation.program)
    if not explanation.profiler:
        yield f"explained: {name}: no profiler here sees anything of it (py-spy, perf, valgrind)"
    else:
        count = f"{explanation.processes} processes a side"
        graph = f"flame graph {explanation.file}"
        yield f"explained: {name}, by {explanation.profiler} of {count}; {graph}"
    for each in explanation.grown:
        before, after, more = (
            amount(value, explanation.unit) for value in (each.base, each.head, each.growth)
        )
        name = each.name if not each.place else f"{each.name.partition(' (')[0]} ({each.place})"
        yield f"  +{more} in {one_line(name)} itself: {before} in base, {after} in head"
    if explanation.profiler and not explanation.grown:
        yield "  no function takes longer in head than in base"
    if explanation.uses:
        yield f"  {'; '.join(map(_used, explanation.uses))}"


def _used(use: Use) -> str:
    ratio = f" (× {use.head / use.base:.3g})" if use.base > 0.0 else ""
    label = LABELS.get(use.name, use.name)
    before, after = (_shown(use, value) for value in (use.base, use.head))
    return f"{label} {before} → {after}{ratio}"


def _shown(use: Use, value: float) -> str:
    if use.unit == "bytes":
        return f"{value / 2**20:.3g} MiB"
    return amount(value, use.unit)

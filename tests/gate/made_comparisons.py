"""Comparisons made by hand, and any that there can be: for the tests of files and reports."""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from harness.gate.cell import GateCell, Metric
from harness.gate.verdict import CellDecision, CellResult, Comparison, Side, Verdict

CALM = settings(
    max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)  # the machine may be busy

DECIDED = (Verdict.REGRESSED, Verdict.OK, Verdict.IMPROVED, Verdict.INCONCLUSIVE)
RATIOS = {
    Verdict.REGRESSED: 1.08,
    Verdict.OK: 1.001,
    Verdict.IMPROVED: 0.9,
    Verdict.INCONCLUSIVE: 1.03,
}
HOST = {
    "cpu_model": "Aligned 9000",
    "cpus_allowed": 2,
    "python": "cpython 3.11.2",
    "kernel": "Linux 6.1.0",
    "compiler": "GCC 12",
}


def result(
    name: str,
    verdict: Verdict = Verdict.OK,
    *,
    metric: Metric | None = None,
    key: str = "",
    reason: str = "",
):
    """A cell of 20 pairs whose ratio suits its verdict, or without a number."""
    cell = GateCell(name, metric or Metric(), key)
    if verdict not in DECIDED:
        return CellResult(
            cell, CellDecision(verdict, math.nan, 0.0, math.inf, 0), reason=reason or "no record"
        )
    ratio = RATIOS[verdict]
    base = tuple(400.0 + index for index in range(20))
    head = tuple(value * ratio for value in base)
    return CellResult(
        cell, CellDecision(verdict, ratio, ratio - 0.02, ratio + 0.02, 10), base, head, reason
    )


def comparison(*cells: CellResult, **changes) -> Comparison:
    """A call over such cells whose control is fine."""
    made = Comparison(
        suite="short",
        base=Side("main", "a" * 40, host=HOST),
        head=Side(".", "b" * 40, dirty=True, host=HOST),
        cells=cells,
        control=result("pipeline"),
        control_failed=False,
        factor=1.02,
        alpha=0.01,
        seed=7,
        started_at="2026-01-02T03:04:05+00:00",
        seconds=123.4,
        notes=("head has changes that are not in its commit",),
    )
    return replace(made, **changes)


def same(one: Comparison, other: Comparison) -> bool:
    """Return True if two comparisons are equal; ratios that are not known are alike, which NaN is
    not.
    """
    return _without_nan(one) == _without_nan(other)


def _without_nan(given: Comparison) -> Comparison:
    def plain(each: CellResult | None) -> CellResult | None:
        unknown = each is not None and math.isnan(each.decision.ratio)
        return replace(each, decision=replace(each.decision, ratio=-1.0)) if unknown else each

    return replace(given, control=plain(given.control), cells=tuple(map(plain, given.cells)))


TEXTS = st.text(max_size=12)
POSITIVE = st.floats(1e-9, 1e12)
HOSTS = st.dictionaries(TEXTS, st.one_of(TEXTS, st.integers(-5, 5), st.none()), max_size=3)
METRICS = st.builds(
    Metric,
    TEXTS,
    st.sampled_from(["ns", "s", "tuples/s", ""]) | TEXTS,
    st.booleans(),
    st.floats(0, 100),
)
CELLS = st.builds(GateCell, TEXTS, METRICS, TEXTS)
DECISIONS = st.builds(
    CellDecision,
    st.sampled_from(Verdict),
    POSITIVE | st.just(math.nan),
    st.floats(0, 10),
    st.floats(0, 10) | st.just(math.inf),
    st.integers(0, 99),
)
SAMPLES = st.lists(POSITIVE, max_size=8).map(tuple)
RESULTS = st.builds(CellResult, CELLS, DECISIONS, SAMPLES, SAMPLES, TEXTS)
SIDES = st.builds(Side, TEXTS, TEXTS | st.none(), st.booleans(), HOSTS)
COMPARISONS = st.builds(
    Comparison,
    suite=TEXTS,
    base=SIDES,
    head=SIDES,
    cells=st.lists(RESULTS, max_size=5).map(tuple),
    control=RESULTS | st.none(),
    control_failed=st.booleans(),
    factor=st.floats(1.001, 3.0),
    alpha=st.floats(0.001, 0.4),
    seed=st.integers(0, 2**63),
    started_at=st.just("2026-01-02T03:04:05+00:00"),
    seconds=st.floats(0, 1e5),
    interleaved=st.booleans(),
    notes=st.lists(TEXTS, max_size=3).map(tuple),
    title=TEXTS,
    needed_s=st.none() | st.floats(0, 1e6),
)
"""Any comparison, sensible or not."""

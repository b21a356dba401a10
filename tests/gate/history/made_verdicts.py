"""Verdicts made by hand: what a gate that runs every night would have said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from harness.gate.cell import GateCell, Metric
from harness.gate.verdict import CellDecision, CellResult, Comparison, Side, Verdict

NS = Metric()
RATE = Metric("throughput", "tuples/s", lower_is_better=False)
HOST = {
    "cpu_model": "AMD EPYC 7763",
    "cpus_allowed": 2,
    "kernel": "Linux 6.8.0-45",
    "python": "cpython 3.11.7",
}
BIG_HOST = {**HOST, "cpus_allowed": 4}
FIRST_NIGHT = datetime(2026, 10, 1, 3, tzinfo=UTC)


def result(name="chain", value=10.0, *, metric=NS, verdict=Verdict.OK, samples=20, seed=0):
    """A cell whose head scatters by 1 % around a value, and whose base by as much around 10."""
    draw = np.random.default_rng(seed)
    head = tuple(float(each) for each in value * np.exp(0.01 * draw.standard_normal(samples)))
    base = tuple(float(each) for each in 10 * np.exp(0.01 * draw.standard_normal(samples)))
    return CellResult(
        GateCell(name, metric), CellDecision(verdict, 1.01, 0.99, 1.03, samples // 2), base, head
    )


def verdict(
    *cells, night=0, commit=None, host=HOST, dirty=False, control_failed=False, suite="nightly"
):
    """A call of the gate `night` days after the first."""
    return Comparison(
        suite=suite,
        base=Side("v1", "b" * 40, host=host),
        head=Side(".", commit or f"{night:02x}" * 20, dirty, host),
        cells=cells or (result(seed=night),),
        control=None,
        control_failed=control_failed,
        factor=1.02,
        alpha=0.01,
        seed=night,
        started_at=(FIRST_NIGHT + timedelta(days=night)).isoformat(),
        seconds=60.0,
    )


def nights(count, value=lambda night: 10.0, *, begin=0, name="chain", metric=NS, **how):
    """A verdict a night on one cell, whose value is a function of the night."""
    return [
        verdict(result(name, value(night), metric=metric, seed=night), night=night, **how)
        for night in range(begin, begin + count)
    ]

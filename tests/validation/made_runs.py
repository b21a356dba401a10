"""Records and comparisons made by hand. Their numbers are invented."""

from __future__ import annotations

from typing import Any

from harness.measurement.record import declaration
from harness.measurement.spec import Run
from harness.validation.cases import Case
from harness.validation.comparison import CaseComparison
from tests.records import example
from tests.records import record_of as made

HOST = example(declaration.HOST, cpu_model="Invented CPU @ 1 GHz", cpus_allowed=2)
PIPELINE = Case("pipeline", 1, 128, "manual")


def case(
    arm: str = "manual", topology: str = "pipeline", cost: int = 1, payload: int = 128
) -> Case:
    """A case that differs from `PIPELINE` by what is given."""
    return Case(topology, cost, payload, arm)


def record_of(spec: Run, rate: float | None, **changes: Any) -> dict[str, Any]:
    """The record of a run that went well, but for `changes`."""
    good = {
        "host": dict(HOST),
        "duration_s": spec.duration_s,
        "sink_tuples_per_s": rate,
        "hops": 20.0,
    }
    good |= {"submitted_tuples_per_s": None if rate is None else 20 * rate}
    return made(spec, **good | changes)


def measured(of: Case, *rates: float, **changes: Any) -> list[dict[str, Any]]:
    """A run of the case a rate."""
    return [
        record_of(of.measured(0.2, repeat), rate, **changes) for repeat, rate in enumerate(rates)
    ]


def made_in(
    hand_offs_ns: list[float], *rates: float, of: Case = PIPELINE, **changes: Any
) -> list[dict[str, Any]]:
    """Runs beside which a cache line took so long from core to core."""
    return measured(of, *rates, host=HOST | {"hand_offs_ns": hand_offs_ns}, **changes)


def predicted(of: Case, rate: float, **changes: Any) -> dict[str, Any]:
    """A run that predicts the case."""
    return record_of(of.predicted(0), rate, **changes)


def beside(
    of: Case, rate: float | None, forecast: float | None, spread: float = 0.0
) -> CaseComparison:
    """A case whose interval reaches `spread` of its median to both sides."""
    if rate is None:
        return CaseComparison(
            of, predicted=forecast, predicted_low=forecast, predicted_high=forecast
        )
    low, high = rate * (1 - spread), rate * (1 + spread)
    return CaseComparison(
        of,
        rate,
        low,
        high,
        runs=3,
        predicted=forecast,
        predicted_low=forecast,
        predicted_high=forecast,
    )

"""Table of a validation, a row for each case: the figure is drawn from it, and other programs may
read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from harness.validation.cases import ARMS
from harness.validation.comparison import CaseComparison

if TYPE_CHECKING:
    import pandas as pd

NUMBERS = (
    "threads",
    "measured",
    "low",
    "high",
    "predicted",
    "predicted_low",
    "predicted_high",
    "error",
    "bottleneck",
    "usl",
    "cpus_allowed",
)


def as_frame(
    comparisons: Sequence[CaseComparison],
    measured: Iterable[dict[str, Any]],
    predicted: Iterable[dict[str, Any]],
) -> pd.DataFrame:
    """Columns: topology, cost [FLOP], payload [bytes], model, arm, threads; measured, low, high,
    predicted, predicted_low, predicted_high [tuples/s], predicted_unsettled [runs], error [share of
    measured]; bottleneck, usl: naive predictions [tuples/s]; graph: `Case.kind`;
    runs, failed, unsettled, unsettled_used, other_state, other_state_used, unstable,
    disturbed, failure; others_cpu [share of the CPUs]; cpu_model, cpus_allowed, commit of the
    measured runs; machine_digest and software of the predicted ones.
    """
    import pandas as pd

    hosts = _first_by_case(measured)
    forecasts = _first_by_case(predicted)
    rows = [
        _row(
            each,
            hosts.get((each.case.cell, each.case.arm), {}),
            forecasts.get((each.case.cell, each.case.arm), {}),
        )
        for each in comparisons
    ]
    frame = pd.DataFrame(rows)
    return frame.astype(dict.fromkeys(NUMBERS, "float64"))


def _first_by_case(records: Iterable[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    first: dict[tuple[str, str], dict[str, Any]] = {}
    for record in records:
        first.setdefault((record["cell"], record["arm"]), record)
    return first


def _row(each: CaseComparison, run: dict[str, Any], forecast: dict[str, Any]) -> dict[str, Any]:
    case = each.case
    arm = ARMS[case.arm]
    host, simulation = run.get("host", {}), forecast.get("simulation") or {}
    return {
        "topology": case.topology,
        "graph": case.kind,
        "cost": case.cost,
        "payload": case.payload,
        "model": arm.model,
        "arm": case.arm,
        "threads": arm.threads,
        "measured": each.measured,
        "low": each.low,
        "high": each.high,
        "runs": each.runs,
        "failed": each.failed,
        "unsettled": each.unsettled,
        "unsettled_used": each.unsettled_used,
        "other_state": each.other_state,
        "other_state_used": each.other_state_used,
        "unstable": each.unstable,
        "disturbed": each.disturbed,
        "predicted": each.predicted,
        "predicted_low": each.predicted_low,
        "predicted_high": each.predicted_high,
        "predicted_unsettled": each.predicted_unsettled,
        "error": each.error,
        "bottleneck": each.bottleneck,
        "usl": each.usl,
        "failure": each.failure,
        "others_cpu": each.others,
        "cpu_model": host.get("cpu_model"),
        "cpus_allowed": host.get("cpus_allowed"),
        "commit": run.get("commit"),
        "machine_digest": simulation.get("machine_digest"),
        "software": simulation.get("software"),
    }

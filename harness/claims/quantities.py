"""Numbers of an arm of a cell: of its row in the throughput table, and of its runs over time
(`timeline`).

    python -m harness.claims.quantities        lists the quantities
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from harness.claims import adaptation, bursts, timeline
from harness.claims.evidence import OF_POLICY, WantedCell, is_best_of, label
from harness.claims.levels import around, lacking
from harness.claims.reading import (
    LEAST_DIFFERENCE,
    Missing,
    RangedNumber,
    allowing_together,
    greatest,
    of_all,
    of_spread,
    variation,
)
from harness.claims.tables import is_empty
from harness.spark.stationary import is_of_some_runs, runs_in_mean

if TYPE_CHECKING:
    import pandas as pd

COUNT_FACTOR = 2.0
"""Factor to which measured counts of context switches count as known, and the kernel's CPU time
over the other, as the tables have no interval for them. A guess, not tuned.
"""


LATENCY_RESOLUTION = 1 / 32
"""Half the width of a latency's bucket, as a share of it (harness/native/histogram.hpp): a mean is
known to that.
"""


OF_ALL_RUNS = "_of_all_runs"
"""Ending of the quantities that each run must have, and not the mean."""


class FoundNumber(NamedTuple):
    """Number that was read: the arm's name with its runs that failed or never settled, and whether
    all runs that it is of became stationary.
    """

    name: str
    reading: RangedNumber
    is_settled: bool = True


@dataclass(frozen=True)
class Quantity:
    """Number that predicates compare. `of` reads it for the arm that a word means, or raises
    Missing.
    """

    name: str
    unit: str
    meaning: str
    of: Callable[[WantedCell, str], FoundNumber]


def throughput(cell: WantedCell, arm: str) -> FoundNumber:
    """Return the mean throughput at the sinks: with its 95 % interval if measured, with the band if
    simulated.

    For the best of several arms the range is that of the greatest of their means, as another arm
    may be the best within the ranges, and allows for their number. For the best of several levels
    only a lower limit is known if the levels beside it are missing.
    """
    row = cell.row(arm)
    if is_best_of(arm):
        rivals = cell.rivals(arm)
        best = greatest([_mean(cell, rival) for _, rival in rivals.iterrows()])
        lacks = (
            lacking(rivals["threads"].astype(int), int(row["threads"]), _most(cell, rivals))
            if _has_levels(arm)
            else ""
        )
        if lacks:
            best = replace(best, high=math.inf, is_open=True, lacks=lacks)
        return _of_rows(row["arm"], rivals, best, over_settled=True)
    return _of_row(row, _mean(cell, row), over_settled=True)


def submitted(cell: WantedCell, arm: str) -> FoundNumber:
    """Return the mean throughput over all operators, for which the table has no band."""
    row = cell.row(arm)
    return _of_means(cell, row, _number(row, "submitted_mean", cell), "submitted")


def _of_means(
    cell: WantedCell,
    row: pd.Series,
    mean: float,
    column: str,
    unit: float = 1.0,
    most: float = math.inf,
) -> FoundNumber:
    """Return a mean with the interval over runs in two columns, divided by `unit`. Simulated runs
    have no interval.
    """
    runs = runs_in_mean(row)
    if cell.venue.simulated:
        reading = RangedNumber(mean, mean, mean, runs, is_varied=False)
        return _of_row(row, reading, over_settled=True)
    ends = (row[f"{column}_lo"], row[f"{column}_hi"])
    low, high = (None if is_empty(end) else end / unit for end in ends)
    return _of_row(row, _reading(mean, low, high, runs, unknown=(0.0, most)))


def _of_row(row: pd.Series, reading: RangedNumber, over_settled: bool = False) -> FoundNumber:
    return _of_rows(row["arm"], row.to_frame().T, reading, over_settled)


def _of_rows(
    name: str, rows: pd.DataFrame, reading: RangedNumber, over_settled: bool = False
) -> FoundNumber:
    """Return a number of some rows. `over_settled`: it is over the settled runs alone, where only
    some of an arm's runs settled.
    """
    unsettled = rows["unsettled"].astype(bool)
    if over_settled:
        unsettled &= ~rows.apply(is_of_some_runs, axis=1)
    return FoundNumber(label(name, rows), reading, not unsettled.any())


def _has_levels(arm: str) -> bool:
    """Return true if a word that means the best of several arms means the best of several numbers
    of threads.
    """
    return arm == "static" or arm.startswith(OF_POLICY)


def _most(cell: WantedCell, levels: pd.DataFrame) -> int:
    """Return the highest level of the machine that is known."""
    return max(cell.venue.cpus or 0, int(levels["threads"].max()))


def _mean(cell: WantedCell, row: pd.Series) -> RangedNumber:
    mean, runs = float(row["mean"]), runs_in_mean(row)
    if not cell.venue.simulated:
        return _reading(mean, row["lo"], row["hi"], runs, unknown=(0.0, math.inf))
    band = (row.get("band_lo"), row.get("band_hi"))
    flags = {"is_varied": _all_there(band), "is_sampled": False}
    reading = _reading(mean, *band, runs, unknown=(mean, mean), **flags)
    tried, failed, reached = (row.get(f"variants{which}") for which in ("", "_failed", "_reached"))
    return replace(reading, is_unreached=bool(tried) and failed == 0 and reached == 0)


def _reading(
    value: float,
    low: object,
    high: object,
    runs: int,
    unknown: tuple[float, float],
    is_varied: bool = True,
    is_sampled: bool = True,
) -> RangedNumber:
    """Return a reading with its range; `unknown` is the range if the ends are missing, as for one
    run.
    """
    if not _all_there((low, high)):
        low, high = unknown
    flags = {"is_varied": is_varied, "is_sampled": is_sampled}
    return RangedNumber(float(value), float(low), float(high), runs, **flags)


def _all_there(numbers: tuple[object, object]) -> bool:
    return all(number is not None and not is_empty(number) for number in numbers)


def best_level(cell: WantedCell, arm: str) -> FoundNumber:
    """Return the fixed level with the highest mean.

    Its range: the levels that may have the highest mean, given the ranges of their means, and
    missing levels beside them. If some are missing, the best level may be any of these.
    """
    levels = cell.rivals(arm if arm.startswith(OF_POLICY) else "static")
    best = _best({int(row["threads"]): _mean(cell, row) for _, row in levels.iterrows()})
    here, most = [int(level) for level in levels["threads"]], _most(cell, levels)
    if around(here, int(best.value), most) != (best.value, best.value):
        low, high = around(here, int(best.low), most)[0], around(here, int(best.high), most)[1]
        best = replace(
            best,
            low=low,
            high=high,
            is_open=True,
            lacks=f"levels beside {best.value:g} threads are missing",
        )
    return _of_rows(arm if arm.startswith(OF_POLICY) else "dynamic", levels, best)


def _best(readings: Mapping[float, RangedNumber]) -> RangedNumber:
    """Return the key of the greatest number, with the range of keys that may have the greatest
    one.

    If others are lower by no more than `LEAST_DIFFERENCE`, each of them may be the best.
    """
    best = max(readings, key=lambda key: readings[key].value)
    near = [
        key
        for key, reading in readings.items()
        if reading.value * (1 + LEAST_DIFFERENCE) >= readings[best].value
    ]
    # the truly greatest one is excluded if its upper end is wrong, or the lower end of another
    wide = allowing_together(list(readings.values()), len(readings))
    allowed = dict(zip(readings, wide, strict=True))
    floor = max(reading.low for reading in allowed.values())
    able = near + [key for key, reading in allowed.items() if reading.high >= floor]
    return RangedNumber(
        best,
        min(able),
        max(able),
        readings[best].runs,
        is_open=len(near) > 1,
        **variation(list(readings.values())),
    )


def settled(cell: WantedCell, arm: str) -> FoundNumber:
    """Return the mean of the levels that an elastic arm's runs settled on."""
    row = cell.row(arm)
    if is_empty(row["level"]):
        raise Missing(f"{row['arm']} settled on no level in {cell.wanted.name}")
    return _of_means(cell, row, float(row["level"]), "level")


def queued_share(cell: WantedCell, arm: str) -> FoundNumber:
    """Return the share of ports with a queue, of those that may have one, 0 .. 1, that the arm's
    runs settled on.
    """
    row = cell.row(arm)
    places = _number(row, "places", cell)
    share = _number(row, "queued", cell) / places
    return _of_means(cell, row, share, "queued", unit=places, most=1.0)


def best_share(cell: WantedCell, arm: str) -> FoundNumber:
    """Return the share of queues, placed by hand, with the highest mean; its range as that of
    `best_level`.
    """
    rows = cell.by_share()
    readings = {
        _number(row, "queued", cell) / _number(row, "places", cell): _mean(cell, row)
        for _, row in rows.iterrows()
    }
    best = _best(readings)
    return _of_rows("dynamic elastic by share", rows, best, over_settled=True)


def run_spread(cell: WantedCell, arm: str) -> FoundNumber:
    """Return the standard deviation of throughput over the runs, divided by their mean."""
    row = cell.row(arm)
    if int(row["n"]) < 2:
        raise Missing(f"one run of {row['arm']} shows no spread in {cell.wanted.name}")
    reading = of_spread(_number(row, "sd", cell) / float(row["mean"]), int(row["n"]))
    measured = not cell.venue.simulated
    return _of_row(row, replace(reading, is_varied=measured, is_sampled=measured))


def switches(cell: WantedCell, arm: str) -> FoundNumber:
    """Return the context switches of all threads of a run, per second of its measured window."""
    row = cell.row(arm)
    return _of_row(row, _of_counts(_switches_s(row, cell), row, cell))


def executions_per_switch(cell: WantedCell, arm: str) -> FoundNumber:
    """Return the tuples submitted over all operators, per context switch."""
    row = cell.row(arm)
    switches_s = _switches_s(row, cell)
    if switches_s == 0:
        raise Missing(f"{row['arm']} had no context switch in {cell.wanted.name}")
    return _of_row(row, _of_counts(_number(row, "submitted_mean", cell) / switches_s, row, cell))


def kernel_share(cell: WantedCell, arm: str) -> FoundNumber:
    """Return the share of the CPU time of the arm's runs in the kernel, 0 .. 1."""
    row = cell.row(arm)
    all_s = _number(row, "cpu_seconds_mean", cell)
    # a simulated call counts where it begins, so perhaps a moment before the window ends
    kernel_s = min(_number(row, "kernel_seconds_mean", cell), all_s)
    if all_s == 0:
        raise Missing(f"{row['arm']} used no CPU time in {cell.wanted.name}")
    measured = not cell.venue.simulated
    factor = COUNT_FACTOR if measured else 1.0

    def share(times: float) -> float:
        """Return the share if the kernel took as many times as much."""
        return times * kernel_s / (times * kernel_s + all_s - kernel_s)

    ends = (share(1 / factor), share(factor))
    return _of_row(row, RangedNumber(share(1.0), *ends, int(row["n"]), is_varied=measured))


def load(cell: WantedCell, arm: str) -> FoundNumber:
    """Return the mean number of threads that run or wait for a CPU; of simulated runs with nominal
    constants only.
    """
    row = cell.row(arm)
    mean = _number(row, "runnable_mean", cell)
    return _of_row(row, RangedNumber(mean, mean, mean, int(row["n"]), is_varied=False))


def _switches_s(row: pd.Series, cell: WantedCell) -> float:
    """Return context switches per second. Arms are measured for different times: an elastic one for
    some periods of its law.
    """
    return _number(row, "context_switches_mean", cell) / _number(row, "duration_mean", cell)


def _number(row: pd.Series, column: str, cell: WantedCell) -> float:
    """Return a number of a row. Raises Missing if the row lacks it."""
    value = row.get(column)
    if value is None or is_empty(value):
        raise Missing(f"{row['arm']} has no {column} in {cell.wanted.name}")
    return float(value)


def _of_counts(value: float, row: pd.Series, cell: WantedCell) -> RangedNumber:
    if cell.venue.simulated:
        return RangedNumber(
            float(value), float(value), float(value), int(row["n"]), is_varied=False
        )
    return RangedNumber(float(value), value / COUNT_FACTOR, value * COUNT_FACTOR, int(row["n"]))


def latency(cell: WantedCell, arm: str) -> FoundNumber:
    """Return the average latency from source to sink, with its 95 % interval over measured runs."""
    of = cell.row(arm)
    rows = cell.latency[cell.latency["arm"] == of["arm"]] if len(cell.latency) else cell.latency
    if rows.empty or is_empty(rows.iloc[0]["mean"]):
        raise Missing(f"no latencies of {of['arm']} in {cell.wanted.name}")
    row = rows.iloc[0]
    mean, runs = float(row["mean"]), int(row["n"])
    if cell.venue.simulated:
        reading = RangedNumber(mean, mean, mean, runs, is_varied=False)
    else:
        reading = _reading(mean, row["lo"], row["hi"], runs, unknown=(0.0, math.inf))
    return _of_row(of, replace(reading, resolution=LATENCY_RESOLUTION))


def failed(cell: WantedCell, arm: str) -> FoundNumber:
    """Return the number of failed runs: a tuple lost, doubled, out of order or harmed, or an
    error.
    """
    rows = (
        cell.throughput
        if arm == "every"
        else cell.throughput[cell.throughput["arm"] == cell.arm_name(arm)]
    )
    if rows.empty:
        raise Missing(f"no arm {arm} in {cell.wanted.name}")
    count = float(rows["failed"].sum())
    runs = int((rows["n"] + rows["failed"] + rows["no_rate"]).sum())
    name = "all arms" if arm == "every" else rows["arm"].iloc[0]
    return FoundNumber(
        name, RangedNumber(count, count, count, runs, is_varied=not cell.venue.simulated)
    )


def over_time(
    measure: Callable[[list[timeline.RunTimeline]], RangedNumber], cell: WantedCell, arm: str
) -> FoundNumber:
    """Return a number of the runs of an arm over time, with its range over the runs.

    For a simulated arm the value decides, as no constant was varied for it; if it is open, its
    lower end is the value.
    """
    name = cell.arm_name(arm)
    reading = measure(timeline.runs_of(cell.timeline, name, cell.wanted))
    if cell.venue.simulated:
        reading = replace(
            reading,
            low=reading.value if reading.is_open else reading.low,
            is_varied=False,
            is_sampled=False,
        )
    return FoundNumber(name, reading)


def over_all_runs(
    measure: Callable[[list[timeline.RunTimeline]], RangedNumber], cell: WantedCell, arm: str
) -> FoundNumber:
    """Return the least and the greatest of a number of single runs: what a paper says of all runs
    must hold for both.
    """
    name = cell.arm_name(arm)
    runs = timeline.runs_of(cell.timeline, name, cell.wanted)
    readings = [measure([run]) for run in runs]
    parts = [part.value for reading in readings for part in (reading.parts or (reading,))]
    return FoundNumber(name, of_all(parts, len(runs)))


def _listed() -> list[Quantity]:
    of_rows: list[tuple[str, str, str, Callable]] = [
        ("throughput", "tuples/s", "mean throughput at the sinks", throughput),
        ("submitted", "tuples/s", "mean throughput over all operators", submitted),
        ("best_level", "threads", "the fixed level with the highest mean throughput", best_level),
        ("settled_level", "threads", "mean of the levels that the law settled on", settled),
        (
            "queued_share",
            "share",
            "ports with their queue, of those that may have one",
            queued_share,
        ),
        (
            "best_share",
            "share",
            "the share of queues, placed by hand, with the highest mean throughput",
            best_share,
        ),
        (
            "run_spread",
            "share",
            "standard deviation of throughput over the runs, over their mean",
            run_spread,
        ),
        ("context_switches", "1/s", "context switches a second", switches),
        (
            "executions_per_switch",
            "tuples",
            "tuples executed for each context switch",
            executions_per_switch,
        ),
        ("kernel_share", "share", "share of the CPU time in the kernel", kernel_share),
        (
            "load",
            "threads",
            "threads that run or wait for a CPU, mean; of simulated runs only",
            load,
        ),
        ("latency", "ns", "average latency, with its interval over runs", latency),
        (
            "failed_runs",
            "runs",
            "runs that lost, doubled, harmed or reordered a tuple, or broke off",
            failed,
        ),
    ]
    quantities = [Quantity(*entry) for entry in of_rows]
    for name, (unit, measure) in (
        timeline.MEASURES | bursts.MEASURES | adaptation.MEASURES
    ).items():
        meaning = " ".join((measure.__doc__ or "").split()).rstrip(".")
        meaning = meaning[0].lower() + meaning[1:]
        quantities.append(Quantity(name, unit, meaning, partial(over_time, measure)))
        quantities.append(
            Quantity(
                f"{name}{OF_ALL_RUNS}",
                unit,
                f"{meaning}; the least and the greatest of the runs",
                partial(over_all_runs, measure),
            )
        )
    return quantities


QUANTITIES: dict[str, Quantity] = {quantity.name: quantity for quantity in _listed()}


def read(cell: WantedCell, quantity: str, arm: str) -> RangedNumber:
    """Return a number of the arm that a word means, and keep it for the report. Raises Missing if
    the tables lack it.
    """
    found = QUANTITIES[quantity].of(cell, arm)
    cell.show(
        found.name,
        quantity.replace("_", " "),
        QUANTITIES[quantity].unit,
        found.reading,
        found.is_settled,
    )
    return found.reading


def listing() -> str:
    """Return a line for each quantity: name, unit and meaning."""
    lines = (f"{each.name} [{each.unit}]: {each.meaning}" for each in QUANTITIES.values())
    return "\n".join(lines)


if __name__ == "__main__":
    print(listing())

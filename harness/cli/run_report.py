"""What a person reads of runs: the table of `millrace run`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any


def report(records: Sequence[dict[str, Any]]) -> list[str]:
    """The lines of the table: one a run, the mean with its interval if there are several, and what to know about the host."""
    first = max(records, key=lambda record: record["threads_total"])  # one that did start, if any
    settings = " ".join(f"{name}={value}" for name, value in first["parameters"].items())
    queues = f", queues of {first['queue_capacity']} tuples" if first["queue_capacity"] else ""
    threads = f"{first['threads_total']} thread(s){queues}" if first["threads_total"] else "did not start"
    lines = [
        f"{first['topology']} {settings}".rstrip(),
        f"{first['arm']}: {threads}",
        *_simulation_lines(records),
        *_law_lines(first),
        "",
    ]
    rows = [("run", "tuples/s", "submitted/s", "ns/hop", "p50 latency", "p99 latency", "settled", "correct")]
    for number, record in enumerate(records, start=1):
        latency = record["latency_ns"]
        rates = (_quantity(record[name]) for name in ("sink_tuples_per_s", "submitted_tuples_per_s", "ns_per_hop"))
        verdicts = ("yes" if record["settled"] else "NO", "yes" if record["correct"] else "NO")
        rows.append((str(number), *rates, _time(latency["p50"]), _time(latency["p99"]), *verdicts))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines += ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    lines += _level_lines(records) + _mean_lines(records)
    return lines + _host_lines(records)


def _simulation_lines(records: Sequence[dict[str, Any]]) -> list[str]:
    """What was simulated, and what it took; times in the table are then virtual."""
    told = [record["simulation"] for record in records if record["simulation"] is not None]
    if not told:
        return []
    replaced = "".join(f", {path} {value:g}" for path, value in told[0]["constants"].items())
    spent = f"{sum(each['events'] for each in told):,} events in {sum(each['wall_s'] for each in told):.1f} s"
    return [f"SIMULATED on {records[0]['machine']} with the costs of {told[0]['software']}{replaced}, in virtual time: {spent}"]


def _law_lines(record: dict[str, Any]) -> list[str]:
    terms = record["elastic"]
    if terms is None:
        return []
    words = {True: "yes", False: "no"}
    settings = "".join(
        f", {name} {words[value] if isinstance(value, bool) else format(value, 'g')}"
        for name, value in terms["settings"].items()
    )
    levels = f"from {terms['minimum']} to {terms['maximum']} threads, beginning at {terms['start']}"
    return [f"law {terms['law']}: {levels}, a step every {terms['period_s']:g} s{settings}"]


def _level_lines(records: Sequence[dict[str, Any]]) -> list[str]:
    """Where the law of each elastic run settled."""
    lines = []
    for number, record in enumerate(records, start=1):
        terms = record["elastic"]
        if terms is not None and terms["settled_level"] is not None:
            found = "settled" if terms["settled"] else "had not settled"
            moves = f"{terms['changes']} change(s) of level while measured"
            places = terms.get("places")
            queues = "" if places is None else f", {terms['settled_queued']} queue(s) at {len(places)} ports"
            where = f"{terms['settled_level']} thread(s){queues}"
            lines.append(f"run {number}: {found} after {terms['adaptation_s']:.3g} s, {where}, {moves}")
    return lines


def _host_lines(records: Sequence[dict[str, Any]]) -> list[str]:
    """Each kind of warning once, as the first run had it: runs differ in its numbers."""
    kinds: dict[str, list[str]] = {}
    for record in records:
        for warning in record["host"]["host_warnings"]:
            kinds.setdefault(re.sub(r"[0-9.]+", "", warning), []).append(warning)
    return [f"host: {seen[0]} (in {len(seen)} of {len(records)} runs)" for seen in kinds.values()]


def _mean_lines(records: Sequence[dict[str, Any]]) -> list[str]:
    if len(records) < 2:
        return []
    correct = [record for record in records if record["correct"] and record["sink_tuples_per_s"] is not None]
    used = [record for record in correct if record["settled"]] or correct
    note = "" if used and used[0]["settled"] else ", none of them settled"
    if len(used) < 2:
        return [f"mean: an interval needs two correct, settled runs; here: {len(used)}"]
    from harness.measurement.interval import mean_interval

    mean, low, high = mean_interval([record["sink_tuples_per_s"] for record in used])
    half = f" (± {100 * (high - mean) / mean:.1f} %)" if mean > 0 else ""
    interval = f"95 % interval {_quantity(low)} .. {_quantity(high)}{half}"
    return [f"mean: {_quantity(mean)} tuples/s, {interval}, of {len(used)} runs{note}"]


def _quantity(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _time(ns: float | None) -> str:
    if ns is None:
        return "-"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:g} ns"

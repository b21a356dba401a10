"""The report of runs for people: the table of `millrace run`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from harness.engine.left_out import NOT_LEFT_OUT, TRUNCATED
from harness.measurement.control import NOT_COUNTED, SETTLED_PERIODS, UNSETTLED
from harness.measurement.interval import FEWEST_FOR_INTERVAL
from harness.measurement.spec import Run
from harness.models import Coroutine
from harness.terminal.table import aligned_rows
from harness.watch.lines import count
from topologies import TOPOLOGIES

MOST_OF_OTHERS = 0.25
"""Mean share of the CPUs that others may have while a law decides: with more, what it saw was their
load as much as its own. A guess, not tuned.
"""

COLUMNS = {
    "run": 4,
    "tuples/s": 12,
    "submitted/s": 14,
    "ns/hop": 8,
    "p50 latency": 11,
    "p99 latency": 11,
    "settled": 7,
    "correct": 7,
}
"""Columns of the table with their widths [characters]: a row is printed before the next ones are
known.
"""


def report(records: Sequence[dict[str, Any]]) -> list[str]:
    """Return all lines of some runs, as if they were printed one by one."""
    rows = [row(records[: number + 1]) for number in range(len(records))]
    return [*heading(records[0]), *rows, *conclusion(records)]


def heading(first: dict[str, Any]) -> list[str]:
    """Return the lines over the table: what was run, and the names of the columns."""
    return [
        *heading_of_threads(first),
        *_simulation_lines(first),
        *_law_lines(first),
        "",
        _aligned(COLUMNS),
    ]


def heading_of_threads(record: dict[str, Any]) -> list[str]:
    """Return the lines that say what was run, and on how many threads."""
    settings = " ".join(f"{name}={value}" for name, value in record["parameters"].items())
    return [
        f"{record['topology']} {settings}".rstrip(),
        f"{record.get('peer') or record['arm']}: {_threads(record)}",
    ]


def benchmark_lines(run: Run) -> list[str]:
    """Return the line that says how often a benchmark reads its input, if it has any."""
    cycles = run.parameters.get("cycles")
    if cycles is None or run.topology not in TOPOLOGIES:
        return []
    source = run.parameters.get("input", "generated")
    what = "a generated input" if source == "generated" else f"{source}, held in memory,"
    times = {"endless": "again and again", 1: "once"}.get(cycles, f"{cycles} times")
    return [f"benchmark: {what} is read {times}"]


def row(records: Sequence[dict[str, Any]]) -> str:
    """Return the line of the last of the runs so far."""
    record = records[-1]
    latency = record["latency_ns"]
    rates = (
        _quantity(record[name])
        for name in ("sink_tuples_per_s", "submitted_tuples_per_s", "ns_per_hop")
    )
    verdicts = ("yes" if record["settled"] else "NO", "yes" if record["correct"] else "NO")
    return _aligned(
        (str(len(records)), *rates, _time(latency["p50"]), _time(latency["p99"]), *verdicts)
    )


def conclusion(records: Sequence[dict[str, Any]]) -> list[str]:
    """Return the lines below the table: runs that ended, where laws came to, the mean with its
    interval if there are several runs, and what to know about the host.
    """
    return (
        _end_lines(records)
        + _level_lines(records)
        + _mean_lines(records)
        + _application_lines(records)
        + left_out_lines(records)
        + _effort_lines(records)
        + _host_lines(records)
    )


def _aligned(cells: Iterable[str]) -> str:
    (line,) = aligned_rows([tuple(cells)], right=range(len(COLUMNS)), least=[*COLUMNS.values()])
    return line


def _threads(record: dict[str, Any]) -> str:
    """Return how many threads executed operators, of which kind, and how long their queues were."""
    total, pool = record["threads_total"], record["threads"]
    if not total:
        return "did not start"
    queues = f", queues of {record['queue_capacity']} tuples" if record["queue_capacity"] else ""
    # a law changed their number while the run went on
    when = " at the end" if record["elastic"] is not None else ""
    own = count(pool, "scheduler thread") if pool else "those of sources included"
    if pool and (total > pool or record["model"] != Coroutine.name):
        own += f", {count(total - pool, 'operator thread')}"
    return f"{count(total, 'thread')}{when} ({own}){queues}"


def _simulation_lines(record: dict[str, Any]) -> list[str]:
    """Return the lines about a simulation; times in the table are then virtual."""
    simulation = record["simulation"]
    if simulation is None:
        return []
    replaced = "".join(f", {path} {value:g}" for path, value in simulation["constants"].items())
    return [
        f"SIMULATED on {record['machine']} with the costs of {simulation['software']}{replaced}, "
        "in virtual time"
    ]


def _effort_lines(records: Sequence[dict[str, Any]]) -> list[str]:
    """Return the lines about the effort of simulating runs."""
    simulations = [record["simulation"] for record in records if record["simulation"] is not None]
    return (
        [
            f"simulated {sum(each['events'] for each in simulations):,} events in "
            f"{sum(each['wall_s'] for each in simulations):.1f} s"
        ]
        if simulations
        else []
    )


def _law_lines(record: dict[str, Any]) -> list[str]:
    terms = record["elastic"]
    if terms is None:
        return []
    words = {True: "yes", False: "no"}
    settings = "".join(
        f", {name} {words[value] if isinstance(value, bool) else format(value, 'g')}"
        for name, value in terms["settings"].items()
    )
    levels = (
        f"from {terms['minimum']} to {terms['maximum']} scheduler threads, beginning at "
        f"{terms['start']}"
    )
    return [f"law {terms['law']}: {levels}, a step every {terms['period_s']:g} s{settings}"]


def _end_lines(records: Sequence[dict[str, Any]]) -> list[str]:
    return [
        f"run {number}: its sources ended after {record['duration_s']:.3g} s; the rates are of the "
        "whole run"
        for number, record in enumerate(records, start=1)
        if record.get("ended")
    ]


def _level_lines(records: Sequence[dict[str, Any]]) -> list[str]:
    """Return a line about the law of each elastic run. A law keeps a level; only runs settle."""
    lines = []
    for number, record in enumerate(records, start=1):
        terms = record["elastic"]
        if terms is not None and terms["settled_level"] is not None:
            moves = f"{count(terms['changes'], 'change')} of level while measured"
            if not terms["changes"] and (others := _moves_while_measured(record)):
                moves += f", and other changes in {count(others, 'period')}"
            places = terms.get("places")
            queues = (
                ""
                if places is None
                else f", {count(terms['settled_queued'], 'queue')} at {len(places)} ports"
            )
            where = f"{count(terms['settled_level'], 'scheduler thread')}{queues}{_replicas(terms)}"
            lines.append(
                f"run {number}: after {terms['adaptation_s']:.3g} s the law {_found(record)}: "
                f"{where}, {moves}"
            )
    return lines


def _found(record: dict[str, Any]) -> str:
    """Return the outcome of a law in the time that it had to settle."""
    terms = record["elastic"]
    if (
        terms["minimum"] == terms["maximum"]
        and not terms.get("places")
        and not terms.get("replicable")
    ):
        return "had one level only, so that there was nothing to decide"
    periods = [
        sample
        for sample in record["adaptation"] or record["samples"]
        if sample["law_state"] is not None
    ]
    others = _share_of_others(periods)
    if others > MOST_OF_OTHERS:
        return f"could not decide, as others had {100 * others:.0f} % of the CPUs"
    if terms["settled"]:
        return "kept its level"
    if len(periods) < SETTLED_PERIODS:
        return (
            f"had {count(len(periods), 'period')} only, and settles in {SETTLED_PERIODS} at least"
        )
    if any(_moved(before, after) for before, after in pairwise(periods[-SETTLED_PERIODS - 1 :])):
        if terms["changes"] or _moves_while_measured(record):
            return "was still moving"
        return "moved until shortly before measuring began, and not since"
    states = [sample["law_state"] for sample in periods]
    lost = [state for state in states[-SETTLED_PERIODS:] if state in NOT_COUNTED]
    if "crowded" in lost:
        return (
            f"was held back, as others had the CPUs in {states.count('crowded')} of "
            f"{len(states)} periods"
        )
    if lost:
        return (
            f"kept its level, but learnt nothing from {states.count(lost[-1])} of "
            f"{len(states)} periods ({lost[-1]})"
        )
    if states[-1] in UNSETTLED:
        return f"kept its level, but was still {states[-1]}"
    return f"had not kept its level for {SETTLED_PERIODS} periods when measuring began"


def _share_of_others(periods: Sequence[dict[str, Any]]) -> float:
    """Return the mean share of the CPUs that others had in the periods of a law; 0 if unknown."""
    known = [sample["others_cpu"] for sample in periods if sample.get("others_cpu") is not None]
    return sum(known) / len(known) if known else 0.0


def _moves_while_measured(record: dict[str, Any]) -> int:
    """Return the measured periods in which a law changed anything."""
    return sum(_moved(before, after) for before, after in pairwise(record["samples"]))


def _moved(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Return True if a law changed anything between two periods."""
    changed = any(after.get(name) for name in ("switched_on", "switched_off", "replicas_changed"))
    return changed or before["threads_requested"] != after["threads_requested"]


def _replicas(terms: dict[str, Any]) -> str:
    """Return `, 3.5 replicas of each of 2 operators, on average`; "" if a law decides on none."""
    if terms.get("settled_replicas") is None:
        return ""
    each = f"{terms['settled_replicas']:.3g} replica{'' if terms['settled_replicas'] == 1 else 's'}"
    operators = terms["replicable"]
    return (
        f", {each} of {operators[0]}"
        if len(operators) == 1
        else f", {each} of each of {len(operators)} operators, on average"
    )


def _application_lines(records: Sequence[dict[str, Any]]) -> list[str]:
    """Return the lines about the application's counts in each run."""
    applications = [
        (number, record.get("application")) for number, record in enumerate(records, start=1)
    ]
    return [
        f"run {number} counted: " + ", ".join(f"{name} {value:,}" for name, value in counts.items())
        for number, counts in applications
        if counts
    ]


def left_out_lines(records: Sequence[dict[str, Any]]) -> list[str]:
    """Return a line for each kind of input that a run could not use, with an example."""
    lines = []
    for number, record in enumerate(records, start=1):
        run = f"run {number}: " if len(records) > 1 else ""
        for each in record.get("left_out", ()):
            does = "counted" if each["kind"] == NOT_LEFT_OUT else "left out"
            example = "" if each["example"] is None else f", such as {each['example']}"
            lines.append(f"{run}{does} {each['count']:,} {each['kind']}{example}")
    return lines


def left_out_warnings(records: Sequence[dict[str, Any]], most_percent: float) -> list[str]:
    """Return the warning about runs that left out more than a share of their input, or nothing."""
    shares = [record.get("left_out_share") or 0.0 for record in records]
    kinds = {each["kind"] for record in records for each in record.get("left_out", ())}
    if 100 * max(shares, default=0.0) > most_percent:
        return [f"warning: {100 * max(shares):.3g} % of the input was left out"]
    return ["warning: the input was truncated, so its end is missing"] if TRUNCATED in kinds else []


def _host_lines(records: Sequence[dict[str, Any]]) -> list[str]:
    """Return each kind of warning once, as the first run had it: runs differ in its numbers."""
    kinds: dict[str, list[str]] = {}
    for record in records:
        for warning in record["host"]["host_warnings"]:
            kinds.setdefault(re.sub(r"[0-9.]+", "", warning), []).append(warning)
    return [f"host: {seen[0]} (in {len(seen)} of {len(records)} runs)" for seen in kinds.values()]


def _mean_lines(records: Sequence[dict[str, Any]]) -> list[str]:
    if len(records) < 2:
        return []
    correct = [
        record
        for record in records
        if record["correct"] and record["sink_tuples_per_s"] is not None
    ]
    if len(correct) < 2:
        return [
            f"range: {len(correct)} correct run{'' if len(correct) == 1 else 's'}; an interval "
            f"needs {FEWEST_FOR_INTERVAL}: more --repeats"
        ]
    rates = [record["sink_tuples_per_s"] for record in correct]
    settled = sum(record["settled"] for record in correct)
    if len(correct) < FEWEST_FOR_INTERVAL:
        return [
            f"range: {_quantity(min(rates))} .. {_quantity(max(rates))} tuples/s, of "
            f"{len(correct)} correct runs, {settled or 'none'} of them settled; an interval needs "
            f"{FEWEST_FOR_INTERVAL}: more --repeats"
        ]
    from harness.measurement.interval import mean_interval

    mean, low, high = mean_interval(rates)
    ends = (
        f" ({100 * (low / mean - 1):+.1f} %, {100 * (high / mean - 1):+.1f} %)" if mean > 0 else ""
    )
    interval = f"95 % interval {_quantity(low)} .. {_quantity(high)}{ends}"
    return [
        f"mean: {_quantity(mean)} tuples/s, {interval}, of {len(correct)} correct runs, "
        f"{settled or 'none'} of them settled"
    ]


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

"""Explanation of a run as text: what bounds it, and tables by thread and by operator."""

from __future__ import annotations

from collections.abc import Sequence

from harness.explain.bounds import Bound
from harness.explain.explanation import RunExplanation
from harness.explain.shares import CATEGORIES, OperatorShares, ThreadShares, Times
from harness.terminal.table import aligned_rows

MOST_ROWS = 12  # of a table; the rest is one row
MOST_BOUNDS = 4  # that are shown of any kind; of each other kind one
LEAST_SHOWN = 0.0005  # a category with a smaller share everywhere has no column

LIMITS = {
    "operator": "at a time",
    "source": "at a time",
    "schedule": "at a time",
    "path": "at a time",
    "interpreter": "at a time",
    "CPUs": "CPUs",
    "in flight": "tuples in its queues",
    "threads": "threads",
}
"""Unit of each bound's limit."""


def report(explained: RunExplanation) -> list[str]:
    """Return the lines of the report."""
    return [
        explained.title,
        _window(explained),
        "",
        *[f"* {sentence}" for sentence in explained.sentences],
        "",
        *_by_thread(explained),
        "",
        *_by_operator(explained),
        "",
        *_bounds(explained),
        "",
        *_counters(explained),
    ]


def side_by_side(measured: RunExplanation, simulated: RunExplanation) -> list[str]:
    """Return tables that compare two runs of one graph, measured and simulated. No other programs
    are simulated, so the time that they took is left out.
    """
    columns = ("", "measured", "SIMULATED", "difference")
    ours, theirs = (_without_others(each.shares) for each in (measured, simulated))
    rows = [
        (name, percent(ours[name]), percent(theirs[name]), f"{100 * (theirs[name] - share):+.1f}")
        for name, share in ours.items()
        if max(share, theirs[name]) >= LEAST_SHOWN
    ]
    apart = sum(abs(theirs[name] - share) for name, share in ours.items()) / 2
    simulated_of = {each.name: each for each in simulated.operators}
    pairs = [(each, simulated_of[each.name]) for each in measured.operators]
    pairs.sort(key=lambda pair: -pair[1].busy)
    costs = [
        (
            each.name,
            time_ns(each.tuple_ns, each.least_ns),
            time_ns(other.tuple_ns),
            _ratio(other.tuple_ns, each.tuple_ns),
        )
        for each, other in pairs[:MOST_ROWS]
    ]
    rates = (measured.tuples_per_s, simulated.tuples_per_s)
    costs.append(("tuples/s", *map(_rate, rates), _ratio(rates[1] or 0.0, rates[0] or 0.0)))
    return [
        "time of all threads, without what other programs took",
        *_table(columns, rows),
        f"{percent(apart)} of the time is in another category",
        "",
        "time of a tuple, moving it included [ns], and the throughput",
        *_table((*columns[:-1], "ratio"), costs),
        f"measured:  {measured.headline}",
        f"SIMULATED: {simulated.headline}",
    ]


def _without_others(shares: Times) -> Times:
    left = 1.0 - shares["stolen"]
    return {
        name: share / left if left > 0.0 else 0.0
        for name, share in shares.items()
        if name != "stolen"
    }


def _ratio(number: float, to: float) -> str:
    return f"{number / to:.2f}" if to > 0.0 else "-"


def percent(share: float) -> str:
    """Return a share as text."""
    return f"{100 * share:.1f} %"


def _window(explained: RunExplanation) -> str:
    seen = (
        "virtual time, each share exact"
        if explained.looks is None
        else f"all threads looked at {explained.looks:,} times"
    )
    return (
        f"{explained.elapsed_s:.3g} s, {len(explained.threads)} threads, "
        f"{_rate(explained.tuples_per_s)} tuples/s; {seen}"
    )


def _by_thread(explained: RunExplanation) -> list[str]:
    shown = _shown([explained.shares, *(thread.shares for thread in explained.threads)])
    threads = list(explained.threads)
    if len(threads) > MOST_ROWS:
        threads = [*threads[: MOST_ROWS - 1], _together(threads[MOST_ROWS - 1 :])]
    everything = ThreadShares("all threads", explained.threads_s, explained.shares)
    rows = [
        (thread.name, *(_share(thread.shares[name]) for name in shown))
        for thread in (*threads, everything)
    ]
    return ["where the time of each thread goes [%]", *_table(("thread", *shown), rows)]


def _together(threads: Sequence[ThreadShares]) -> ThreadShares:
    whole_s = sum(thread.time_s for thread in threads)
    shares = {
        name: sum(thread.shares[name] * thread.time_s for thread in threads) / whole_s
        for name in CATEGORIES
    }
    return ThreadShares(f"{len(threads)} more threads", whole_s, shares)


def _by_operator(explained: RunExplanation) -> list[str]:
    operators = sorted(explained.operators, key=lambda each: -sum(each.shares.values()))
    shown = _shown([each.shares for each in operators])
    has_queues = any(each.queue_capacity is not None for each in operators)
    rows = [
        (
            each.name,
            *(_share(each.shares[name]) for name in shown),
            f"{each.busy:.2f}",
            time_ns(each.work_ns, each.least_ns),
            time_ns(each.queues_ns, each.least_ns if has_queues else None),
            _queue(each),
        )
        for each in operators[:MOST_ROWS]
    ]
    if len(operators) > MOST_ROWS:
        rest = operators[MOST_ROWS:]
        sums = (_share(sum(each.shares[name] for each in rest)) for name in shown)
        rows.append((f"{len(rest)} more operators", *sums, "", "", "", ""))
    columns = ("operator", *shown, "busy", "work", "queues", "queue")
    return [
        "where the time of all threads goes, by operator [%]; busy [threads]; a tuple's work and "
        "queues [ns]",
        *_table(columns, rows),
    ]


def _bounds(explained: RunExplanation) -> list[str]:
    rows = [
        (
            percent(bound.used),
            "" if bound.tuples_per_s is None else _rate(bound.tuples_per_s),
            bound.kind,
            f"{bound.limit:,.3g} {LIMITS[bound.kind]}",
            _members(bound),
        )
        for bound in _shown_bounds(explained.bounds)
    ]
    path = " > ".join(explained.critical_path[:MOST_ROWS])
    more = len(explained.critical_path) - MOST_ROWS
    return [
        "bounds of the throughput, the nearest first",
        *_table(("used", "tuples/s", "bound", "limit", "operators"), rows),
        f"critical path of a tuple, {time_ns(explained.path_ns)} ns: {path}"
        + (f" and {more} more" if more > 0 else ""),
    ]


def _shown_bounds(bounds: Sequence[Bound]) -> list[Bound]:
    """Return the nearest bounds, and the nearest one of each other kind."""
    shown = list(bounds[:MOST_BOUNDS])
    for bound in bounds[MOST_BOUNDS:]:
        if bound.kind not in {each.kind for each in shown}:
            shown.append(bound)
    return shown


def _members(bound: Bound) -> str:
    shown = bound.members[:3]
    more = len(bound.members) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _counters(explained: RunExplanation) -> list[str]:
    if explained.simulated:
        return []
    counts = explained.counters
    if not counts:
        return [f"no hardware counters: {explained.counters_problem}"]
    tuples = max((each.tuples for each in explained.operators), default=0)
    parts = [f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items()]
    if counts.get("cycles") and "instructions" in counts:
        parts.append(f"{counts['instructions'] / counts['cycles']:.2f} instructions a cycle")
    if tuples and "cache_misses" in counts:
        parts.append(f"{counts['cache_misses'] / tuples:.2f} cache misses a tuple")
    return ["hardware counters: " + ", ".join(parts)]


def _shown(rows: Sequence[Times]) -> list[str]:
    return [name for name in CATEGORIES if any(row[name] >= LEAST_SHOWN for row in rows)]


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return aligned_rows([columns, *rows], right=range(1, len(columns)), indent=2)


def _share(share: float) -> str:
    return f"{100 * share:.1f}" if share >= LEAST_SHOWN else "-"


def time_ns(time: float | None, least: float | None = None) -> str:
    """Return a time in ns as text, with three digits at least. `least`: the shortest one that could
    be seen; a shorter one is only known to be below it.
    """
    if time is None:
        return "-"
    if least is not None and time < least:
        return f"<{time_ns(least)}"
    return f"{time:,.0f}" if time >= 100 else f"{time:.3g}"


def _rate(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:,.0f}"


def _queue(operator: OperatorShares) -> str:
    return "called" if operator.queue_capacity is None else f"{operator.queue_capacity:,}"

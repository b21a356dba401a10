"""A user's own scenarios: a YAML or JSON file with a list of them.

  - name: my-sink
    # at level n [tuples/s], or a list: at level 1, 2, …
    throughput: min(n, 6) / (1 + 0.1 * max(0, n - 6))
    noise: 0.03                                     # standard deviation, as a share of throughput
    drift: 0.0                                      # the same, wandering slowly; true: the noise
                                                    # does that
    min: 1
    max: 32
    start: 1
    periods: 100
    seed: 7
    events: [{kind: scale, at: 50, factor: 0.5}]    # see `scenario`; a curve has `throughput`

Only `throughput` is required, and `max` with an expression. Expressions are those of `expression`.
Beside a paced source there are no events; a scenario has

  - throughput: 1000 * min(n, 20)   # what the threads of level n can do [tuples/s], more than 0
    target: [4000, 12000]           # that the source sends [tuples/s]; a list: one after the other
    bound: 0.005                    # on mean latency [s]; without it any will do
    max: 32                         # and all else as above
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from harness.bench.checks import mapping, number, shown, whole
from harness.bench.expression import Expression
from harness.bench.scenario import OWN_KIND
from harness.bench.threads import paced
from harness.bench.threads.scenario import PERIODS, Curve, Event, ThreadScenario
from harness.elasticity import Bounds
from harness.errors import UserError
from harness.graph.values import MAX_THREADS

MAX_PERIODS = 100_000
MAX_SCENARIOS = 10_000
KEYS = ("name", "throughput", "noise", "drift", "events", "min", "max", "start", "periods", "seed")
PACED_KEYS = (*(key for key in KEYS if key != "events"), "target", "bound")
MIN_RATE = 1e-9  # least tuples/s of threads beside a paced source, and of the source
Some = TypeVar("Some", ThreadScenario, paced.Paced)

EVENTS: dict[str, tuple[str, ...]] = {
    "scale": ("factor",),
    "curve": ("throughput",),
    "burst": ("factor",),
    "idle": (),
    "cpu": ("factor",),
}


def parse_scenarios(document: object) -> list[ThreadScenario]:
    """Return the scenarios of a document read from YAML or JSON.

    Raise UserError naming the place, the rule and the value.
    """
    return _scenarios_of(document, "curves", _scenario)


def parse_paced(document: object) -> list[paced.Paced]:
    """Return the scenarios of a document beside paced sources.

    Raise UserError as `parse_scenarios` does.
    """
    return _scenarios_of(document, "paced curves", _paced)


def _scenarios_of(
    document: object, what: str, read: Callable[[str, object, int], Some]
) -> list[Some]:
    """Return the scenarios of a list; `read` gets the place, entry and number of each."""
    if not isinstance(document, list) or not 1 <= len(document) <= MAX_SCENARIOS:
        raise UserError(
            f"{what} must be a list of 1 to {MAX_SCENARIOS} scenarios, not {shown(document)}"
        )
    found: dict[str, Some] = {}
    for place, entry in enumerate(document):
        scenario = read(f"[{place}]", entry, place)
        if scenario.name in found:
            raise UserError(f"[{place}].name must not be there twice: {shown(scenario.name)}")
        found[scenario.name] = scenario
    return list(found.values())


def _name(at: str, entry: Mapping[str, Any], default: str) -> str:
    name = entry.get("name", default)
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise UserError(f"{at}.name must be text on one line, not {shown(name)}")
    return name


def _scenario(at: str, entry: object, place: int) -> ThreadScenario:
    entry = mapping(at, entry, KEYS, required=("throughput",))
    common = _common(at, entry, place, PERIODS, 0.0)
    events = [] if entry.get("events") is None else entry["events"]
    if not isinstance(events, list):
        raise UserError(f"{at}.events must be a list, not {shown(events)}")
    levels, periods = len(common["curve"]), common["periods"]
    found = tuple(
        _event(f"{at}.events[{i}]", event, levels, periods) for i, event in enumerate(events)
    )
    return ThreadScenario(**common, events=found, shape=common["name"])


def _paced(at: str, entry: object, place: int) -> paced.Paced:
    entry = mapping(at, entry, PACED_KEYS, required=("throughput", "target"))
    common = _common(at, entry, place, paced.PERIODS, MIN_RATE)
    given, periods = entry["target"], common["periods"]
    if isinstance(given, list) and not 1 <= len(given) <= periods:
        raise UserError(
            f"{at}.target must be a number or a list of 1 to {periods}, one a period at most, not "
            f"{shown(given)}"
        )
    each = (
        [(f"{at}.target[{i}]", one) for i, one in enumerate(given)]
        if isinstance(given, list)
        else [(f"{at}.target", given)]
    )
    targets = tuple(number(where, one, MIN_RATE, 1e18, "tuples/s") for where, one in each)
    bound = entry.get("bound")
    bound_s = math.inf if bound is None else number(f"{at}.bound", bound, 1e-9, 1e6, "s")
    return paced.Paced(
        **common,
        kind=OWN_KIND,
        targets=targets,
        bound_s=bound_s,
        event="phases" if len(targets) > 1 else "",
    )


def _common(
    at: str, entry: Mapping[str, Any], place: int, periods: int, least: float
) -> dict[str, Any]:
    """Return the fields of both kinds: name, curve, bounds, noise, drift, periods, seed.

    `least`: lowest allowed throughput at any level.
    """
    levels = whole(f"{at}.max", entry.get("max"), 1, MAX_THREADS, default=None)
    curve = _curve(f"{at}.throughput", entry["throughput"], levels, least)
    levels = len(curve) if levels is None else levels
    if levels > len(curve):
        raise UserError(
            f"{at}.max must be at most {len(curve)}, the levels that throughput has, not {levels}"
        )
    minimum = whole(f"{at}.min", entry.get("min"), 1, MAX_THREADS, default=1)
    start = whole(f"{at}.start", entry.get("start"), 1, MAX_THREADS, default=minimum)
    try:
        bounds = Bounds(minimum, levels, start)
    except UserError as error:
        raise UserError(f"{at}: {error}") from None
    noise = number(f"{at}.noise", entry.get("noise", 0.0), 0.0, 1.0, "of throughput")
    drift = entry.get("drift", 0.0)
    if isinstance(drift, bool):
        noise, drift = (0.0, noise) if drift else (noise, 0.0)
    return {
        "curve": curve,
        "bounds": bounds,
        "noise": noise,
        "drift": number(f"{at}.drift", drift, 0.0, 1.0, "of throughput"),
        "periods": whole(f"{at}.periods", entry.get("periods"), 1, MAX_PERIODS, default=periods),
        "seed": whole(f"{at}.seed", entry.get("seed"), 0, 2**63 - 1, default=0),
        "name": _name(at, entry, f"curve-{place + 1}"),
    }


def _event(at: str, entry: object, levels: int, periods: int) -> Event:
    kind = entry.get("kind") if isinstance(entry, dict) else None
    if not isinstance(kind, str) or kind not in EVENTS:
        raise UserError(f"{at}.kind must be one of {', '.join(EVENTS)}, not {shown(kind)}")
    entry = mapping(at, entry, ("kind", "at", "length", *EVENTS[kind]), required=("at",))
    begin = whole(f"{at}.at", entry["at"], 0, periods - 1, default=None)
    length = whole(
        f"{at}.length", entry.get("length"), 1, MAX_PERIODS, default=1 if kind == "burst" else None
    )
    factor = number(
        f"{at}.factor",
        entry.get("factor", 0.5 if kind == "cpu" else 1.0),
        0.0,
        1e6,
        "of throughput",
    )
    curve: Curve = ()
    if kind == "curve":
        if "throughput" not in entry:
            raise UserError(f"{at} must have the key 'throughput'")
        curve = _curve(f"{at}.throughput", entry["throughput"], levels, 0.0)
        if len(curve) < levels:
            raise UserError(f"{at}.throughput must be for {levels} levels, not {len(curve)}")
    return Event(kind, begin, length, factor, curve)


def _curve(at: str, value: object, levels: int | None, least: float) -> Curve:
    """Return throughputs of at least `least` at level 1, 2, …; an expression needs the number of
    levels."""
    if isinstance(value, str):
        if levels is None:
            raise UserError(f"{at}: an expression needs the key 'max' beside it")
        expression = Expression(at, value)
        values: list[object] = [expression(level) for level in range(1, levels + 1)]
        where = [f"{at} at level {level}" for level in range(1, levels + 1)]
    elif isinstance(value, list) and 1 <= len(value) <= MAX_THREADS:
        values, where = list(value), [f"{at}[{i}]" for i in range(len(value))]
    else:
        raise UserError(
            f"{at} must be an expression or a list of 1 to {MAX_THREADS} numbers, not "
            f"{shown(value)}"
        )
    return tuple(
        number(place, each, least, 1e18, "tuples/s")
        for place, each in zip(where, values, strict=True)
    )

"""A user's own scenarios: a YAML or JSON file with a list of them.

  - name: my-sink
    throughput: min(n, 6) / (1 + 0.1 * max(0, n - 6))     # at level n [tuples/s], or a list: at level 1, 2, …
    noise: 0.03                                           # standard deviation, as a share of throughput
    drift: 0.0                                            # the same, wandering slowly; true: the noise does that
    min: 1
    max: 32
    start: 1
    periods: 100
    seed: 7
    events: [{kind: scale, at: 50, factor: 0.5}]          # see `scenario`; a curve has `throughput`

Only `throughput` must be there, and `max` with an expression. Expressions are those of `expression`.
"""

from __future__ import annotations

from harness.elasticity import Bounds
from harness.errors import UserError
from harness.graph.values import MAX_THREADS
from harness.saso.checks import mapping, number, shown, whole
from harness.saso.expression import Expression
from harness.saso.threads.scenario import PERIODS, Curve, Event, Scenario

MAX_PERIODS = 100_000
MAX_SCENARIOS = 10_000

KEYS = ("name", "throughput", "noise", "drift", "events", "min", "max", "start", "periods", "seed")
EVENTS: dict[str, tuple[str, ...]] = {
    "scale": ("factor",),
    "curve": ("throughput",),
    "burst": ("factor",),
    "idle": (),
    "cpu": ("factor",),
}


def parse_scenarios(document: object) -> list[Scenario]:
    """The scenarios of a document read from YAML or JSON. Raises UserError naming the place, the rule and the value."""
    if not isinstance(document, list) or not 1 <= len(document) <= MAX_SCENARIOS:
        raise UserError(f"curves must be a list of 1 to {MAX_SCENARIOS} scenarios, not {shown(document)}")
    names: set[str] = set()
    scenarios = []
    for place, entry in enumerate(document):
        scenario = _scenario(f"[{place}]", entry, place)
        if scenario.name in names:
            raise UserError(f"[{place}].name must not be there twice: {shown(scenario.name)}")
        names.add(scenario.name)
        scenarios.append(scenario)
    return scenarios


def _scenario(at: str, entry: object, place: int) -> Scenario:
    entry = mapping(at, entry, KEYS, required=("throughput",))
    levels = whole(f"{at}.max", entry.get("max"), 1, MAX_THREADS, default=None)
    curve = _curve(f"{at}.throughput", entry["throughput"], levels)
    levels = len(curve) if levels is None else levels
    if levels > len(curve):
        raise UserError(f"{at}.max must be at most {len(curve)}, the levels that throughput has, not {levels}")
    minimum = whole(f"{at}.min", entry.get("min"), 1, MAX_THREADS, default=1)
    start = whole(f"{at}.start", entry.get("start"), 1, MAX_THREADS, default=minimum)
    try:
        bounds = Bounds(minimum, levels, start)
    except UserError as error:
        raise UserError(f"{at}: {error}") from None
    periods = whole(f"{at}.periods", entry.get("periods"), 1, MAX_PERIODS, default=PERIODS)
    noise = number(f"{at}.noise", entry.get("noise", 0.0), 0.0, 1.0, "of throughput")
    drift = entry.get("drift", 0.0)
    if isinstance(drift, bool):
        noise, drift = (0.0, noise) if drift else (noise, 0.0)
    drift = number(f"{at}.drift", drift, 0.0, 1.0, "of throughput")
    events = [] if entry.get("events") is None else entry["events"]
    if not isinstance(events, list):
        raise UserError(f"{at}.events must be a list, not {shown(events)}")
    name = entry.get("name", f"curve-{place + 1}")
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise UserError(f"{at}.name must be text on one line, not {shown(name)}")
    return Scenario(
        name=name,
        curve=curve,
        bounds=bounds,
        noise=noise,
        drift=drift,
        events=tuple(_event(f"{at}.events[{i}]", event, len(curve), periods) for i, event in enumerate(events)),
        periods=periods,
        seed=whole(f"{at}.seed", entry.get("seed"), 0, 2**63 - 1, default=0),
        shape=name,
    )


def _event(at: str, entry: object, levels: int, periods: int) -> Event:
    kind = entry.get("kind") if isinstance(entry, dict) else None
    if not isinstance(kind, str) or kind not in EVENTS:
        raise UserError(f"{at}.kind must be one of {', '.join(EVENTS)}, not {shown(kind)}")
    entry = mapping(at, entry, ("kind", "at", "length", *EVENTS[kind]), required=("at",))
    begin = whole(f"{at}.at", entry["at"], 0, periods - 1, default=None)
    length = whole(f"{at}.length", entry.get("length"), 1, MAX_PERIODS, default=1 if kind == "burst" else None)
    factor = number(f"{at}.factor", entry.get("factor", 0.5 if kind == "cpu" else 1.0), 0.0, 1e6, "of throughput")
    curve: Curve = ()
    if kind == "curve":
        if "throughput" not in entry:
            raise UserError(f"{at} must have the key 'throughput'")
        curve = _curve(f"{at}.throughput", entry["throughput"], levels)
        if len(curve) < levels:
            raise UserError(f"{at}.throughput must be for {levels} levels, not {len(curve)}")
    return Event(kind, begin, length, factor, curve)


def _curve(at: str, value: object, levels: int | None) -> Curve:
    """Throughputs at level 1, 2, …; an expression needs to be told how many."""
    if isinstance(value, str):
        if levels is None:
            raise UserError(f"{at}: an expression needs the key 'max' beside it")
        expression = Expression(at, value)
        values: list[object] = [expression(n=level) for level in range(1, levels + 1)]
        where = [f"{at} at level {level}" for level in range(1, levels + 1)]
    elif isinstance(value, list) and 1 <= len(value) <= MAX_THREADS:
        values, where = list(value), [f"{at}[{i}]" for i in range(len(value))]
    else:
        raise UserError(f"{at} must be an expression or a list of 1 to {MAX_THREADS} numbers, not {shown(value)}")
    return tuple(number(place, each, 0.0, 1e18, "tuples/s") for place, each in zip(where, values, strict=True))
